//! Whether statements are prepared, so that they are planned once for a connection (PostgreSQL). A transaction pooler
//! that does not know prepared statements, such as PgBouncer before 1.21, gives them to somebody else's connection: as
//! soon as one is lost so, or another's is met, none is prepared any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is known of the way to a server. Its clones share what one of them finds out.
#[derive(Clone, Debug, Default)]
pub struct StatementCache {
    is_off: Arc<AtomicBool>,
}

impl StatementCache {
    /// For a pooler that is known to lose prepared statements.
    pub fn off() -> StatementCache {
        StatementCache { is_off: Arc::new(AtomicBool::new(true)) }
    }

    pub(super) fn is_off(&self) -> bool {
        self.is_off.load(Ordering::Relaxed)
    }

    pub(super) fn turn_off(&self) {
        self.is_off.store(true, Ordering::Relaxed);
    }
}

/// It is no part of which database it is.
impl PartialEq for StatementCache {
    fn eq(&self, _: &StatementCache) -> bool {
        true
    }
}
