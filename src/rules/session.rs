//! A session of an agent is *crashed*, *looping* or *silent* only while it is active, declares no wait (its stall
//! detection is paused, or its issue waits), and its issue, if it has one, is not finished. Then it is
//! - *crashed* if and only if its process has ended, and not with exit code 0, and nobody else continues its issue: no run
//!   is live for it, and no wake pending;
//! - *silent* if and only if its process runs and showed no sign of life for longer than its threshold;
//! - *looping* if and only if it is not silent, its last lines repeat (`loops`), and it made no progress for longer than
//!   its threshold.
//!
//! The threshold is its own, else `session_silent_after`; for a session that takes no commands, `run_silent_after`.
//! Something is done only when no command is on its way to it.
//!
//! Any activity after a stall is progress, with two exceptions: the output of a loop, as long as it is among the last lines,
//! and the first minutes of a process that was relaunched, else one that crashes at every start would be so for ever.

use chrono::{DateTime, TimeDelta, Utc};

use super::clause::{no_run_is_live, no_wait_is_declared};
use super::issue::tried;
use super::words::{Quote, Spoken, moment, spaced};
use super::{
    Allowance, Assignee, Cause, Clause, Facts, Finding, History, Id, Loop, OpenRecovery, Policy, Reason, Remedy,
    detect_loop,
};

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
    /// When its present process was started.
    pub started_at: DateTime<Utc>,
    /// Its latest sign of life: output, a tool, a message.
    pub active_at: DateTime<Utc>,
    /// Its latest step forward: output that was no repetition.
    pub progressed_at: DateTime<Utc>,
    /// None while its process runs.
    pub ended: Option<Ended>,
    /// Its own threshold.
    pub silent_after: Option<TimeDelta>,
    /// The last lines of its output, oldest first.
    pub recent_output: Vec<String>,
    /// Can it be nudged and relaunched?
    pub takes_commands: bool,
    /// Creation of the oldest command that is queued.
    pub pending_command_since: Option<DateTime<Utc>>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    pub at: DateTime<Utc>,
    /// Null: by a signal, or nobody saw it.
    pub exit_code: Option<i32>,
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
    /// `history`: its episode as the ledger alone tells it, since the last escalation or recovery.
    pub fn new(
        session: Session,
        tenant: String,
        assignee: Assignee,
        issue: Option<LinkedIssue>,
        mut history: History,
    ) -> SessionFacts {
        let repeats = detect_loop(&session.recent_output);
        let is_out_of_it = repeats.is_none() && (history.open.is_none() || !looped_lately(&session.recent_output));
        let sign = if is_out_of_it { session.active_at } else { session.progressed_at };
        history.idle_since = session.ended.map_or(sign, |ended| ended.at);
        let was_relaunched =
            !history.escalated && history.open.as_ref().is_some_and(|open| open.since < session.started_at);
        if !was_relaunched || PROVEN_AFTER < sign - session.started_at {
            history.progressed(sign);
        }
        SessionFacts { session, tenant, assignee, issue, history, repeats }
    }

    /// What it is examined for.
    fn suspicion(&self, policy: &Policy) -> Finding {
        match (&self.session.ended, &self.repeats) {
            (Some(_), _) => Finding::Crashed,
            (None, Some(_)) if !self.is_silent(policy) => Finding::Looping,
            (None, _) => Finding::Silent,
        }
    }

    fn threshold(&self, policy: &Policy) -> TimeDelta {
        let default = if self.session.takes_commands { policy.session_silent_after } else { policy.run_silent_after };
        self.session.silent_after.unwrap_or(default)
    }

    fn is_silent(&self, policy: &Policy) -> bool {
        self.threshold(policy) < self.history.observed_at - self.session.active_at
    }

    /// For how long the oldest command has been queued.
    fn command_pending_for(&self) -> Option<TimeDelta> {
        self.session.pending_command_since.map(|since| self.history.observed_at - since)
    }

    fn issue_is_not_finished(&self) -> Option<Clause> {
        let status = &self.issue.as_ref()?.status;
        let is_finished = matches!(status.as_str(), "done" | "cancelled");
        let failure = is_finished.then(|| Reason::IssueFinished(status.clone()));
        Some(Clause::new("its issue is not finished", spaced(status), failure))
    }

    /// Any age is enough for a command that is on its way; what nobody takes is `unreachable`.
    fn no_command_is_pending(&self, policy: &Policy) -> Clause {
        let pending = self.command_pending_for();
        let found = pending.map_or("none".to_owned(), |age| format!("one, for {}", Spoken(age)));
        let is_on_its_way = pending.is_some_and(|age| age <= policy.nudge_delay);
        Clause::new("no command is on its way to it", found, is_on_its_way.then_some(Reason::PendingCommand))
    }

    fn clauses_of(&self, finding: Finding, policy: &Policy) -> Vec<Clause> {
        let threshold = self.threshold(policy);
        let quiet = |demand: &str, since: DateTime<Utc>| {
            let is_over = threshold < self.history.observed_at - since;
            let found = format!("{}, since {}", Spoken(self.history.observed_at - since), moment(since));
            Clause::new(
                format!("{demand} for longer than {}", Spoken(threshold)),
                found,
                (!is_over).then_some(Reason::Recent),
            )
        };
        match (finding, &self.session.ended, &self.repeats) {
            (Finding::Crashed, Some(ended), _) => self.clauses_of_end(ended, policy),
            (Finding::Looping, _, Some(repeats)) => vec![
                Clause::new("its last lines repeat", repeats.to_string(), None),
                quiet("it made no progress", self.session.progressed_at),
            ],
            _ => vec![quiet("it showed no sign of life", self.session.active_at)],
        }
    }

    fn clauses_of_end(&self, ended: &Ended, policy: &Policy) -> Vec<Clause> {
        let is_past = ended.at <= self.history.observed_at;
        let (has_live_run, wake) =
            self.issue.as_ref().map_or((false, None), |issue| (issue.has_live_run, issue.pending_wake_since));
        vec![
            Clause::new(
                "its process has ended",
                format!("at {}", moment(ended.at)),
                (!is_past).then_some(Reason::Recent),
            ),
            Clause::new(
                "it did not end well",
                ended.describe(),
                (ended.exit_code == Some(0)).then_some(Reason::EndedWell),
            ),
            no_run_is_live(has_live_run),
            self.history.no_wake_is_pending(wake, policy),
        ]
    }
}

/// The echo of a nudge, or a word in answer, is no end of a loop that was seen on the same screen.
fn looped_lately(output: &[String]) -> bool {
    (1..output.len().min(ANSWER_MAX)).any(|cut| detect_loop(&output[..output.len() - cut]).is_some())
}

impl Ended {
    fn describe(&self) -> String {
        self.exit_code.map_or("by a signal, or unseen".to_owned(), |code| format!("with exit code {code}"))
    }
}

impl Facts for SessionFacts {
    fn definition(&self, policy: &Policy) -> (Finding, Vec<Clause>) {
        let finding = self.suspicion(policy);
        let Session { status, declared_wait, .. } = &self.session;
        let mut clauses = vec![
            Clause::new(
                "it is active",
                spaced(status),
                (status != "active").then(|| Reason::NotInProgress(status.clone())),
            ),
            no_wait_is_declared(declared_wait.as_deref()),
        ];
        clauses.extend(self.issue_is_not_finished());
        clauses.push(self.no_command_is_pending(policy));
        clauses.extend(self.clauses_of(finding, policy));
        (finding, clauses)
    }

    /// A wait that somebody declares is an answer. That its issue became a person's is none: a sweep may have done that.
    fn withholds_recovery(&self, policy: &Policy) -> Option<Reason> {
        let is_a_persons = |issue: &LinkedIssue| matches!(issue.status.as_str(), "blocked" | "in_review");
        self.issue.as_ref().filter(|issue| is_a_persons(issue))?;
        self.diagnose(policy).err().filter(|reason| matches!(reason, Reason::DeclaredWait(_)))
    }

    fn allowance(&self, policy: &Policy) -> Allowance {
        let (remedy, attempts_max) = match (self.suspicion(policy), policy.auto_relaunch) {
            (Finding::Crashed, true) => (Remedy::Relaunch, policy.relaunches_max),
            (Finding::Crashed, false) => (Remedy::Relaunch, 0),
            _ if !self.session.takes_commands => (Remedy::Nudge, 0),
            _ => (Remedy::Nudge, policy.nudges_max),
        };
        Allowance { remedy, attempts_max, delay: policy.nudge_delay }
    }

    /// Only time shows that a nudge did not help, and that a relaunch did not arrive.
    fn last_attempt_may_help(&self, policy: &Policy) -> bool {
        let is_not_up = |open: &OpenRecovery| self.session.started_at <= open.since;
        self.session.ended.is_none() || policy.auto_relaunch && self.history.open.as_ref().is_some_and(is_not_up)
    }

    fn unreachable(&self, policy: &Policy) -> Option<Cause> {
        let is_ignored = self.command_pending_for().is_some_and(|age| policy.nudge_delay < age);
        match self.session.takes_commands {
            false => Some(Cause::NoChannel),
            true => is_ignored.then_some(Cause::NotDelivered),
        }
    }

    fn assignee(&self) -> &Assignee {
        &self.assignee
    }

    fn history(&self) -> &History {
        &self.history
    }
}

/// The comment of an escalation on the linked issue. Markdown; the session's output and its last tool stay out of it: they
/// may hold anything.
pub fn escalation_comment(facts: &SessionFacts, cause: Cause, policy: &Policy, quote: Quote) -> String {
    let Session { title, identifier, id, ended, .. } = &facts.session;
    let idle = Spoken(facts.history.idle_for());
    let happened = match (facts.suspicion(policy), ended) {
        (Finding::Crashed, Some(ended)) => format!("Its process ended {}, {idle} ago.", ended.describe()),
        (Finding::Looping, _) => format!("It repeats itself and made no progress for {idle}."),
        _ => format!("It showed no sign of life for {idle}."),
    };
    format!(
        "**A session needs a person.** Session {name}, running {title}, is stuck. {happened}\n\n\
         Tried: {tried} ({cause}).\n\n\
         What you can do: look at it and answer it, end it, or start it again. It was left as it is.",
        name = quote(identifier.as_ref().unwrap_or(&id.0)),
        title = quote(title),
        tried = tried(&facts.history),
    )
}

#[cfg(test)]
mod tests;
