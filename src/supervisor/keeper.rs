//! The keeper of a session's row: on a thread of its own, so that a slow or absent database stops nothing.
//!
//! At each interval it writes what has changed, takes one command, and, unless sweeps do it, has the session examined by
//! the very code of a sweep. What is decided is none of its business; it only tells the supervisor what came of it.

mod reach;
mod written;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use diesel::result::Error as Refused;

use super::Event;
use super::alerts::Alerts;
use super::record::{Glimpse, Shared};
use crate::report::Outcome;
use crate::rules::session::SessionFacts;
use crate::rules::{Decision, Facts, Id, Policy, Reason, decide};
use crate::store::open::Url;
use crate::store::outbox::Queueing;
use crate::store::supervision::{self, Changes, Held, Order, Takes, What};
use crate::store::{Abort, Access, DbConnection, Subject, Timeouts};
use crate::sweep::examine::examine;
use crate::sweep::limits::Wakes;
use crate::sweep::logs;
use crate::sweep::terms::Terms;
use reach::{Reach, Trouble};
use written::{Written, close_of};

/// How the keeper works.
pub struct Keeping {
    pub url: Url,
    pub policy: Policy,
    pub timeouts: Timeouts,
    /// Who is notified when the session needs a person.
    pub alerts: Alerts,
    pub queueing: Queueing,
    /// Of times that name none.
    pub zone: Tz,
    pub interval: Duration,
    pub examiner: Examiner,
    pub held: Held,
}

/// Who examines the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Examiner {
    Watcher,
    /// The sweeps that somebody schedules.
    Sweeps,
}

/// What the supervisor tells the keeper.
pub enum Call {
    /// Something happened that should not wait for the next interval.
    Look,
    /// The process was started again, as ordered.
    Relaunched,
    /// A command could not be carried out.
    Failed(Id),
}

/// Intervals after which the row says again that somebody keeps it.
const HEARTBEAT: u32 = 2;

/// Intervals without a word after which a session counts as left by its watcher.
pub const LEFT_AFTER: u32 = 5;

pub struct Keeper {
    keeping: Keeping,
    record: Shared,
    events: Sender<Event>,
    db: Option<DbConnection>,
    written: Written,
    failed: Vec<Id>,
    /// A relaunch was ordered and has not happened yet.
    relaunches: bool,
    /// The latest progress that an examination knows of.
    examined_progress: Option<Instant>,
    has_open_recovery: bool,
    /// When a used-up quota is filled again.
    resumes_at: Option<DateTime<Utc>>,
    /// People were notified that it needs a person: the question that it asks, if it asks one.
    stuck: Option<String>,
    last_reason: String,
    sweep_id: Id,
    reach: Reach,
}

impl Keeper {
    pub fn new(keeping: Keeping, db: DbConnection, record: Shared, events: Sender<Event>) -> Keeper {
        Keeper {
            keeping,
            record,
            events,
            db: Some(db),
            written: Written::default(),
            failed: Vec::new(),
            relaunches: false,
            examined_progress: None,
            has_open_recovery: true,
            resumes_at: None,
            stuck: None,
            last_reason: String::new(),
            sweep_id: Id::generate(),
            reach: Reach::new(),
        }
    }

    /// Keeps the row until nobody calls any more, nothing is left to be done, or the row is somebody else's.
    pub fn run(mut self, calls: &Receiver<Call>) {
        loop {
            match calls.recv_timeout(self.keeping.interval) {
                Ok(Call::Look) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Call::Relaunched) => self.relaunches = false,
                Ok(Call::Failed(id)) => {
                    self.failed.push(id);
                    self.relaunches = false;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.relaunches || !self.reach.may_be_tried() {
                continue;
            }
            let round = self.round();
            if let Err(Trouble::Gone) = round {
                self.tell(Event::TakenOver);
                return;
            }
            let told = self.reach.note(round.err());
            if self.reach.is_lost() {
                self.db = None;
            }
            told.into_iter().for_each(|event| self.tell(event));
        }
    }

    fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    fn round(&mut self) -> Result<(), Trouble> {
        let mut db = match self.db.take() {
            Some(db) => db,
            None => self.keeping.url.connect(Access::Write).map_err(|error| Trouble::Lost(format!("{error:#}")))?,
        };
        let done = self.round_on(&mut db);
        if !matches!(done, Err(Trouble::Lost(_))) {
            self.db = Some(db);
        }
        done
    }

    fn round_on(&mut self, db: &mut DbConnection) -> Result<(), Trouble> {
        self.keeping.alerts.deliver_due();
        let glimpse = self.record.lock().glimpse(Instant::now());
        if let Some(order) = self.write(db, &glimpse)? {
            self.relaunches = matches!(order.what, What::Relaunch(_));
            self.tell(Event::Order(order));
            if self.relaunches {
                return Ok(());
            }
        }
        if glimpse.is_stopped {
            self.tell(Event::Settled(glimpse.end));
            return Ok(());
        }
        let is_certain = self.examine(db, &glimpse)?;
        let Some(facts) = self.read(db)? else { return Err(Trouble::Gone) };
        self.has_open_recovery = facts.history().open.is_some();
        self.tell_of_escalation(&facts);
        if glimpse.end.is_some() {
            let decision = decide(&facts, &self.keeping.policy).decision;
            self.tell(match decision {
                Decision::Continue { .. } | Decision::Wait { .. } | Decision::Leave(Reason::PendingCommand) => {
                    Event::AwaitsRelaunch
                }
                Decision::Escalate(_) if !is_certain => return Ok(()),
                _ => Event::Settled(glimpse.end),
            });
        }
        Ok(())
    }

    /// Writes what has changed, and takes a command.
    fn write(&mut self, db: &mut DbConnection, glimpse: &Glimpse) -> Result<Option<Order>, Trouble> {
        let Keeper {
            keeping: Keeping { held, timeouts, interval, zone, .. }, written, failed, resumes_at, record, ..
        } = self;
        let asked = Instant::now();
        let is_due = written.at.is_none_or(|at| *interval * HEARTBEAT <= asked - at);
        let (has_ended, closes) = (glimpse.end.is_some(), close_of(glimpse));
        let mut wrote = false;
        let order = db.in_transaction(Access::Write, timeouts, |db| {
            let now = db.now()?;
            let at = |instant: Instant| now - TimeDelta::from_std(asked - instant).unwrap_or_default();
            let changes = written.changes(glimpse, at, *zone);
            match &changes.state {
                Some(state) => *resumes_at = state.resumes_at.map(|at| at.0),
                None if resumes_at.is_some_and(|at| at <= now) => {
                    *resumes_at = None;
                    record.lock().refilled();
                }
                None => {}
            }
            let is_unchanged = changes == Changes::default() && failed.is_empty() && closes.is_none();
            if is_unchanged && !is_due && !supervision::has_command(db, held)? {
                return Err(Refused::RollbackTransaction);
            }
            wrote = true;
            supervision::note(db, held, &changes, now)?;
            failed.iter().try_for_each(|id| supervision::fail(db, id, now))?;
            if let Some(close) = closes {
                supervision::close(db, held, close)?;
            }
            supervision::claim(db, held, if has_ended { Takes::Relaunches } else { Takes::Nudges }, now)
        });
        let order = match order {
            Err(Abort::RolledBack(Refused::RollbackTransaction)) if !wrote => return Ok(None),
            order => order.map_err(Trouble::from)?,
        };
        failed.clear();
        written.now_says(glimpse, asked);
        if let Some(Order { what: What::Relaunch(started_at), .. }) = &order {
            held.started_at = *started_at;
            *written = Written::default();
        }
        Ok(order)
    }

    /// Examines the session when something may be wrong, or open. Is it certain that what was decided is done?
    fn examine(&mut self, db: &mut DbConnection, glimpse: &Glimpse) -> Result<bool, Trouble> {
        let Keeping { policy, timeouts, queueing, examiner, held, .. } = &self.keeping;
        let is_quiet = glimpse.progressed_at == self.examined_progress;
        self.examined_progress = glimpse.progressed_at;
        let is_suspect = is_quiet || self.has_open_recovery || glimpse.end.is_some();
        if *examiner == Examiner::Sweeps || !is_suspect {
            return Ok(true);
        }
        let (wakes, timeouts) = (Wakes::new(1), *timeouts);
        let (sweep_id, access) = (&self.sweep_id, Access::Write);
        let terms = Terms {
            sweep_id,
            access,
            policy,
            timeouts,
            tenant: None,
            group: None,
            held: &[],
            shard: None,
            among: None,
            plan: None,
            wakes: &wakes,
            queueing,
            shadow: false,
        };
        let examination = examine::<SessionFacts>(db, &held.id, &terms);
        let examined = examination.examined;
        if examined.outcome.is_change() {
            self.keeping.alerts.queued();
        }
        // Each thing that is done, and each thing that is wrong once.
        if examined.outcome.is_change() || examined.reason != self.last_reason {
            logs::subject(&examined, &logs::Source { sweep: sweep_id, host: None, mode: "watch" });
            self.last_reason.clone_from(&examined.reason);
        }
        match examination.lost {
            Some(_) => Err(Trouble::Lost(examined.reason)),
            None => Ok(!matches!(examined.outcome, Outcome::Busy | Outcome::Failed)),
        }
    }

    fn read(&self, db: &mut DbConnection) -> Result<Option<SessionFacts>, Trouble> {
        let id = &self.keeping.held.id;
        db.in_transaction(Access::ReadOnly, &self.keeping.timeouts, |db| SessionFacts::read(db, id))
            .map_err(Trouble::from)
    }

    /// Says once that people were notified, by whichever sweep, and once that the session goes on.
    fn tell_of_escalation(&mut self, facts: &SessionFacts) {
        let session = &facts.session;
        let is_at_work = session.status == "active" && session.ended.is_none();
        // Another question is another reason.
        let question =
            session.agent.as_ref().filter(|agent| agent.activity.needs_person()).map(|agent| agent.describe());
        let stuck = (is_at_work && facts.history().escalated).then(|| question.unwrap_or_default());
        if stuck != self.stuck {
            let is_stuck = stuck.is_some();
            self.stuck = stuck;
            if is_stuck || is_at_work {
                let why = facts.happened(&self.keeping.policy);
                self.tell(if is_stuck { Event::Stuck(why) } else { Event::Recovered });
            }
        }
    }
}
