//! What /metrics says: what the database knows, and what only this process knows.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::debug;

use super::health::{Database, DatabaseHealth, Health};
use crate::metrics::{DaemonState, DatabaseState, text};
use crate::store::connect::databases::Found;
use crate::store::read::metrics::{Reading, read_from};
use crate::text::redact;

/// Shorter than a scrape may take. A database that does not answer is no reason to leave out the rest.
const PATIENCE: Duration = Duration::from_secs(4);

/// Whoever holds it reads: however many ask, and however slow the database is, there is one connection for it.
#[derive(Clone, Default)]
pub struct Reader(Arc<Mutex<()>>);

impl Reader {
    pub async fn page(&self, state: Health) -> String {
        let read = Arc::default();
        let _ = timeout(PATIENCE, self.read(&state, &read)).await;
        let readings = std::mem::take(&mut *lock(&read));
        text(readings, Some(of_process(state)))
    }

    /// One database after the other. What was read is there although the next one does not answer.
    async fn read(&self, state: &Health, read: &Readings) {
        let is_there = |database: &&DatabaseHealth| database.state != Database::Gone;
        let databases: Vec<Found> =
            state.databases.iter().filter(is_there).map(|database| database.found.clone()).collect();
        let (timeouts, read) = (state.timeouts, Arc::clone(read));
        let turn = Arc::clone(&self.0).lock_owned().await;
        let reading = spawn_blocking(move || {
            let _turn = turn;
            for Found { short_name, url, .. } in databases {
                match read_from(&url, &timeouts) {
                    Ok(reading) => lock(&read).push((short_name, reading)),
                    Err(error) => debug!("metrics: {}", redact(&format!("{error:#}"))),
                }
            }
        });
        let _ = reading.await;
    }
}

/// What was read until now.
type Readings = Arc<std::sync::Mutex<Vec<(Option<String>, Reading)>>>;

fn lock(read: &Readings) -> MutexGuard<'_, Vec<(Option<String>, Reading)>> {
    read.lock().unwrap_or_else(PoisonError::into_inner)
}

fn of_process(state: Health) -> DaemonState {
    let database = |database: DatabaseHealth| DatabaseState {
        name: database.found.short_name,
        is_up: database.state == Database::Up,
        is_listening: database.is_listening,
    };
    let databases = state.databases.into_iter().map(database).collect();
    DaemonState { databases, hung: state.hung_for.is_some(), ..state.counted }
}
