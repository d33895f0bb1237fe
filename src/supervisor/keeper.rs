//! The keeper of a session's row. It has a thread of its own, so that a slow or absent database stops nothing else.
//!
//! At each interval it writes what has changed, claims one command, and, unless sweeps do it, has the session examined
//! by the very code of a sweep. It decides nothing itself, and only reports to the event loop what followed.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use diesel::result::Error as QueryError;

use super::{Alerts, SharedRecord, Snapshot, WatchEvent};
use crate::rules::request::{Asked, Request};
use crate::rules::session::{Activity, SessionFacts};
use crate::rules::{Decision, Facts, Id, Policy, Reason, decide};
use crate::screen::{KnownActivity, resumes_at};
use crate::store::db::errors;
use crate::store::db::types::Instant as DbInstant;
use crate::store::hosts::links::Links;
use crate::store::work::outbox::Subscriptions;
use crate::store::work::supervision::{self, AgentStateColumns, Changes, ClaimedCommand, Close, Lease, Takes, What};
use crate::store::{Abort, Access, DbConnection, Subject, Timeouts, Url};
use crate::sweep::examine::attempt::ExamineContext;
use crate::sweep::examine::examine;
use crate::sweep::limits::WakeBudget;
use crate::sweep::{Outcome, logs};
use crate::text::redact;

/// How a session's row is kept.
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
    /// The longest time between two writes of a watcher, whatever its thresholds are.
    pub const INTERVAL_MAX: TimeDelta = TimeDelta::seconds(2);

    /// How often a watcher looks at its agent and writes what changed: ten times within the shortest time after which
    /// the rules act, so that it notices each in time, and every 2 s at least. More often than every 100 ms it would
    /// load the database and see no more.
    pub fn interval(policy: &Policy) -> TimeDelta {
        let shortest = TimeDelta::milliseconds(100);
        (policy.session_silent_after.min(policy.nudge_delay) / 10).clamp(shortest, KeeperOptions::INTERVAL_MAX)
    }
}

/// The process that examines the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Examiner {
    /// The watcher itself.
    Watcher,
    /// The scheduled sweeps.
    Sweeps,
}

/// A call of the event loop to the keeper, which answers it at once.
pub enum KeeperCall {
    /// Something has changed that should not wait for the next interval.
    Look,
    /// The process was relaunched, as commanded.
    Relaunched,
    /// The command with this id could not be carried out.
    Failed(Id),
}

/// The row is updated at least every so many intervals, to show that its watcher is alive.
const HEARTBEAT: u32 = 2;

/// A session whose row was not updated for so long counts as left by its watcher: five of the longest intervals, since
/// nobody else knows the thresholds of that watcher.
pub const LEFT_AFTER: TimeDelta = TimeDelta::seconds(10);

/// An agent that was started with its task stands at its composer for a moment before it begins.
const IDLE_LASTS: Duration = Duration::from_secs(5);

pub struct Keeper {
    options: KeeperOptions,
    record: SharedRecord,
    events: Sender<WatchEvent>,
    db: Option<DbConnection>,
    session: KeptSession,
    sweep_id: Id,
    connectivity: Connectivity,
}

/// What is known of the session, and what is to be done about it.
#[derive(Default)]
struct KeptSession {
    /// What was last written of the process that runs now, and when; None: nothing was written yet.
    written: Option<(Snapshot, Instant)>,
    /// Commands that could not be carried out, until the database knows.
    failed: Vec<Id>,
    /// A relaunch was commanded and has not happened yet.
    is_relaunching: bool,
    /// The latest progress that an examination has seen.
    examined_progress: Option<Instant>,
    /// Whether the row was found without an open recovery.
    has_nothing_open: bool,
    /// When a used-up quota is available again.
    resumes_at: Option<DateTime<Utc>>,
    /// An agent that nothing keeps from its task any more is to be told to go on: its process was started again, or its
    /// quota filled.
    owes_word: bool,
    /// Set while the session is reported as stuck: since when its question stands there, if it asks one.
    stuck: Option<Option<Instant>>,
    last_reason: String,
}

impl Keeper {
    pub fn new(options: KeeperOptions, db: DbConnection, record: SharedRecord, events: Sender<WatchEvent>) -> Keeper {
        let (session, connectivity) = (KeptSession::default(), Connectivity::new());
        Keeper { options, record, events, db: Some(db), session, sweep_id: Id::generate(), connectivity }
    }

    /// Keeps the row until the event loop has ended, or the row belongs to another watcher.
    pub fn run(mut self, calls: &Receiver<KeeperCall>) {
        loop {
            match calls.recv_timeout(self.options.interval) {
                Ok(KeeperCall::Look) | Err(RecvTimeoutError::Timeout) => {}
                Ok(KeeperCall::Relaunched) => (self.session.is_relaunching, self.session.owes_word) = (false, true),
                Ok(KeeperCall::Failed(id)) => {
                    self.session.failed.push(id);
                    self.session.is_relaunching = false;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.session.is_relaunching || Instant::now() < self.connectivity.retry_at {
                continue;
            }
            let round = self.round();
            if let Err(RoundError::TakenOver) = round {
                self.send(WatchEvent::TakenOver);
                return;
            }
            let change = self.connectivity.record(round.err());
            if self.connectivity.reported == Reachability::Lost {
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
                let url = &self.options.url;
                let mut db =
                    url.connect_again(Access::Write).map_err(|error| RoundError::Lost(format!("{error:#}")))?;
                db.repeats(true);
                db
            }
        };
        let done = self.round_with(&mut db);
        self.db = Some(db);
        done
    }

    fn round_with(&mut self, db: &mut DbConnection) -> Result<(), RoundError> {
        // What a child says, nobody sees, as of a run: it gets as long.
        let computing_max = self.options.policy.run_silent_after.to_std().unwrap_or_default();
        let snapshot = self.record.snapshot(computing_max);
        if let Some(command) = self.write(db, &snapshot)? {
            self.session.is_relaunching = matches!(command.what, What::Relaunch(_));
            self.send(WatchEvent::Command(command));
            if self.session.is_relaunching {
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
        self.session.has_nothing_open = facts.history().open.is_none();
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
        let KeptSession { written, failed, resumes_at, owes_word, .. } = &mut self.session;
        let KeeperOptions { lease, timeouts, interval, zone, .. } = &mut self.options;
        let began = Instant::now();
        let is_due = written.as_ref().is_none_or(|(_, at)| *interval * HEARTBEAT <= began - *at);
        let has_ended = snapshot.end.is_some();
        let closes = match snapshot.end {
            _ if snapshot.is_stopped => Some(Close::Interrupted),
            Some(end) if end.exit_code == Some(0) => Some(Close::Terminated),
            // A session that goes on, or has crashed, is not closed.
            Some(_) | None => None,
        };
        let before = written.as_ref().map(|(snapshot, _)| snapshot);
        let done = db.in_transaction(Access::Write, timeouts, |db| {
            let now = db.now()?;
            let at = |instant: Instant| now - TimeDelta::from_std(began - instant).unwrap_or_default();
            let changes = changes(before, snapshot, at, *zone);
            match &changes.state {
                Some(state) => *resumes_at = state.resumes_at.map(|at| at.0),
                None if resumes_at.is_some_and(|at| at <= now) => {
                    (*resumes_at, *owes_word) = (None, true);
                    self.record.lock().quota_refilled();
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
        let Some(command) = done else { return Ok(None) };
        failed.clear();
        *written = Some((snapshot.clone(), began));
        if let Some(ClaimedCommand { what: What::Relaunch(started_at), .. }) = &command {
            // decisions.md#a-relaunch-is-written-first
            lease.started_at = *started_at;
            *written = None;
        }
        Ok(command)
    }

    /// Examines the session if something may be wrong or open. Returns whether what was decided is certainly done.
    fn examine(&mut self, db: &mut DbConnection, snapshot: &Snapshot) -> Result<bool, RoundError> {
        let is_quiet = snapshot.progressed_at == self.session.examined_progress;
        self.session.examined_progress = snapshot.progressed_at;
        let is_suspect = is_quiet || !self.session.has_nothing_open || snapshot.end.is_some();
        if self.options.examiner == Examiner::Sweeps || !is_suspect {
            return Ok(true);
        }
        let asked = self.word_to_go_on(snapshot);
        let KeeperOptions { policy, timeouts, subscriptions, links, lease, .. } = &self.options;
        let (wakes, sweep_id) = (WakeBudget::new(1), &self.sweep_id);
        let context = ExamineContext::of_one(sweep_id, policy, *timeouts, &wakes, subscriptions, links);
        let context = ExamineContext { asked: asked.as_ref(), ..context };
        let examination = examine::<SessionFacts>(db, &lease.id, &context);
        let examined = examination.examined;
        if examined.outcome.is_change() {
            self.session.owes_word = false;
            self.options.alerts.queued();
        }
        // Each change is logged, and each further reason once.
        if examined.outcome.is_change() || examined.reason != self.session.last_reason {
            logs::subject(&examined, &logs::LogSource { sweep: sweep_id, host: None, mode: "watch" });
            self.session.last_reason.clone_from(&examined.reason);
        }
        match examination.lost {
            Some(_) => Err(RoundError::Lost(examined.reason)),
            None => Ok(!matches!(examined.outcome, Outcome::Busy | Outcome::Failed)),
        }
    }

    /// A nudge by which the agent is told to go on. It is asked for once, as soon as the agent is idle; one that goes
    /// on by itself needs none, and what follows from silence follows later.
    fn word_to_go_on(&mut self, snapshot: &Snapshot) -> Option<Asked> {
        let known = snapshot.activity.as_ref().filter(|_| self.session.owes_word)?;
        let is_idle = snapshot.takes_nudges && IDLE_LASTS <= known.since.elapsed();
        self.session.owes_word = !is_idle && known.statement.activity != Activity::Working;
        let by = "sweep watch".to_owned();
        (is_idle && 0 < self.options.policy.nudges_max).then_some(Asked { request: Request::Nudge, by })
    }

    /// Reports once that people were notified, by whichever sweep, and once that the session has recovered.
    fn report_escalation(&mut self, facts: &SessionFacts, snapshot: &Snapshot) {
        let session = &facts.session;
        let is_at_work = session.status == "active" && session.ended.is_none();
        // A different question is reported again.
        let asks = |known: &&KnownActivity| known.statement.activity.needs_person();
        let question = snapshot.activity.as_ref().filter(asks).map(|known| known.since);
        let stuck = (is_at_work && facts.history().escalated).then_some(question);
        if stuck != self.session.stuck {
            let is_stuck = stuck.is_some();
            self.session.stuck = stuck;
            if is_stuck || is_at_work {
                let why = facts.happened(&self.options.policy);
                self.send(if is_stuck { WatchEvent::Stuck(why) } else { WatchEvent::Recovered });
            }
        }
        if stuck.is_some() {
            self.send(WatchEvent::StillStuck(facts.in_brief(&self.options.policy)));
        }
    }
}

/// The columns of a row that differ from what was last written of its process. `at` converts to the database's clock;
/// `zone` is for times without one.
fn changes(before: Option<&Snapshot>, snapshot: &Snapshot, at: impl Fn(Instant) -> DateTime<Utc>, zone: Tz) -> Changes {
    let (is_first, unwritten) = (before.is_none(), Snapshot::default());
    let before = before.unwrap_or(&unwritten);
    let newer = |seen: Option<Instant>, known| seen.filter(|_| seen != known).map(|seen| DbInstant(at(seen)));
    let end = snapshot.end.filter(|_| before.end.is_none());
    Changes {
        last_activity_at: newer(snapshot.active_at, before.active_at),
        last_progress_at: newer(snapshot.progressed_at, before.progressed_at),
        recent_output: (snapshot.recent_output != before.recent_output).then(|| snapshot.recent_output.join("\n")),
        ended_at: end.map(|end| DbInstant(at(end.at))),
        exit_code: end.and_then(|end| end.code()),
        last_tool: (is_first || snapshot.last_tool != before.last_tool).then(|| snapshot.last_tool.clone()),
        takes_nudges: Some(snapshot.takes_nudges).filter(|takes| is_first || before.takes_nudges != *takes),
        state: (is_first || snapshot.activity != before.activity)
            .then(|| state_of(snapshot.activity.as_ref(), &at, zone)),
    }
}

/// The agent's state as the row holds it: empty if it is unknown.
fn state_of(known: Option<&KnownActivity>, at: impl Fn(Instant) -> DateTime<Utc>, zone: Tz) -> AgentStateColumns {
    let Some(KnownActivity { statement, since, .. }) = known else { return AgentStateColumns::default() };
    let since = at(*since);
    let question = Some(redact(&statement.question)).filter(|question| !question.is_empty());
    AgentStateColumns {
        agent_state: Some(statement.activity.name()),
        agent_state_kind: statement.kind.clone(),
        agent_state_since: Some(DbInstant(since)),
        agent_question: question,
        agent_state_evidence: Some(redact(&statement.evidence)),
        resumes_at: statement.resumes.as_deref().and_then(|text| resumes_at(text, since, zone)).map(DbInstant),
    }
}

/// The first pause between attempts to reach a lost database, and the longest one after it has doubled each time.
const RETRY_MIN: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(15);

/// A database that others keep busy for longer counts as lost.
const BUSY_MAX: Duration = Duration::from_secs(10);

/// Why a round of the keeper failed.
enum RoundError {
    /// Another transaction is in the way: the next round tries again.
    Busy(String),
    /// The connection is lost, or cannot be used.
    Lost(String),
    /// The row belongs to another watcher, or was deleted.
    TakenOver,
}

/// The database's state as last reported to the operator.
#[derive(Clone, Copy, PartialEq)]
enum Reachability {
    Reachable,
    /// Others keep the database busy since then, which was not reported yet.
    Busy(Instant),
    Lost,
}

/// Whether the database can be reached: its loss is reported once, and its return once.
struct Connectivity {
    reported: Reachability,
    /// When the pause after the last attempt is over.
    retry_at: Instant,
    pauses: ExponentialBackoff,
}

impl Connectivity {
    fn new() -> Connectivity {
        let pauses = ExponentialBuilder::new().with_min_delay(RETRY_MIN).with_max_delay(RETRY_MAX);
        Connectivity {
            reported: Reachability::Reachable,
            retry_at: Instant::now(),
            pauses: pauses.without_max_times().build(),
        }
    }

    /// Records how a round ended, and returns what is to be reported.
    fn record(&mut self, error: Option<RoundError>) -> Option<WatchEvent> {
        let now = Instant::now();
        let before = self.reported;
        let since = if let Reachability::Busy(since) = before { since } else { now };
        let (why, is_lost) = match error {
            None => {
                *self = Connectivity::new();
                return (before == Reachability::Lost).then_some(WatchEvent::DatabaseBack);
            }
            Some(RoundError::TakenOver) => return None,
            Some(RoundError::Busy(why)) => (why, before == Reachability::Lost || BUSY_MAX < now - since),
            Some(RoundError::Lost(why)) => (why, true),
        };
        if !is_lost {
            self.reported = Reachability::Busy(since);
            return None;
        }
        self.reported = Reachability::Lost;
        self.retry_at = now + self.pauses.next().unwrap_or(RETRY_MAX);
        (before != Reachability::Lost).then_some(WatchEvent::DatabaseLost(why))
    }
}

impl From<Abort> for RoundError {
    fn from(abort: Abort) -> RoundError {
        match abort {
            Abort::RolledBack(QueryError::NotFound) => RoundError::TakenOver,
            Abort::RolledBack(error)
                if errors::is_contention(&error)
                    || errors::is_lock_timeout(&error)
                    || errors::is_undecodable(&error) =>
            {
                RoundError::Busy(errors::error_chain(&error))
            }
            abort => RoundError::Lost(format!("{:#}", anyhow::Error::from(abort))),
        }
    }
}
