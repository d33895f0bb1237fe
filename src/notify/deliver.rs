//! Delivers what waits: message by message, one destination and then the other, for a bound time.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tracing::{debug, error, warn};

use super::client::Failure;
use super::{Client, Notify, slack, webhook};
use crate::store::open::Url;
use crate::store::outbox::Destination;
use crate::store::outbox::delivery::{self, Message};
use crate::store::{Abort, Access, Db, DbConnection, Timeouts, errors};

/// Shorter than the first pause between two attempts.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Nothing is begun after it: with the last request that is half a minute.
const BEGUN_WITHIN: Duration = Duration::from_secs(20);

/// What one call delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Messages, not notifications: a digest is one.
    pub delivered: u64,
    /// Tried in vain; the next call tries again.
    pub failed: u64,
    /// Of these: tried for a day and given up, as is what has no destination any more.
    pub dead: u64,
}

/// Delivers what is due, on a connection of its own, for half a minute at most; what is left is the next call's. An error
/// is the database's. `is_over`: begin nothing more.
pub fn deliver(url: &Url, timeouts: &Timeouts, notify: &Notify, is_over: impl Fn() -> bool) -> Result<Delivered> {
    let doing = "delivering notifications";
    let mut db = url.connect(Access::Write).context(doing)?;
    let mut delivery =
        Delivery { db: &mut db, timeouts, notify, client: Client::new(REQUEST_TIMEOUT), came_to: Delivered::default() };
    delivery.run(is_over).map_err(|error| url.explain(error).context(doing))?;
    Ok(delivery.came_to)
}

struct Delivery<'a> {
    db: &'a mut DbConnection,
    timeouts: &'a Timeouts,
    notify: &'a Notify,
    client: Client,
    came_to: Delivered,
}

impl Delivery<'_> {
    /// One that hangs has the others wait for one request: then it is left to the next call.
    fn run(&mut self, is_over: impl Fn() -> bool) -> Result<()> {
        let began = Instant::now();
        let mut destinations = self.notify.destinations();
        self.came_to.dead += self.claim(|db| delivery::give_up(db, &destinations))?.unwrap_or(0) as u64;
        while !destinations.is_empty() {
            for destination in std::mem::take(&mut destinations) {
                if is_over() || BEGUN_WITHIN < began.elapsed() {
                    return Ok(());
                }
                if self.next(destination)? {
                    destinations.push(destination);
                }
            }
        }
        Ok(())
    }

    /// Sends one message. May there be another?
    fn next(&mut self, destination: Destination) -> Result<bool> {
        let Some(message) = self.claim(|db| delivery::claim(db, destination))?.flatten() else { return Ok(false) };
        let Some(sent) = self.send(destination, &message) else { return Ok(false) };
        let (to, attempt, what) = (destination.name(), message.attempt, words_for(&message));
        let Err(failure) = sent else {
            self.came_to.delivered += 1;
            debug!(destination = to, id = %message.id, attempt, "told {to} of {what}");
            self.write(|db| delivery::delivered(db, destination, &message))?;
            return Ok(true);
        };
        self.came_to.failed += 1;
        let why = &failure.why;
        if self.write(|db| delivery::failed(db, destination, &message, why))? {
            self.came_to.dead += 1;
            error!(destination = to, id = %message.id, attempt, "{to} was not told of {what}, and is not any more: {why}");
            // One that was never tried is tried however old it is: nothing may have run for a day.
            if failure.is_down && 1 < attempt {
                let further = self.claim(|db| delivery::give_up_all(db, destination, why))?.unwrap_or(0) as u64;
                self.came_to.dead += further;
                if 0 < further {
                    error!(destination = to, "nor of {further} more that are as old");
                }
            }
        } else {
            warn!(destination = to, id = %message.id, attempt, "{to} was not told of {what}, attempt {attempt}: {why}");
        }
        Ok(!failure.is_down)
    }

    /// None: it is not configured.
    fn send(&self, destination: Destination, message: &Message) -> Option<Result<(), Failure>> {
        let Notify { slack: to_slack, webhook: to_webhook, .. } = self.notify;
        match destination {
            Destination::Slack => to_slack.as_ref().map(|target| self.client.post(target, &slack::letter(message))),
            Destination::Webhook => {
                to_webhook.as_ref().map(|(target, secret)| self.client.post(target, &webhook::letter(message, secret)))
            }
        }
    }

    /// Takes its turn. None: somebody else is at it.
    fn claim<T>(&mut self, body: impl FnOnce(&mut Db) -> diesel::QueryResult<T>) -> Result<Option<T>> {
        match self.db.in_transaction(Access::Write, self.timeouts, body) {
            Err(Abort::RolledBack(error)) if errors::is_contention(&error) || errors::is_lock_timeout(&error) => {
                Ok(None)
            }
            claimed => Ok(Some(claimed?)),
        }
    }

    fn write<T>(&mut self, body: impl FnOnce(&mut Db) -> diesel::QueryResult<T>) -> Result<T> {
        Ok(self.db.in_transaction(Access::Write, self.timeouts, body)?)
    }
}

/// For the logs.
fn words_for(message: &Message) -> String {
    match message.total() {
        1 => "1 notification".to_owned(),
        n => format!("{n} notifications"),
    }
}
