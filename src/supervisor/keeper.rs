//! The keeper of a session's row. It has a thread of its own, so that a slow or absent database stops nothing else.
//!
//! At each interval it writes what has changed, claims one command, and, unless sweeps do it, has the session examined
//! by the very code of a sweep. It decides nothing itself, and only reports to the event loop what followed.

mod connectivity;
mod row_image;
mod word;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;

use super::alerts::Alerts;
use super::event::WatchEvent;
use super::record::{SharedRecord, Snapshot};
use crate::rules::session::SessionFacts;
use crate::rules::{Decision, Facts, Id, Policy, Reason, decide};
use crate::screen::KnownActivity;
use crate::store::connect::open::Url;
use crate::store::hosts::links::Links;
use crate::store::work::outbox::Subscriptions;
use crate::store::work::supervision::{self, Changes, ClaimedCommand, Lease, Takes, What};
use crate::store::{Access, DbConnection, Subject, Timeouts};
use crate::sweep::Outcome;
use crate::sweep::context::ExamineContext;
use crate::sweep::examine::examine;
use crate::sweep::limits::WakeBudget;
use crate::sweep::logs;
use connectivity::{Connectivity, RoundError};
use row_image::{RowImage, close_of};
use word::Word;

/// How a session is kept.
pub struct KeeperOptions {
    pub url: Url,
    pub policy: Policy,
    pub timeouts: Timeouts,
    /// Delivers the notifications that the examinations queue.
    pub alerts: Alerts,
    pub subscriptions: Subscriptions,
    pub links: Links,
    /// The time zone of times in an agent's output that name none.
    pub zone: Tz,
    pub interval: Duration,
    pub examiner: Examiner,
    pub lease: Lease,
}

impl KeeperOptions {
    /// The default.
    pub const INTERVAL: TimeDelta = TimeDelta::seconds(2);
}

/// Who examines the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Examiner {
    /// The watcher itself.
    Watcher,
    /// The scheduled sweeps.
    Sweeps,
}

/// A call of the event loop to the keeper, which answers it at once.
pub enum Call {
    /// Something has changed that should not wait for the next interval.
    Look,
    /// The process was relaunched, as commanded.
    Relaunched,
    /// The command with this id could not be carried out.
    Failed(Id),
}

/// The row is updated at least every so many intervals, to show that its watcher is alive.
const HEARTBEAT: u32 = 2;

/// A session whose row was not updated for so many intervals counts as left by its watcher.
pub const LEFT_AFTER: u32 = 5;

pub struct Keeper {
    options: KeeperOptions,
    record: SharedRecord,
    events: Sender<WatchEvent>,
    db: Option<DbConnection>,
    row: RowImage,
    /// Commands that could not be carried out, until the database knows.
    failed: Vec<Id>,
    /// A relaunch was commanded and has not happened yet.
    is_relaunching: bool,
    /// The latest progress that an examination has seen.
    examined_progress: Option<Instant>,
    has_open_recovery: bool,
    /// When a used-up quota is available again.
    resumes_at: Option<DateTime<Utc>>,
    word: Word,
    /// Set while the session is reported as stuck: since when its question stands there, if it asks one.
    stuck: Option<Option<Instant>>,
    last_reason: String,
    sweep_id: Id,
    connectivity: Connectivity,
}

impl Keeper {
    pub fn new(options: KeeperOptions, db: DbConnection, record: SharedRecord, events: Sender<WatchEvent>) -> Keeper {
        Keeper {
            options,
            record,
            events,
            db: Some(db),
            row: RowImage::default(),
            failed: Vec::new(),
            is_relaunching: false,
            examined_progress: None,
            has_open_recovery: true,
            resumes_at: None,
            word: Word::Given,
            stuck: None,
            last_reason: String::new(),
            sweep_id: Id::generate(),
            connectivity: Connectivity::new(),
        }
    }

    /// Keeps the row until the event loop has ended, or the row belongs to another watcher.
    pub fn run(mut self, calls: &Receiver<Call>) {
        loop {
            match calls.recv_timeout(self.options.interval) {
                Ok(Call::Look) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Call::Relaunched) => (self.is_relaunching, self.word) = (false, Word::Awaited),
                Ok(Call::Failed(id)) => {
                    self.failed.push(id);
                    self.is_relaunching = false;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.is_relaunching || !self.connectivity.may_retry() {
                continue;
            }
            let round = self.round();
            if let Err(RoundError::TakenOver) = round {
                self.send(WatchEvent::TakenOver);
                return;
            }
            let change = self.connectivity.record(round.err());
            if self.connectivity.is_lost() {
                self.db = None;
            }
            change.into_iter().for_each(|event| self.send(event));
        }
    }

    fn send(&self, event: WatchEvent) {
        let _ = self.events.send(event);
    }

    fn round(&mut self) -> Result<(), RoundError> {
        let mut db = match self.db.take() {
            Some(db) => db,
            None => {
                self.options.url.connect_again(Access::Write).map_err(|error| RoundError::Lost(format!("{error:#}")))?
            }
        };
        let done = self.round_with(&mut db);
        if !matches!(done, Err(RoundError::Lost(_))) {
            self.db = Some(db);
        }
        done
    }

    fn round_with(&mut self, db: &mut DbConnection) -> Result<(), RoundError> {
        self.options.alerts.deliver_due();
        // What a child says, nobody sees, as of a run: it gets as long.
        let computing_max = self.options.policy.run_silent_after.to_std().unwrap_or_default();
        let snapshot = self.record.snapshot(computing_max);
        if let Some(command) = self.write(db, &snapshot)? {
            self.is_relaunching = matches!(command.what, What::Relaunch(_));
            self.send(WatchEvent::Command(command));
            if self.is_relaunching {
                return Ok(());
            }
        }
        if snapshot.is_stopped {
            self.send(WatchEvent::Settled(snapshot.end));
            return Ok(());
        }
        let is_certain = self.examine(db, &snapshot)?;
        let (id, timeouts) = (&self.options.lease.id, &self.options.timeouts);
        let facts = db.in_transaction(Access::ReadOnly, timeouts, |db| SessionFacts::read(db, id))?;
        let Some(facts) = facts else { return Err(RoundError::TakenOver) };
        self.has_open_recovery = facts.history().open.is_some();
        self.report_escalation(&facts, &snapshot);
        if snapshot.end.is_some() {
            let decision = decide(&facts, &self.options.policy).decision;
            self.send(match decision {
                Decision::Continue { .. } | Decision::Wait { .. } | Decision::Leave(Reason::PendingCommand) => {
                    WatchEvent::AwaitsRelaunch
                }
                Decision::Escalate(_) if !is_certain => return Ok(()),
                _ => WatchEvent::Settled(snapshot.end),
            });
        }
        Ok(())
    }

    /// Writes what has changed, and claims a command.
    fn write(&mut self, db: &mut DbConnection, snapshot: &Snapshot) -> Result<Option<ClaimedCommand>, RoundError> {
        let Keeper { options, row, failed, resumes_at, word, record, .. } = self;
        let KeeperOptions { lease, timeouts, interval, zone, .. } = options;
        let began = Instant::now();
        let is_due = row.written_at.is_none_or(|at| *interval * HEARTBEAT <= began - at);
        let (has_ended, closes) = (snapshot.end.is_some(), close_of(snapshot));
        let written = db.in_transaction(Access::Write, timeouts, |db| {
            let now = db.now()?;
            let at = |instant: Instant| now - TimeDelta::from_std(began - instant).unwrap_or_default();
            let changes = row.changes(snapshot, at, *zone);
            match &changes.state {
                Some(state) => *resumes_at = state.resumes_at.map(|at| at.0),
                None if resumes_at.is_some_and(|at| at <= now) => {
                    (*resumes_at, *word) = (None, Word::Awaited);
                    record.lock().quota_refilled();
                }
                None => {}
            }
            let is_unchanged = changes == Changes::default() && failed.is_empty() && closes.is_none();
            if is_unchanged && !is_due && !supervision::has_command(db, lease)? {
                return Ok(None);
            }
            supervision::heartbeat(db, lease, &changes, now)?;
            failed.iter().try_for_each(|id| supervision::fail(db, id, now))?;
            if let Some(close) = closes {
                supervision::close(db, lease, close)?;
            }
            let takes = if has_ended { Takes::Relaunches } else { Takes::Nudges };
            supervision::claim(db, lease, takes, now).map(Some)
        })?;
        let Some(command) = written else { return Ok(None) };
        failed.clear();
        row.written(snapshot, began);
        if let Some(ClaimedCommand { what: What::Relaunch(started_at), .. }) = &command {
            lease.started_at = *started_at;
            *row = RowImage::default();
        }
        Ok(command)
    }

    /// Examines the session if something may be wrong or open. Returns whether what was decided is certainly done.
    fn examine(&mut self, db: &mut DbConnection, snapshot: &Snapshot) -> Result<bool, RoundError> {
        let KeeperOptions { policy, timeouts, subscriptions, links, examiner, lease, .. } = &self.options;
        let is_quiet = snapshot.progressed_at == self.examined_progress;
        self.examined_progress = snapshot.progressed_at;
        let is_suspect = is_quiet || self.has_open_recovery || snapshot.end.is_some();
        if *examiner == Examiner::Sweeps || !is_suspect {
            return Ok(true);
        }
        let (wakes, sweep_id) = (WakeBudget::new(1), &self.sweep_id);
        let context = ExamineContext::of_one(sweep_id, policy, *timeouts, &wakes, subscriptions, links);
        let asked = self.word.give(snapshot, policy);
        let context = ExamineContext { asked: asked.as_ref(), ..context };
        let examination = examine::<SessionFacts>(db, &lease.id, &context);
        let examined = examination.examined;
        if examined.outcome.is_change() {
            self.word = Word::Given;
            self.options.alerts.queued();
        }
        // Each change is logged, and each further reason once.
        if examined.outcome.is_change() || examined.reason != self.last_reason {
            logs::subject(&examined, &logs::Source { sweep: sweep_id, host: None, mode: "watch" });
            self.last_reason.clone_from(&examined.reason);
        }
        match examination.lost {
            Some(_) => Err(RoundError::Lost(examined.reason)),
            None => Ok(!matches!(examined.outcome, Outcome::Busy | Outcome::Failed)),
        }
    }

    /// Reports once that people were notified, by whichever sweep, and once that the session has recovered.
    fn report_escalation(&mut self, facts: &SessionFacts, snapshot: &Snapshot) {
        let session = &facts.session;
        let is_at_work = session.status == "active" && session.ended.is_none();
        // A different question is reported again.
        let asks = |known: &&KnownActivity| known.statement.activity.needs_person();
        let question = snapshot.activity.as_ref().filter(asks).map(|known| known.since);
        let stuck = (is_at_work && facts.history().escalated).then_some(question);
        if stuck != self.stuck {
            let is_stuck = stuck.is_some();
            self.stuck = stuck;
            if is_stuck || is_at_work {
                let why = facts.happened(&self.options.policy);
                self.send(if is_stuck { WatchEvent::Stuck(why) } else { WatchEvent::Recovered });
            }
        }
    }
}
