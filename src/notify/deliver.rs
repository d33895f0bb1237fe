//! Delivers what waits in the outbox: message by message, to one destination after the other, within a bounded time.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use chrono::TimeDelta;
use tracing::{debug, error, warn};

use super::Notify;
use super::client::{HttpClient, REQUEST_TIMEOUT, SendError};
use crate::rules::display::counted;
use crate::store::connect::open::Url;
use crate::store::connect::open::patience::Patience;
use crate::store::db::errors;
use crate::store::work::outbox::{self, Destination, Message};
use crate::store::{Abort, Access, Db, DbConnection, Timeouts};

/// No message is begun later: with the last one, a call takes a minute at most.
const BEGUN_WITHIN: Duration = Duration::from_secs(20);

/// How long a statement about messages may take at most: a trigger in a file may have each take its time.
const STATEMENT_MAX: TimeDelta = TimeDelta::seconds(10);

/// How long a call may take once the database is connected.
const CALL_MAX: Duration = Duration::from_secs(60);

/// What one call delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Messages, not notifications: a digest counts as one.
    pub delivered: u64,
    /// Messages that failed; the next call tries them again.
    pub failed: u64,
    /// Messages that were given up after a day, or since their destination is not configured any more.
    pub dead: u64,
}

/// Delivers what is due, on a connection and a thread of its own, within a minute; the next call delivers what is
/// left. Once `is_over` is true it begins no request, and waits only a moment more for a database that is silent.
///
/// # Errors
/// The database's.
pub fn deliver(
    url: &Url,
    timeouts: &Timeouts,
    notify: &Notify,
    is_over: impl Fn() -> bool + Clone + Send + 'static,
) -> Result<Delivered> {
    let doing = "delivering notifications";
    let its_timeouts = Timeouts { statement: timeouts.statement.min(STATEMENT_MAX), ..*timeouts };
    let (notify, its_is_over) = (notify.clone(), is_over.clone());
    url.ask_within(Patience::until(&is_over, url.patience(CALL_MAX)), move |url| {
        let db = url.connect_again(Access::Write).context(doing)?;
        let (client, result) = (HttpClient::new(REQUEST_TIMEOUT), Delivered::default());
        let mut delivery = Delivery { db, timeouts: its_timeouts, notify, client, result };
        delivery.run(its_is_over).map_err(|error| url.explain(error).context(doing))?;
        Ok(delivery.result)
    })
}

struct Delivery {
    db: DbConnection,
    timeouts: Timeouts,
    notify: Notify,
    client: HttpClient,
    result: Delivered,
}

impl Delivery {
    /// Takes turns between the destinations. One that hangs delays the others once, and is left to the next call; so is
    /// one whose messages the database cannot find in time.
    fn run(&mut self, is_over: impl Fn() -> bool) -> Result<()> {
        let began = Instant::now();
        let mut destinations = self.notify.destinations();
        self.result.dead += self.claim(|db| outbox::give_up(db, &destinations))?.unwrap_or(0) as u64;
        destinations = self.write(|db| outbox::in_turn(db, destinations))?;
        let mut failure = None;
        while !destinations.is_empty() {
            for destination in std::mem::take(&mut destinations) {
                if is_over() || BEGUN_WITHIN < began.elapsed() {
                    return failure.map_or(Ok(()), Err);
                }
                match self.next(destination).context(destination.name()) {
                    Ok(true) => destinations.push(destination),
                    Ok(false) => {}
                    Err(error) if errors::is_of_statement(&error) => failure = failure.or(Some(error)),
                    Err(error) => return Err(error),
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Sends one message; returns whether to go on with this destination.
    fn next(&mut self, destination: Destination) -> Result<bool> {
        let Some(message) = self.claim(|db| outbox::claim(db, destination))?.flatten() else { return Ok(false) };
        let Some(sent) = self.send(destination, &message) else { return Ok(false) };
        let (to, id, attempt) = (destination.name(), &message.id, message.attempt);
        let what = counted(message.total(), "notification", "notifications");
        let Err(failure) = sent else {
            self.result.delivered += 1;
            debug!(destination = to, %id, attempt, "notified {to} of {what}");
            self.write(|db| outbox::delivered(db, destination, &message))?;
            return Ok(true);
        };
        self.result.failed += 1;
        let why = &failure.why;
        if self.write(|db| outbox::failed(db, destination, &message, why))? {
            self.result.dead += 1;
            error!(destination = to, %id, attempt, "{to} was not notified of {what}, and will not be: {why}");
            // A first attempt may be this old because nothing ran for a day: then the others are tried as well.
            if failure.is_down && 1 < attempt {
                let further = self.claim(|db| outbox::give_up_all(db, destination, why))?.unwrap_or(0) as u64;
                self.result.dead += further;
                if 0 < further {
                    error!(destination = to, "nor of {further} more that are as old");
                }
            }
        } else {
            warn!(destination = to, %id, attempt, "{to} was not notified of {what}, attempt {attempt}: {why}");
        }
        Ok(!failure.is_down)
    }

    /// Sends a message; None if the destination is not configured.
    fn send(&self, destination: Destination, message: &Message) -> Option<Result<(), SendError>> {
        let route = self.notify.routes.iter().find(|route| route.destination() == destination)?;
        Some(route.send(&self.client, message))
    }

    /// Runs a transaction that claims messages; None if another process is claiming them.
    fn claim<T>(&mut self, body: impl FnOnce(&mut Db) -> diesel::QueryResult<T>) -> Result<Option<T>> {
        match self.db.in_transaction(Access::Write, &self.timeouts, body) {
            Err(Abort::RolledBack(error)) if errors::is_contention(&error) || errors::is_lock_timeout(&error) => {
                Ok(None)
            }
            claimed => Ok(Some(claimed?)),
        }
    }

    fn write<T>(&mut self, body: impl FnOnce(&mut Db) -> diesel::QueryResult<T>) -> Result<T> {
        Ok(self.db.in_transaction(Access::Write, &self.timeouts, body)?)
    }
}
