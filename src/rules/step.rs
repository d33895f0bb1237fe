//! A plan step is *stalled* if and only if it is in progress, its plan is executing or stalled, and it has been in
//! progress for longer than its threshold: its own, else its plan's, else `step_stalled_after`.
//!
//! A stalled step is acted upon only when nothing is on its way: a step whose wake is pending, or on which a run
//! works, is left to them.
//!
//! A control plane of your own asks the same of its steps, without a database and at any moment:
//!
//! ```
//! use chrono::{DateTime, TimeDelta, Utc};
//! use sweep::rules::Id;
//! use sweep::rules::step::{STEP_STALLED_AFTER, Step, detect_stalled_steps, is_plan_stalled};
//!
//! let now: DateTime<Utc> = "2026-11-22T12:00:00Z".parse().unwrap();
//! let before = |minutes| now - TimeDelta::minutes(minutes);
//! let steps = [
//!     Step::new(Id("plan".to_owned()), "completed", Some(before(90)), before(50)),
//!     Step::new(Id("build".to_owned()), "in_progress", Some(before(50)), before(1)),
//!     Step::new(Id("ship".to_owned()), "pending", None, before(90)),
//! ];
//! assert_eq!(detect_stalled_steps(&steps, now, STEP_STALLED_AFTER), [Id("build".to_owned())]);
//! assert!(is_plan_stalled("executing", &steps, now, STEP_STALLED_AFTER));
//! ```

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::display::{HumanDuration, Quote, humanize, linked};
use super::facts::{in_progress, is_in_progress, no_run_is_live, no_wake_is_pending};
use super::issue::tried;
pub use super::policy::STEP_STALLED_AFTER;
use super::{Assignee, Cause, Clause, Facts, Finding, History, Id, Policy, Reason, UnendedRuns};

/// One step of a plan, as it stands. `Step::new` takes all that the rules ask for; people read the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub id: Id,
    pub position: i32,
    pub title: String,
    /// As stored.
    pub status: String,
    pub started_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
    /// Its own threshold, else its plan's.
    pub stalled_after: Option<TimeDelta>,
}

/// The steps that keep a plan stalled: see `StepFacts::holders`.
pub type Holders = Arc<[Option<Id>]>;

/// One row of the view `step_facts`.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFacts {
    pub step: Step,
    pub tenant: String,
    pub identifier: String,
    pub plan_id: Id,
    /// As stored.
    pub plan_status: String,
    pub assignee: Assignee,
    /// The linked issue, where an escalation is written.
    pub issue_id: Option<Id>,
    pub runs: UnendedRuns,
    /// Creation of the oldest wake that is queued, deferred or claimed.
    pub pending_wake_since: Option<DateTime<Utc>>,
    /// Which wake that is, and what became of it so far, in a few words.
    pub pending_wake: Option<String>,
    pub history: History,
    /// Steps that keep the plan stalled, two of them at most; in it, `None` stands for a step that cannot be read, or
    /// for too many steps to look at. Nobody asked: this step recovers no stalled plan.
    pub holders: Option<Holders>,
}

impl Facts for StepFacts {
    fn definition(&self, policy: &Policy) -> (Finding, Vec<Clause>) {
        let is_stalled = self.step.is_stalled(self.history.observed_at, policy.step_stalled_after);
        let threshold = self.step.stalled_after.unwrap_or(policy.step_stalled_after);
        let clauses = vec![
            in_progress(&self.step.status),
            Clause::new(
                "its plan is executing or stalled",
                humanize(&self.plan_status),
                (!is_open(&self.plan_status)).then(|| Reason::PlanNotOpen(self.plan_status.clone())),
            ),
            no_run_is_live(&self.runs, None, self.history.observed_at, policy),
            no_wake_is_pending(&self.history, self.pending_wake_since, self.pending_wake.as_deref(), policy),
            Clause::new(
                format!("it is in progress for longer than {}", HumanDuration(threshold)),
                self.history.describe_idleness(),
                (!is_stalled).then_some(Reason::Recent),
            )
            .demanding_patience(),
        ];
        (Finding::Stalled, clauses)
    }

    /// A plan goes on executing with the last of its stalled steps: until then, what is open keeps the plan in sight.
    fn withholds_recovery(&self, _policy: &Policy) -> Option<Reason> {
        let is_other = |holder: &Option<Id>| holder.as_ref() != Some(&self.step.id);
        let is_held = self.holders.as_ref().is_none_or(|holders| holders.iter().any(is_other));
        (self.plan_status == "stalled" && is_held).then_some(Reason::PlanStillStalled)
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

impl StepFacts {
    /// True if the plan is stalled, and what is open of this step may be settled, or a person may have given the step
    /// up. If not, nobody asks about the other steps of the plan, of which there may be many.
    pub fn may_recover_its_plan(&self) -> bool {
        let is_over = self.history.open.as_ref().is_some_and(|open| self.history.is_newer_than(open));
        let may_recover = !is_in_progress(&self.step.status) || is_over;
        self.plan_status == "stalled" && may_recover
    }

    /// True if the step keeps its plan stalled: it is stalled itself; or it is old, and has not healed since sweep did
    /// something about it.
    pub fn holds_its_plan(&self, policy: &Policy) -> bool {
        let is_old = self.step.is_stalled(self.history.observed_at, policy.step_stalled_after);
        match (self.diagnose(policy), &self.history.open) {
            (Ok(_), _) => true,
            (Err(reason), Some(open)) => is_old && reason.settlement(&self.history, open).is_none(),
            (Err(_), None) => false,
        }
    }
}

impl Step {
    /// The first step of its plan, without a title and without a threshold of its own.
    pub fn new(id: Id, status: &str, started_at: Option<DateTime<Utc>>, updated_at: DateTime<Utc>) -> Step {
        let status = status.to_owned();
        Step { id, position: 1, title: String::new(), status, started_at, updated_at, stalled_after: None }
    }

    /// Since when it is in progress: a step that nobody dated when it was started is as old as its last change.
    pub fn since(&self) -> DateTime<Utc> {
        self.started_at.unwrap_or(self.updated_at)
    }

    /// Whether it is in progress for longer than its own threshold, else this one.
    pub fn is_stalled(&self, now: DateTime<Utc>, threshold: TimeDelta) -> bool {
        is_in_progress(&self.status) && self.stalled_after.unwrap_or(threshold) < now - self.since()
    }
}

/// Only these plans can have stalled steps; `stalled` ↔ `executing` are the only transitions that a sweep makes.
pub(super) fn is_open(plan_status: &str) -> bool {
    matches!(plan_status, "executing" | "stalled")
}

/// The ids of the steps that are in progress for longer than their own threshold, else `threshold`; in the order given.
pub fn detect_stalled_steps(steps: &[Step], now: DateTime<Utc>, threshold: TimeDelta) -> Vec<Id> {
    steps.iter().filter(|step| step.is_stalled(now, threshold)).map(|step| step.id.clone()).collect()
}

/// True if the plan is executing or stalled, with at least one stalled step.
pub fn is_plan_stalled(plan_status: &str, steps: &[Step], now: DateTime<Utc>, threshold: TimeDelta) -> bool {
    is_open(plan_status) && steps.iter().any(|step| step.is_stalled(now, threshold))
}

/// A plan as a status call shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
pub struct PlanStatus {
    /// Its status, as it is stored.
    pub stored: String,
    /// What its status should be: an open plan is `stalled` while one of its steps is, else `executing`.
    pub derived: String,
    /// Whether one of its steps is stalled.
    pub stalled: bool,
    /// How many of its steps are completed or skipped, in percent, rounded; a plan without steps has made none.
    #[cfg_attr(feature = "program", schemars(range(max = 100)))]
    pub progress_percent: u8,
    /// All of its steps, counted.
    pub step_counts: StepCounts,
    /// The position and the title of the first step in progress, else of the first that is pending; null: there is
    /// none.
    pub current_step: Option<(i32, String)>,
    /// For how long the step that is stalled longest has been in progress, in seconds; null: none is.
    pub stuck_seconds: Option<i64>,
}

/// How many steps a plan has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
pub struct StepCounts {
    /// All of them.
    pub total: u64,
    /// Completed or skipped.
    pub done: u64,
    /// In progress.
    pub in_progress: u64,
    /// In progress for longer than their thresholds, while the plan is open.
    pub stalled: u64,
}

impl PlanStatus {
    /// `steps` in the order of their positions.
    pub fn from_steps(stored: &str, steps: &[Step], now: DateTime<Utc>, threshold: TimeDelta) -> PlanStatus {
        let mut progress = PlanProgress::new(now, threshold);
        steps.iter().for_each(|step| progress.add(step));
        progress.status(stored)
    }
}

/// How far a plan is, by its steps: one after the other, since there may be very many.
pub struct PlanProgress {
    now: DateTime<Utc>,
    threshold: TimeDelta,
    counts: StepCounts,
    in_progress: Option<(i32, String)>,
    pending: Option<(i32, String)>,
    /// Since when the step that is stalled longest has been in progress.
    stuck_since: Option<DateTime<Utc>>,
}

impl PlanProgress {
    pub fn new(now: DateTime<Utc>, threshold: TimeDelta) -> PlanProgress {
        PlanProgress {
            now,
            threshold,
            counts: StepCounts::default(),
            in_progress: None,
            pending: None,
            stuck_since: None,
        }
    }

    /// Takes in the next step by its position.
    pub fn add(&mut self, step: &Step) {
        let place = || (step.position, step.title.clone());
        self.counts.total += 1;
        match step.status.as_str() {
            "completed" | "skipped" => self.counts.done += 1,
            "in_progress" => {
                self.counts.in_progress += 1;
                self.in_progress.get_or_insert_with(place);
            }
            "pending" => {
                self.pending.get_or_insert_with(place);
            }
            _ => {}
        }
        if step.is_stalled(self.now, self.threshold) {
            self.counts.stalled += 1;
            self.stuck_since = self.stuck_since.into_iter().chain([step.since()]).min();
        }
    }

    /// The plan's status, after all of its steps.
    pub fn status(self, stored: &str) -> PlanStatus {
        let stuck_since = self.stuck_since.filter(|_| is_open(stored));
        let derived = match (is_open(stored), stuck_since) {
            (true, Some(_)) => "stalled",
            (true, None) => "executing",
            (false, _) => stored,
        };
        let counts = StepCounts { stalled: if is_open(stored) { self.counts.stalled } else { 0 }, ..self.counts };
        PlanStatus {
            stored: stored.to_owned(),
            derived: derived.to_owned(),
            stalled: stuck_since.is_some(),
            progress_percent: (counts.done as f64 * 100.0 / counts.total.max(1) as f64).round() as u8,
            step_counts: counts,
            current_step: self.in_progress.or(self.pending),
            stuck_seconds: stuck_since.map(|since| (self.now - since).num_seconds()),
        }
    }
}

/// The comment of an escalation on the linked issue. Markdown.
pub fn escalation_comment(facts: &StepFacts, cause: &Cause, quote: Quote, url: Option<&str>) -> String {
    format!(
        "**A plan step needs a person.** Step {position} of its plan, {title}, has been in progress for {idle} and \
         nothing is on its way.\n\nTried: {tried} ({cause}).\n\nWhat you can do: finish, skip or restart the step; the \
         plan stays stalled until none of its steps is.",
        position = facts.step.position,
        title = linked(quote(&facts.step.title), url),
        idle = HumanDuration(facts.history.idle_for()),
        tried = tried(facts.history.attempts, facts.history.last_attempt_at),
    )
}

#[cfg(test)]
mod tests;
