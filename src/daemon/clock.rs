//! This machine's clock: a schedule is of it by definition. What is stranded is decided by the database's.

use std::time::SystemTime;

use chrono::{DateTime, Utc};

pub fn now() -> DateTime<Utc> {
    #[expect(clippy::disallowed_methods, reason = "a schedule is of this machine's clock")]
    let now = SystemTime::now();
    now.into()
}
