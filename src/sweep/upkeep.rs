//! The end of a sweep: what sweep's own tables need. None of it is a reason for a sweep to fail.

use std::time::{Duration, Instant};

use super::{Cancel, Options, logs};
use crate::store::work::upkeep::{due_tasks, step};
use crate::store::{Access, DbConnection};

/// When no more of it is begun in one sweep, so that the first ones after an upgrade end as well.
const LONG_ENOUGH: Duration = Duration::from_secs(1);

/// Does what is due, in small transactions.
pub fn keep_up(db: &mut DbConnection, options: &Options, cancel: &Cancel) {
    let (began, timeouts) = (Instant::now(), &options.timeouts);
    let done = db.in_transaction(Access::Write, timeouts, due_tasks).and_then(|tasks| {
        let may_go_on = || began.elapsed() < LONG_ENOUGH && !cancel.is_set();
        tasks.into_iter().try_for_each(|task| {
            let mut has_more = true;
            while has_more && may_go_on() {
                has_more = db.in_transaction(Access::Write, timeouts, |db| step(db, task, options.keep))?;
            }
            Ok(())
        })
    });
    done.unwrap_or_else(|why| logs::surroundings("the upkeep of sweep's own tables could not be done", why));
}
