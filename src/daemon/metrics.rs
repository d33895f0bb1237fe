//! What /metrics says: what the database knows, and what only this process knows.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::debug;

use super::health::{Database, Health};
use crate::metrics::{DaemonState, text};
use crate::store::metrics::{Reading, read_from};
use crate::text::redact;

/// Shorter than a scrape may take. A database that does not answer is no reason to leave out the rest.
const PATIENCE: Duration = Duration::from_secs(4);

/// Whoever holds it reads: however many ask, and however slow the database is, there is one connection for it.
#[derive(Clone, Default)]
pub struct Reader(Arc<Mutex<()>>);

impl Reader {
    pub async fn page(&self, state: Health) -> String {
        let reading = timeout(PATIENCE, self.reading(&state)).await.ok().flatten();
        text(reading.as_ref(), Some(&of_process(&state)))
    }

    async fn reading(&self, state: &Health) -> Option<Reading> {
        let (database, timeouts) = state.source.clone().filter(|_| state.database != Database::Gone)?;
        let turn = Arc::clone(&self.0).lock_owned().await;
        let read = spawn_blocking(move || {
            let _turn = turn;
            read_from(&database, &timeouts)
        });
        let read = read.await.ok()?;
        read.inspect_err(|error| debug!("metrics: {}", redact(&format!("{error:#}")))).ok()
    }
}

fn of_process(state: &Health) -> DaemonState {
    let (database_up, hung) = (state.database == Database::Up, state.hung_for.is_some());
    DaemonState { database_up, hung, ..state.counted.clone() }
}
