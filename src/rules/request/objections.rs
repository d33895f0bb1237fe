//! What would be wrong now about a request, for each kind of subject.

use super::{Refusal, Request, Requested, first_failure};
use crate::rules::clause::no_wake_is_pending;
use crate::rules::display::humanize;
use crate::rules::issue::IssueFacts;
use crate::rules::session::SessionFacts;
use crate::rules::step::{StepFacts, is_open};
use crate::rules::{Cause, Facts, Policy, Reason};

impl Requested for IssueFacts {
    fn objection(&self, _request: Request, policy: &Policy) -> Option<Refusal> {
        // A person has an issue started that is to do and that nothing else will start, and one that its host blocked
        // and says how to go on with.
        let is_blocked_by_host = self.status == "blocked" && self.resume_commands.is_some();
        let is_to_do = self.status == "todo" && (self.unstarted.is_some() || self.declared_wait.is_some());
        let of_status = usize::from(is_to_do || is_blocked_by_host);
        let clauses = self.definition(policy).1.into_iter().skip(of_status);
        let wrong = first_failure(clauses.collect()).map(|reason| match reason {
            Reason::NotInProgress(status) if status == "blocked" => {
                Refusal::new("it is blocked", format!("it is unblocked: {}", self.resume_advice))
            }
            // What is no patience of a sweep's is its host's time.
            Reason::Recent => Refusal::new(
                "its last run ended a moment ago, and its host may be about to say what follows",
                format!("time: its host has {}s", self.run_end_grace.num_milliseconds() as f64 / 1000.0),
            ),
            reason => reason.into(),
        });
        wrong.or_else(|| {
            let refusal = Refusal::new(self.unreachable.clone()?, self.resume_advice.clone());
            Some(Refusal { host_commands: self.resume_commands.clone(), ..refusal })
        })
    }
}

impl Requested for StepFacts {
    fn objection(&self, request: Request, policy: &Policy) -> Option<Refusal> {
        if request.remedy().is_some() {
            let wrong = Refusal::of_first(self.definition(policy).1);
            return wrong.or_else(|| self.unreachable(policy).map(Refusal::from));
        }
        let (statuses, expected): (&[&str], _) = match request {
            Request::SkipStep => (&["pending", "in_progress"], "it is pending or in progress"),
            _ => (&["in_progress"], "it is in progress"),
        };
        let wake = no_wake_is_pending(&self.history, self.pending_wake_since, self.pending_wake.as_deref(), policy);
        match (statuses.contains(&self.step.status.as_str()), self.has_live_run, wake.failure) {
            (false, ..) => Some(Refusal::new(format!("it is {}", humanize(&self.step.status)), expected)),
            _ if !is_open(&self.plan_status) => Some(Reason::PlanNotOpen(self.plan_status.clone()).into()),
            (true, true, _) => Some(Reason::LiveRun.into()),
            // Nobody takes up a wake that is stuck.
            (true, false, Some(Reason::PendingWake)) => Some(Reason::PendingWake.into()),
            (true, false, _) => None,
        }
    }
}

impl Requested for SessionFacts {
    fn objection(&self, request: Request, _policy: &Policy) -> Option<Refusal> {
        if request == Request::Resume {
            let advice = "it is paused: sweep pause";
            return (!self.session.is_paused).then(|| Refusal::new("its stall detection is not paused", advice));
        }
        if self.session.status != "active" {
            return Some(Reason::NotInProgress(self.session.status.clone()).into());
        }
        match request {
            Request::Nudge => self.not_to_be_disturbed().or_else(|| self.not_to_be_typed_into()),
            Request::Relaunch => self.not_to_be_disturbed().or_else(|| self.not_to_be_started()),
            Request::Heartbeat => self.session.ended.is_some().then(|| self.has_ended()),
            Request::Pause => {
                self.session.is_paused.then(|| Refusal::new("its stall detection is paused already", PAUSE_ENDS))
            }
            Request::Resume | Request::Wake | Request::FailStep | Request::SkipStep => None,
        }
    }
}

/// What has people and sweeps look after it again.
const PAUSE_ENDS: &str = "its pause ends: sweep resume";

impl SessionFacts {
    /// Any command that is pending keeps another one away, however old it is.
    fn not_to_be_disturbed(&self) -> Option<Refusal> {
        let finished = self.issue_is_not_finished().and_then(|clause| clause.failure);
        let wait = || self.session.declared_wait.clone().map(Reason::DeclaredWait);
        let command = || self.session.pending_command_since.map(|_| Reason::PendingCommand);
        finished.or_else(wait).or_else(command).map(|reason| match reason {
            Reason::DeclaredWait(_) if self.session.is_paused => Refusal::new(reason.to_string(), PAUSE_ENDS),
            reason => reason.into(),
        })
    }

    /// Keys that are typed at a question would answer it.
    fn not_to_be_typed_into(&self) -> Option<Refusal> {
        match self.question() {
            _ if self.session.ended.is_some() => Some(self.has_ended()),
            _ if !self.session.takes_commands => Some(Cause::NoChannel.into()),
            Some(agent) => Some(Cause::Asks(agent.describe()).into()),
            None => (!self.session.takes_nudges).then(|| Cause::NotAtPrompt.into()),
        }
    }

    fn not_to_be_started(&self) -> Option<Refusal> {
        let Some(ended) = &self.session.ended else {
            return Some(Refusal::new("its process runs", "its process ends; to type something into it: sweep nudge"));
        };
        let issue = self.issue.as_ref();
        match ended.exit_code {
            Some(0) => Some(Reason::EndedWell.into()),
            _ if !self.session.takes_commands => Some(Cause::NoChannel.into()),
            _ if issue.is_some_and(|issue| issue.has_live_run) => {
                Some(Refusal::new("somebody else is at work on its issue", "that work ends"))
            }
            _ if issue.is_some_and(|issue| issue.pending_wake_since.is_some()) => Some(Refusal::new(
                "a wake for its issue is pending, or another of its sessions is being started",
                "that is taken up, or cancelled",
            )),
            _ => None,
        }
    }

    fn has_ended(&self) -> Refusal {
        let how = self.session.ended.map(|ended| ended.describe()).unwrap_or_default();
        Refusal::new(format!("its process has ended {how}"), "it is started again: sweep relaunch")
    }
}
