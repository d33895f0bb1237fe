//! An issue is *orphaned* if and only if it is in progress, assigned to an agent and not to a user, no run of it is
//! live, no wake for it is pending, it declares no wait, its host is done with its last run and has had its time to say
//! what follows, and it has been idle for longer than `orphan_grace`; without that patience, if its run is lost.
//!
//! Whether the run did good work is not judged here. A run that succeeded and left its issue in progress left an
//! orphan.

use chrono::{DateTime, TimeDelta, Utc};

use super::display::{HumanDuration, Quote, humanize};
use super::facts::{in_progress, no_run_is_live, no_wait_is_declared, no_wake_is_pending};
use super::{
    Assignee, Cause, Clause, Escalation, Facts, Finding, History, Id, Policy, Reason, Unavailable, UnendedRuns,
};

/// One row of the view `issue_facts`.
#[derive(Clone, Debug, PartialEq)]
pub struct IssueFacts {
    pub id: Id,
    pub tenant: String,
    pub identifier: Option<String>,
    pub title: String,
    /// As stored.
    pub status: String,
    pub assignee: Assignee,
    pub assigned_to_user: bool,
    pub runs: UnendedRuns,
    /// Creation of the oldest wake that is queued, deferred or claimed.
    pub pending_wake_since: Option<DateTime<Utc>>,
    /// Which wake that is, and what became of it so far, in a few words.
    pub pending_wake: Option<String>,
    /// What it waits for, in a few words.
    pub declared_wait: Option<String>,
    pub last_run_id: Option<Id>,
    /// When a run of it last ended.
    pub last_run_ended_at: Option<DateTime<Utc>>,
    /// How its latest run that has ended did so, and by whom, in a few words.
    pub last_run_end: Option<String>,
    /// What its host still does about its last run, or has planned, in a few words: a wake of ours would get in its
    /// way.
    pub host_plan: Option<String>,
    /// Why its host would take no wake up, in a few words.
    pub unreachable: Option<String>,
    /// Why nothing will start an issue that is to do, in a few words.
    pub unstarted: Option<String>,
    /// After the end of a run its host has so long to say what follows.
    pub run_end_grace: TimeDelta,
    /// How a person has its agent go on, on this host.
    pub resume_advice: String,
    /// What a person runs for that, if words do not suffice: as the host's facts have it.
    pub resume_commands: Option<String>,
    pub history: History,
}

impl Facts for IssueFacts {
    fn definition(&self, policy: &Policy) -> (Finding, Vec<Clause>) {
        let mut clauses = vec![
            in_progress(&self.status),
            Clause::new(
                "no person has it",
                if self.assigned_to_user { "a person" } else { "nobody" },
                self.assigned_to_user.then_some(Reason::AssignedToUser),
            ),
            Clause::new(
                "an agent is assigned",
                self.assignee.describe(),
                (self.assignee == Assignee::Nobody).then_some(Reason::NoAgentAssigned),
            ),
            no_run_is_live(&self.runs, self.last_run_end.as_deref(), self.history.observed_at, policy),
            no_wake_is_pending(&self.history, self.pending_wake_since, self.pending_wake.as_deref(), policy),
            no_wait_is_declared(self.declared_wait.as_deref()),
            Clause::new(
                "its host is done with its last run",
                self.host_plan.as_deref().unwrap_or("yes"),
                self.host_plan.clone().map(Reason::HostPlans),
            ),
        ];
        clauses.extend(self.host_has_had_its_time(policy));
        clauses.push(self.is_idle_for_long(policy));
        (Finding::Orphaned, clauses)
    }

    /// That somebody set it to work anew while its host takes no wake up starts nothing, and that a wake is queued has
    /// not started it yet.
    fn withholds_recovery(&self, _policy: &Policy) -> Option<Reason> {
        let pending = || self.pending_wake_since.map(|_| Reason::PendingWake);
        self.unreachable.clone().map(Reason::HostPlans).or_else(pending).filter(|_| self.status == "todo")
    }

    fn unreachable(&self, _policy: &Policy) -> Option<Cause> {
        self.unreachable.clone().map(Cause::WakesInVain)
    }

    fn lost_run(&self, policy: &Policy) -> Option<String> {
        self.runs.loss(self.history.observed_at, policy)
    }

    fn assignee(&self) -> &Assignee {
        &self.assignee
    }

    fn history(&self) -> &History {
        &self.history
    }
}

impl IssueFacts {
    /// A host that is about to queue what follows a run does not look for what others queue meanwhile. None: no run has
    /// ended, but one is lost.
    fn host_has_had_its_time(&self, policy: &Policy) -> Option<Clause> {
        let grace = self.run_end_grace;
        let ago = self.last_run_ended_at.map(|ended| self.history.observed_at - ended);
        let is_there = ago.is_some() || !self.runs.are_lost(self.history.observed_at, policy);
        is_there.then(|| {
            Clause::new(
                format!("its last run ended longer than {}s ago", grace.num_milliseconds() as f64 / 1000.0),
                ago.map_or("none has ended".to_owned(), |ago| format!("{} ago", HumanDuration(ago))),
                ago.is_some_and(|ago| ago <= grace).then_some(Reason::Recent),
            )
        })
    }

    /// Nobody goes on with a run that is lost: then it must be idle for no time at all.
    fn is_idle_for_long(&self, policy: &Policy) -> Clause {
        let (grace, demand) = match &self.runs.lost {
            Some(_) => (TimeDelta::zero(), "a run of it is lost, so there is no grace".to_owned()),
            None => {
                let grace = self.grace(policy);
                (grace, format!("it is idle for longer than {}", HumanDuration(grace)))
            }
        };
        let is_quiet = self.history.is_quiet_for_longer_than(grace);
        let failure = (!is_quiet).then_some(Reason::Recent);
        Clause::new(demand, self.history.describe_idleness(), failure).demanding_patience()
    }

    /// For how long it must be idle. That a run has ended is a reason to look sooner only if the row of a run says so:
    /// whoever may connect can send a notification.
    fn grace(&self, policy: &Policy) -> TimeDelta {
        let just_ended = |ended: DateTime<Utc>| self.history.observed_at - ended <= policy.orphan_grace;
        match policy.grace_after_run {
            Some(grace) if self.last_run_ended_at.is_some_and(just_ended) => grace.min(policy.orphan_grace),
            _ => policy.orphan_grace,
        }
    }
}

/// What each comment of an escalated issue begins with, behind what it is about.
pub const NEEDS_A_PERSON: &str = "needs a person";

/// The comment of an escalation: what happened, what was tried, what a person can do. Markdown. What others wrote is
/// quoted in it, once and in one place.
pub fn escalation_comment(facts: &IssueFacts, cause: &Cause, policy: &Policy, quote: Quote) -> String {
    let agent = match &facts.assignee {
        Assignee::Agent { name: Some(name), .. } => quote(name),
        Assignee::Agent { name: None, .. } | Assignee::Nobody => "its agent".to_owned(),
    };
    let moved = match policy.escalation {
        Escalation::CommentAndBlock => " It is now blocked, so that nobody takes it for work under way.",
        Escalation::CommentOnly => "",
    };
    let last = facts.runs.lost.as_ref().or(facts.last_run_end.as_ref());
    let last = last.map(|last| format!(" Its last run: {}.", quote(last))).unwrap_or_default();
    format!(
        "**This issue {NEEDS_A_PERSON}.** It was in progress and assigned to {agent}, but since {since} no run was \
         live, no wake queued and no wait declared.{last}{moved}\n\n\
         Tried: {tried} ({cause}).\n\n\
         What you can do: {action} The assignee was left as it is.",
        since = to_the_minute(facts.history.idle_since),
        tried = tried(facts.history.attempts, facts.history.last_attempt_at),
        action = unblock_action(&facts.resume_advice),
    )
}

/// What a person can do about work whose agent will not go on.
pub(super) const ADVICE_ON_A_LOSS: &str = "Give it to an agent that works, let its agent work again, or close it.";

/// The comment on the issue of work whose agent is gone or terminated. `work`: what it is, as a quotation if others
/// wrote it. Markdown.
pub fn loss_comment(work: &str, why: &Unavailable, idle_since: DateTime<Utc>, quote: Quote) -> String {
    let why = match why {
        Unavailable::Status { name, status } if !name.is_empty() => format!("{} is {}", quote(name), humanize(status)),
        Unavailable::Status { .. } | Unavailable::NoSuchAgent | Unavailable::Obstacle(_) => {
            "its agent is gone".to_owned()
        }
    };
    format!(
        "**No agent goes on with {work}.** It is in progress, but {why}, and nothing has happened since {since}.\n\n\
         What you can do: {action} Until then sweep leaves everything as it is.",
        since = to_the_minute(idle_since),
        action = ADVICE_ON_A_LOSS,
    )
}

/// What a person can do about an issue that was escalated, in one or two sentences; fewer than 2,000 characters.
pub fn unblock_action(resume_advice: &str) -> String {
    format!(
        "Read its last run, then {}. Or say what it waits for, or close it.",
        resume_advice.chars().take(1000).collect::<String>()
    )
}

fn to_the_minute(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

/// What was tried in an episode, in words.
pub fn tried(attempts: u32, last_attempt_at: Option<DateTime<Utc>>) -> String {
    match (attempts, last_attempt_at) {
        (0, _) | (_, None) => "no automatic continuation in this episode".to_owned(),
        (1, Some(last)) => format!("one automatic continuation, at {}", to_the_minute(last)),
        (n, Some(last)) => format!("{n} automatic continuations, the last at {}", to_the_minute(last)),
    }
}
