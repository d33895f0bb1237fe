//! Delivers what waits: message by message, one destination and then the other, for a bound time.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tracing::{debug, error, warn};

use super::{Client, Letter, Notify, slack, webhook};
use crate::store::open::Url;
use crate::store::outbox::Destination;
use crate::store::outbox::delivery::{self, Message};
use crate::store::{Abort, Access, Db, Timeouts, errors};

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
    db: &'a mut Db,
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
        let given_up = self.write(|db| delivery::give_up(db, &self.notify.destinations()))?;
        self.came_to.dead += given_up as u64;
        while !destinations.is_empty() {
            let mut failure = None;
            destinations.retain(|destination| {
                if failure.is_some() || is_over() || BEGUN_WITHIN < began.elapsed() {
                    return false;
                }
                self.next(*destination).unwrap_or_else(|error| {
                    failure = Some(error);
                    false
                })
            });
            failure.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    /// Sends one message. May there be another?
    fn next(&mut self, destination: Destination) -> Result<bool> {
        let Some(message) = self.claim(destination)? else { return Ok(false) };
        let (Some(target), letter) = (self.notify.target(destination), self.letter(destination, &message)) else {
            return Ok(false);
        };
        let (to, attempt) = (destination.name(), message.attempt);
        match self.client.post(target, &letter) {
            Ok(()) => {
                self.came_to.delivered += 1;
                debug!(destination = to, id = %message.id, attempt, "told {to} of {}", words_for(&message));
                self.write(|db| delivery::delivered(db, destination, &message))?;
                Ok(true)
            }
            Err(failure) => {
                self.came_to.failed += 1;
                let is_dead = self.write(|db| delivery::failed(db, destination, &message, &failure.why))?;
                let (why, what) = (&failure.why, words_for(&message));
                if is_dead {
                    self.came_to.dead += 1;
                    error!(destination = to, id = %message.id, attempt, "{to} was not told of {what}, and is not any more: {why}");
                } else {
                    warn!(destination = to, id = %message.id, attempt, "{to} was not told of {what}, attempt {attempt}: {why}");
                }
                Ok(!failure.is_down)
            }
        }
    }

    /// None: nothing is due, or somebody else is at it.
    fn claim(&mut self, destination: Destination) -> Result<Option<Message>> {
        match self.db.in_transaction(Access::Write, self.timeouts, |db| delivery::claim(db, destination)) {
            Err(Abort::RolledBack(error)) if errors::is_contention(&error) || errors::is_lock_timeout(&error) => {
                Ok(None)
            }
            claimed => Ok(claimed?),
        }
    }

    fn letter(&self, destination: Destination, message: &Message) -> Letter {
        match (destination, &self.notify.webhook) {
            (Destination::Webhook, Some((_, secret))) => webhook::letter(message, secret),
            (Destination::Slack | Destination::Webhook, _) => slack::letter(message),
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
