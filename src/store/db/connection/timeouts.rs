//! How long a statement, a lock and a commit are waited for.

use std::time::Duration;

use chrono::TimeDelta;

/// How long one statement may take, and how long it may wait for a lock (on SQLite always as long as anybody would).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeouts {
    pub statement: TimeDelta,
    /// Below the server's deadlock_timeout of 1 s, so that the sweep gives way before its host is chosen as a victim.
    pub lock: TimeDelta,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts { statement: TimeDelta::seconds(30), lock: TimeDelta::milliseconds(500) }
    }
}

impl Timeouts {
    /// How long two statements may take, which each end by themselves when there is a server at all.
    pub fn question(&self) -> Duration {
        2 * self.statement.to_std().unwrap_or_default()
    }
}

/// Which commits wait for the disk (PostgreSQL).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Durable {
    /// With others, at most a tenth of a second later, and before anything is reported of it. What a crash of the
    /// server loses until then is lost whole, and the next sweep does it again.
    #[default]
    Together,
    /// Before it is answered, by the server's own `synchronous_commit`.
    Each,
}
