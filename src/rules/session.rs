//! A session of an agent is *crashed*, *waiting*, *looping*, *silent* or *without progress* only while it is active,
//! declares no wait (its stall detection is paused, or its issue waits), and its issue, if it has one, is not finished.
//! Then it is
//! - *crashed* if and only if its process has ended, and not with exit code 0, and nobody else continues its issue: no
//!   run is live for it, and no wake pending;
//! - *waiting* if and only if its process runs and its agent has been waiting for a person for longer than
//!   `session_waiting_after`, or says that it has no context or quota left;
//! - *silent* if and only if it is not waiting, its process runs and showed no sign of life for longer than its
//!   threshold;
//! - *looping* if and only if it is neither, its last lines repeat (`loops`), and it made no progress for longer than
//!   its threshold;
//! - *without progress* if and only if it is none of these, and it made no progress for longer than
//!   `session_no_progress_after`: it moves, and does nothing new.
//!
//! The threshold is its own, else `session_silent_after`; for a session that takes no commands, `run_silent_after`.
//! Something is done only when no command is on its way to it. Who waits for a person is never typed to or started
//! again; whoever is without progress is not either, since only a person can see why.

mod agent;
mod comment;
mod definition;
mod ended;

use chrono::{DateTime, TimeDelta, Utc};

pub use agent::{Activity, AgentState, phrase};
pub use comment::escalation_comment;
pub use ended::Ended;

use super::clause::no_wait_is_declared;
use super::display::humanize;
use super::{
    Assignee, Cause, Clause, ContinueBy, Facts, Finding, History, Id, Loop, OpenRecovery, Policy, Reason, RetryBudget,
    detect_loop,
};

/// The statuses of an issue on which no session works any more.
pub(super) const FINISHED: [&str; 2] = ["done", "cancelled"];

/// How often people may be notified in a day that one session waits for them: each question is another one, and a
/// screen that flickers is none.
const QUESTIONS_PER_DAY_MAX: u32 = 24;

/// So many lines are more than the echo of a nudge and a word in answer.
const ANSWER_MAX: usize = 20;

/// A process that was relaunched shows progress once it has been active for longer.
const PROVEN_AFTER: TimeDelta = TimeDelta::minutes(5);

/// One session of an agent, as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub id: Id,
    pub identifier: Option<String>,
    pub title: String,
    /// As stored.
    pub status: String,
    /// What it, or its issue, waits for, in a few words; also that nobody may disturb it.
    pub declared_wait: Option<String>,
    /// Its stall detection is paused: nobody may disturb it.
    pub is_paused: bool,
    /// When its present process was started.
    pub started_at: DateTime<Utc>,
    /// Its latest sign of life: output, a tool, a message.
    pub active_at: DateTime<Utc>,
    /// Its latest step forward: output that was no repetition.
    pub progressed_at: DateTime<Utc>,
    /// Does its supervisor report progress apart from other signs of life?
    pub reports_progress: bool,
    /// None while its process runs.
    pub ended: Option<Ended>,
    /// Its own threshold.
    pub silent_after: Option<TimeDelta>,
    /// The last lines of its output, oldest first. Facts do not keep them: of many sessions they take much memory.
    pub recent_output: Vec<String>,
    /// Can it be nudged and relaunched?
    pub takes_commands: bool,
    /// May something be typed into it now? Its supervisor knows.
    pub takes_nudges: bool,
    /// What its agent is doing, as far as its supervisor knows.
    pub agent: Option<AgentState>,
    /// Creation of the oldest command that is queued.
    pub pending_command_since: Option<DateTime<Utc>>,
}

/// The issue that a session works on.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkedIssue {
    pub id: Id,
    /// As stored.
    pub status: String,
    /// Is a run, or another session, at work on it?
    pub has_live_run: bool,
    /// Creation of the oldest wake that is queued, deferred or claimed.
    pub pending_wake_since: Option<DateTime<Utc>>,
}

/// One row of the view `session_facts`.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionFacts {
    pub session: Session,
    pub tenant: String,
    pub assignee: Assignee,
    pub issue: Option<LinkedIssue>,
    history: History,
    repeats: Option<Loop>,
}

impl SessionFacts {
    /// `history`: its episode as the ledger alone knows it, since the last escalation or recovery.
    pub fn new(
        session: Session,
        tenant: String,
        assignee: Assignee,
        issue: Option<LinkedIssue>,
        history: History,
    ) -> SessionFacts {
        SessionFacts { session, tenant, assignee, issue, history, repeats: None }.with_its_own_signs()
    }

    /// With the loop that its output shows, and the signs of life and progress that it shows itself. Progress ends an
    /// episode where the session's supervisor reports it, else any activity. The output of a loop is none; neither are
    /// the first minutes of a process that was relaunched, else one that crashes at every start is relaunched for ever.
    fn with_its_own_signs(self) -> SessionFacts {
        let SessionFacts { mut session, mut history, .. } = self;
        let repeats = detect_loop(&session.recent_output);
        let is_looping = repeats.is_some() || history.open.is_some() && looped_lately(&session.recent_output);
        session.recent_output = Vec::new();
        let sign = if is_looping || session.reports_progress { session.progressed_at } else { session.active_at };
        // A question is news, and an end of what was before it; what flows by beside it is none.
        let sign =
            session.agent.as_ref().filter(|agent| agent.activity.needs_person()).map_or(sign, |agent| agent.since);
        history.idle_since = session.ended.map_or(sign, |ended| ended.at);
        let was_relaunched =
            !history.escalated && history.open.as_ref().is_some_and(|open| open.since < session.started_at);
        if !was_relaunched || PROVEN_AFTER < sign - session.started_at {
            history.progressed(sign);
        }
        SessionFacts { session, history, repeats, ..self }
    }

    /// What it is examined for.
    fn suspicion(&self, policy: &Policy) -> Finding {
        match (&self.session.ended, &self.repeats) {
            (Some(_), _) => Finding::Crashed,
            (None, _) if self.question().is_some() => Finding::Waiting,
            (None, _) if self.is_silent(policy) => Finding::Silent,
            (None, Some(_)) => Finding::Looping,
            (None, None) if self.reports_progress() => Finding::NoProgress,
            (None, None) => Finding::Silent,
        }
    }

    /// What its agent waits for, if it is a person.
    pub(super) fn question(&self) -> Option<&AgentState> {
        self.session.agent.as_ref().filter(|agent| agent.activity.needs_person())
    }

    /// A host's runs have thresholds of their own.
    fn reports_progress(&self) -> bool {
        self.session.reports_progress && self.session.takes_commands
    }

    fn threshold(&self, policy: &Policy) -> TimeDelta {
        let default = if self.session.takes_commands { policy.session_silent_after } else { policy.run_silent_after };
        self.session.silent_after.unwrap_or(default)
    }

    fn is_silent(&self, policy: &Policy) -> bool {
        self.threshold(policy) < self.history.observed_at - self.session.active_at
    }

    /// Would it be nudged now, if it took nudges?
    fn may_be_nudged(&self, policy: &Policy) -> bool {
        let rests =
            self.history.last_attempt_at.is_some_and(|last| self.history.observed_at - last < policy.nudge_delay);
        self.history.attempts < policy.nudges_max && !rests
    }

    /// For how long the oldest command has been queued.
    fn command_pending_for(&self) -> Option<TimeDelta> {
        self.session.pending_command_since.map(|since| self.history.observed_at - since)
    }
}

impl Facts for SessionFacts {
    fn definition(&self, policy: &Policy) -> (Finding, Vec<Clause>) {
        let finding = self.suspicion(policy);
        let Session { status, declared_wait, .. } = &self.session;
        let mut clauses = vec![Clause::new(
            "it is active",
            humanize(status),
            (status != "active").then(|| Reason::NotInProgress(status.clone())),
        )];
        clauses.extend(self.issue_is_not_finished());
        clauses.push(no_wait_is_declared(declared_wait.as_deref()));
        clauses.push(self.no_command_is_pending(policy));
        clauses.extend(self.clauses_of(finding, policy));
        (finding, clauses)
    }

    /// A wait that somebody declares is an answer. That its issue became a person's is none: a sweep may have done
    /// that.
    fn withholds_recovery(&self, policy: &Policy) -> Option<Reason> {
        let is_a_persons = |issue: &LinkedIssue| matches!(issue.status.as_str(), "blocked" | "in_review");
        self.issue.as_ref().filter(|issue| is_a_persons(issue))?;
        self.diagnose(policy).err().filter(|reason| matches!(reason, Reason::DeclaredWait(_)))
    }

    fn allowance(&self, policy: &Policy) -> RetryBudget {
        let (remedy, attempts_max) = match (self.suspicion(policy), policy.auto_relaunch) {
            (Finding::Crashed, true) => (ContinueBy::Relaunch, policy.relaunches_max),
            (Finding::Crashed, false) => (ContinueBy::Relaunch, 0),
            (Finding::Waiting | Finding::NoProgress, _) => (ContinueBy::Nudge, 0),
            _ if !self.session.takes_commands => (ContinueBy::Nudge, 0),
            _ => (ContinueBy::Nudge, policy.nudges_max),
        };
        RetryBudget { remedy, attempts_max, delay: policy.nudge_delay }
    }

    /// Only time shows that a nudge did not help, and that a relaunch did not arrive; a crash shows it at once.
    fn last_attempt_may_help(&self, policy: &Policy) -> bool {
        let is_not_up = |open: &OpenRecovery| self.session.started_at <= open.since;
        self.session.ended.is_none() || policy.auto_relaunch && self.history.open.as_ref().is_some_and(is_not_up)
    }

    fn unreachable(&self, policy: &Policy) -> Option<Cause> {
        let is_ignored = self.command_pending_for().is_some_and(|age| policy.nudge_delay < age);
        match (self.suspicion(policy), self.question()) {
            (Finding::Crashed, _) if !policy.auto_relaunch => {
                self.session.ended.map(|ended| Cause::Crashed(ended.describe()))
            }
            (Finding::Waiting, Some(agent)) => Some(Cause::Asks(agent.describe())),
            (Finding::NoProgress, _) => Some(Cause::NoProgress),
            _ if !self.session.takes_commands => Some(Cause::NoChannel),
            _ if is_ignored => Some(Cause::NotDelivered),
            (Finding::Silent | Finding::Looping, _) if !self.session.takes_nudges && self.may_be_nudged(policy) => {
                Some(Cause::NotAtPrompt)
            }
            _ => None,
        }
    }

    fn escalations_per_day_max(&self, policy: &Policy) -> u32 {
        let others = policy.attempts_per_day_max.max(1);
        if self.question().is_some() { others.max(QUESTIONS_PER_DAY_MAX) } else { others }
    }

    fn agent_state(&self) -> Option<&AgentState> {
        self.session.agent.as_ref()
    }

    fn assignee(&self) -> &Assignee {
        &self.assignee
    }

    fn history(&self) -> &History {
        &self.history
    }
}

/// The echo of a nudge, or a word in answer, is no end of a loop that was seen on the same screen.
fn looped_lately(output: &[String]) -> bool {
    (1..output.len().min(ANSWER_MAX)).any(|cut| detect_loop(&output[..output.len() - cut]).is_some())
}

#[cfg(test)]
mod tests;
