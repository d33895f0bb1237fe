//! What the guard holds back, and how people are told.

use crate::rules::Kind;
use crate::store::work::counts::{Guarded, HeldBack};
use crate::store::work::outbox::{self, Details, Event, Notice};
use crate::store::{Access, DbConnection};
use crate::sweep::context::ExamineContext;
use crate::sweep::logs;

/// What is held back of a kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Held {
    #[default]
    Nothing,
    /// The rest is swept.
    Parts(Vec<HeldBack>),
    Everything(Guarded),
}

/// Logs what is held back, and has people notified of it. That it cannot be queued is logged, and no reason for the
/// sweep to fail.
pub fn announce(db: &mut DbConnection, kind: Kind, held: &Held, context: &ExamineContext) {
    let said: Vec<(String, Guarded, String)> = match held {
        Held::Nothing => Vec::new(),
        Held::Everything(guarded) => vec![(String::new(), *guarded, guarded.sentence(kind))],
        Held::Parts(parts) => {
            parts.iter().map(|part| (part.portion.to_string(), part.guarded, part.sentence(kind))).collect()
        }
    };
    for (part, guarded, reason) in said {
        logs::guard(kind, &guarded, &reason);
        if context.access == Access::ReadOnly {
            continue;
        }
        let details = Details { reason, ..Details::default() };
        let (event, sweep_id) = (Event::GuardStopped, context.sweep_id);
        let notice = Notice { event, kind: kind.name(), subject_id: None, sweep_id, details };
        let queued = db.in_transaction(Access::Write, &context.timeouts, |db| {
            outbox::queue_guard(db, context.subscriptions, &notice, &part)
        });
        if let Err(abort) = queued {
            logs::unqueued(kind, abort);
        }
    }
}
