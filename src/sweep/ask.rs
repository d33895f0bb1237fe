//! What a person asks to be done with one subject: the transaction, the locks and the ledger's row of a sweep.

use std::thread::sleep;
use std::time::Duration;

use super::logs;
use super::{Examination, ExamineContext, Examined, Lost, Outcome, WakeBudget, examine, settle};
use crate::rules::request::{Asked, RequestRefusal};
use crate::rules::{Id, Policy};
use crate::store::connect::open::{Store, Url};
use crate::store::hosts::links::Links;
use crate::store::work::outbox::Subscriptions;
use crate::store::{Access, Subject, Timeouts};

/// A sweep and a supervisor hold a row for a moment only, and a person has no next sweep: half a second's patience.
const BUSY_TRIES: u32 = 10;
const BUSY_PAUSE: Duration = Duration::from_millis(50);

/// What a request is fulfilled with.
pub struct AskOptions {
    pub database: Url,
    pub policy: Policy,
    pub timeouts: Timeouts,
    /// The people who are notified of what recovers by it.
    pub subscriptions: Subscriptions,
    pub links: Links,
}

/// What became of a request.
#[derive(Debug)]
pub enum Answer {
    Done(Examined),
    /// With the subject as it was found.
    Refused(RequestRefusal, Examined),
    /// The subject was in other hands, could not be read or written, or is gone: nothing was done, unless the outcome
    /// is `Unknown`.
    Failed(Examined),
}

/// Does what was asked for with one subject, or says why not.
pub fn ask<S: Subject>(store: &mut Store, id: &Id, asked: &Asked, options: &AskOptions) -> Answer {
    let AskOptions { database, policy, timeouts, subscriptions, links } = options;
    let (sweep_id, wakes) = (Id::generate(), WakeBudget::new(1));
    let context = ExamineContext::of_one(&sweep_id, policy, *timeouts, &wakes, subscriptions, links);
    let context = ExamineContext { asked: Some(asked), ..context };
    let mut examination = examine::<S>(&mut store.db, id, &context);
    for _ in 0..BUSY_TRIES {
        if examination.examined.outcome != Outcome::Busy || examination.lost.is_some() {
            break;
        }
        sleep(BUSY_PAUSE);
        examination = examine::<S>(&mut store.db, id, &context);
    }
    let Examination { examined, refusal, is_committed, lost } = examination;
    if let Some(refusal) = refusal {
        return Answer::Refused(refusal, examined);
    }
    let (examined, is_done) = match lost {
        // The ledger knows nothing of what leaves no row in it.
        Some(Lost::Commit(commit)) if commit.intended.is_change() => {
            let intended = commit.intended;
            let connected = database.connect_again(Access::Write);
            let settled = connected.map(|mut db| settle::<S>(&mut db, examined.clone(), commit, &context));
            let examined = settled.unwrap_or(examined);
            let is_done = examined.outcome == intended;
            (examined, is_done)
        }
        Some(Lost::Commit(_) | Lost::Connection) | None => (examined, is_committed),
    };
    logs::subject(&examined, &logs::LogSource { sweep: &sweep_id, host: Some(store.host.name()), mode: "request" });
    if is_done { Answer::Done(examined) } else { Answer::Failed(examined) }
}
