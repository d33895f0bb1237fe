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
//! Something is done only when no command is on its way to it. An agent that waits for a person is never typed to or
//! started again; one without progress is not either, since only a person can see why.

use chrono::{DateTime, TimeDelta, Utc};

use super::display::{HumanDuration, Quote, format_utc, humanize, linked};
use super::facts::{no_run_is_live, no_wait_is_declared, no_wake_is_pending};
use super::issue::tried;
pub use super::subject::{Activity, AgentState, Ended, phrase};
use super::{
    Assignee, Cause, Clause, ContinueBy, Facts, Finding, History, Id, Loop, OpenRecovery, Policy, Reason, RetryBudget,
    UnendedRuns, detect_loop,
};

/// The statuses of an issue on which no session works any more.
pub(super) const FINISHED: [&str; 2] = ["done", "cancelled"];

/// How often people may be notified in a day that one session waits for them: each question is another one, and a
/// screen that flickers is none.
const QUESTIONS_PER_DAY_MAX: u32 = 24;

/// More lines than the echo of a nudge and a word in answer have.
const ANSWER_MAX: usize = 20;

/// A process that was relaunched shows progress once it has been active for longer.
// decisions.md#a-relaunch-proves-itself
const PROVEN_AFTER: TimeDelta = TimeDelta::minutes(5);

/// The longest time that is shown in brief: a longer one would take more columns.
const SHOWN_MAX: TimeDelta = TimeDelta::days(999);

/// One session of an agent, as its rows show it.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// True if its supervisor reports progress apart from other signs of life.
    pub reports_progress: bool,
    /// None while its process runs.
    pub ended: Option<Ended>,
    /// Its own threshold.
    pub silent_after: Option<TimeDelta>,
    /// The last lines of its output, oldest first. Facts do not keep them: of many sessions they take much memory.
    pub recent_output: Vec<String>,
    /// True if it can be nudged and relaunched.
    pub takes_commands: bool,
    /// True if something may be typed into it now, as its supervisor knows.
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
    /// True if a run, or another session, is at work on it.
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

    /// Adds the loop that the session's output shows, and the signs of life and progress that it shows itself. Neither
    /// the output of a loop nor the first minutes of a process that was relaunched are progress.
    // decisions.md#only-progress-ends-an-episode, decisions.md#a-looping-session-is-never-quiet
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

    /// What the session is examined for.
    fn suspicion(&self, policy: &Policy) -> Finding {
        let is_silent = self.threshold(policy) < self.history.observed_at - self.session.active_at;
        match (&self.session.ended, &self.repeats) {
            (Some(_), _) => Finding::Crashed,
            (None, _) if self.question().is_some() => Finding::Waiting,
            (None, _) if is_silent => Finding::Silent,
            (None, Some(_)) => Finding::Looping,
            (None, None) if self.reports_progress() => Finding::NoProgress,
            (None, None) => Finding::Silent,
        }
    }

    /// What its agent waits for, if it is a person.
    pub(super) fn question(&self) -> Option<&AgentState> {
        self.session.agent.as_ref().filter(|agent| agent.activity.needs_person())
    }

    /// True if `session_no_progress_after` applies: a host's runs have thresholds of their own.
    fn reports_progress(&self) -> bool {
        self.session.reports_progress && self.session.takes_commands
    }

    fn threshold(&self, policy: &Policy) -> TimeDelta {
        let default = if self.session.takes_commands { policy.session_silent_after } else { policy.run_silent_after };
        self.session.silent_after.unwrap_or(default)
    }

    /// True if the session would be nudged now, if it took nudges.
    fn may_be_nudged(&self, policy: &Policy) -> bool {
        let rests =
            self.history.last_attempt_at.is_some_and(|last| self.history.observed_at - last < policy.nudge_delay);
        self.history.attempts < policy.nudges_max && !rests
    }

    /// For how long the oldest command has been queued.
    fn command_pending_for(&self) -> Option<TimeDelta> {
        self.session.pending_command_since.map(|since| self.history.observed_at - since)
    }

    pub(super) fn issue_is_not_finished(&self) -> Option<Clause> {
        let status = &self.issue.as_ref()?.status;
        let is_finished = FINISHED.contains(&status.as_str());
        let failure = is_finished.then(|| Reason::IssueFinished(status.clone()));
        Some(Clause::new("its issue is not finished", humanize(status), failure))
    }

    /// The clause that no command is on its way. One that nobody takes for `nudge_delay` is `unreachable`.
    fn no_command_is_pending(&self, policy: &Policy) -> Clause {
        let pending = self.command_pending_for();
        let found = pending.map_or("none".to_owned(), |age| format!("one, for {}", HumanDuration(age)));
        let is_on_its_way = pending.is_some_and(|age| age <= policy.nudge_delay);
        Clause::new("no command is on its way to it", found, is_on_its_way.then_some(Reason::PendingCommand))
    }

    fn clauses_of(&self, finding: Finding, policy: &Policy) -> Vec<Clause> {
        let now = self.history.observed_at;
        let lasts = |demand: &str, since: DateTime<Utc>, threshold: TimeDelta| {
            let found = format!("{}, since {}", HumanDuration(now - since), format_utc(since));
            let failure = (now - since <= threshold).then_some(Reason::Recent);
            Clause::new(format!("{demand} for longer than {}", HumanDuration(threshold)), found, failure)
        };
        let (threshold, Session { progressed_at, active_at, ended, .. }) = (self.threshold(policy), &self.session);
        match (finding, ended, &self.repeats, self.question()) {
            (Finding::Crashed, Some(ended), ..) => self.clauses_of_end(ended, policy),
            (Finding::Waiting, _, _, Some(agent)) => vec![
                Clause::new("its agent waits for a person", agent.describe(), None),
                lasts("it has done so", agent.since, policy.session_waiting_after),
            ],
            (Finding::Looping, _, Some(repeats), _) => vec![
                Clause::new("its last lines repeat", repeats.to_string(), None),
                lasts("it made no progress", *progressed_at, threshold),
            ],
            (Finding::NoProgress, ..) => {
                vec![lasts("it made no progress", *progressed_at, policy.session_no_progress_after)]
            }
            _ => vec![lasts("it showed no sign of life", *active_at, threshold)],
        }
    }

    fn clauses_of_end(&self, ended: &Ended, policy: &Policy) -> Vec<Clause> {
        let is_past = ended.at <= self.history.observed_at;
        let (has_live_run, wake) =
            self.issue.as_ref().map_or((false, None), |issue| (issue.has_live_run, issue.pending_wake_since));
        let runs = UnendedRuns { has_live_run, ..UnendedRuns::default() };
        vec![
            Clause::new(
                "its process has ended",
                format!("at {}", format_utc(ended.at)),
                (!is_past).then_some(Reason::Recent),
            ),
            Clause::new(
                "it did not end well",
                ended.describe(),
                (ended.exit_code == Some(0)).then_some(Reason::EndedWell),
            ),
            no_run_is_live(&runs, None, self.history.observed_at, policy),
            no_wake_is_pending(&self.history, wake, None, policy),
        ]
    }

    /// What is wrong with the session, in a sentence.
    pub fn happened(&self, policy: &Policy) -> String {
        let now = self.history.observed_at;
        let Session { ended, active_at, progressed_at, .. } = &self.session;
        let no_progress_for = HumanDuration(now - *progressed_at);
        match (self.suspicion(policy), ended, self.question()) {
            (Finding::Waiting, _, Some(agent)) => format!("It {}.", agent.describe()),
            (Finding::Crashed, Some(ended), _) => {
                format!("It crashed {}, {} ago.", ended.describe(), HumanDuration(now - ended.at))
            }
            (Finding::Looping, ..) => format!("It repeats itself and made no progress for {no_progress_for}."),
            (Finding::NoProgress, ..) => format!("It moves, and did nothing new for {no_progress_for}."),
            _ => format!("It showed no sign of life for {}.", HumanDuration(now - *active_at)),
        }
    }
}

impl SessionFacts {
    /// What is wrong with the session, in at most 18 columns and in no word of the session's own: `silent 12m`.
    pub fn in_brief(&self, policy: &Policy) -> String {
        let for_so_long = |since: DateTime<Utc>| {
            let lasted = HumanDuration((self.history.observed_at - since).min(SHOWN_MAX)).to_string();
            lasted.split(' ').next().unwrap_or_default().to_owned()
        };
        match (self.suspicion(policy), self.question()) {
            (Finding::Waiting, Some(AgentState { activity: Activity::Exhausted, kind, .. })) => match kind.as_deref() {
                Some("context") => "no context".to_owned(),
                Some("quota") => "no quota".to_owned(),
                Some(_) | None => "exhausted".to_owned(),
            },
            (Finding::Waiting, _) => "asks you".to_owned(),
            (Finding::Crashed, _) => "crashed".to_owned(),
            (Finding::Looping, _) => "loop".to_owned(),
            (Finding::NoProgress, _) => format!("no progress {}", for_so_long(self.session.progressed_at)),
            _ => format!("silent {}", for_so_long(self.session.active_at)),
        }
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
    // decisions.md#the-last-nudge-has-its-delay
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

/// True if the output was a loop a few lines ago: the echo of a nudge, or a word in answer, is no end of it.
fn looped_lately(output: &[String]) -> bool {
    (1..output.len().min(ANSWER_MAX)).any(|cut| detect_loop(&output[..output.len() - cut]).is_some())
}

/// The comment of an escalation on the session's issue. Markdown. It quotes the question that the agent asks, and
/// nothing else of the session's output, which may hold anything. The session's name is a link to its page, if it has
/// one.
pub fn escalation_comment(
    facts: &SessionFacts,
    cause: &Cause,
    policy: &Policy,
    quote: Quote,
    url: Option<&str>,
) -> String {
    let Session { title, identifier, id, .. } = &facts.session;
    let name = linked(quote(identifier.as_ref().unwrap_or(&id.0)), url);
    let agent = match &facts.assignee {
        Assignee::Agent { name: Some(name), .. } => format!(" of {}", quote(name)),
        Assignee::Agent { .. } | Assignee::Nobody => String::new(),
    };
    let session = format!("Session {name}{agent}, running {}", quote(title));
    let happened = facts.happened(policy);
    if let (Finding::Waiting, Some(agent)) = (facts.suspicion(policy), facts.question()) {
        let question = if agent.question.is_empty() { String::new() } else { format!(": {}", quote(&agent.question)) };
        let phrase = agent.phrase();
        return format!(
            "**A session waits for a person.** {session}, {phrase}{question}.\n\n\
             What you can do: look at it and answer it. Nothing was typed into it."
        );
    }
    format!(
        "**A session needs a person.** {session}, is stuck. {happened}\n\n\
         Tried: {tried} ({cause}).\n\n\
         What you can do: look at it and answer it, end it, or start it again. It was left as it is.",
        tried = tried(facts.history.attempts, facts.history.last_attempt_at),
    )
}

#[cfg(test)]
mod tests;
