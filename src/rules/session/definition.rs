//! The clauses of a session's definition.

use chrono::{DateTime, TimeDelta, Utc};

use super::{Ended, FINISHED, Session, SessionFacts};
use crate::rules::clause::{no_run_is_live, no_wake_is_pending};
use crate::rules::display::{HumanDuration, format_utc, humanize};
use crate::rules::{Clause, Finding, Policy, Reason};

impl SessionFacts {
    pub(in crate::rules) fn issue_is_not_finished(&self) -> Option<Clause> {
        let status = &self.issue.as_ref()?.status;
        let is_finished = FINISHED.contains(&status.as_str());
        let failure = is_finished.then(|| Reason::IssueFinished(status.clone()));
        Some(Clause::new("its issue is not finished", humanize(status), failure))
    }

    /// Any age is enough for a command that is on its way; what nobody takes is `unreachable`.
    pub(super) fn no_command_is_pending(&self, policy: &Policy) -> Clause {
        let pending = self.command_pending_for();
        let found = pending.map_or("none".to_owned(), |age| format!("one, for {}", HumanDuration(age)));
        let is_on_its_way = pending.is_some_and(|age| age <= policy.nudge_delay);
        Clause::new("no command is on its way to it", found, is_on_its_way.then_some(Reason::PendingCommand))
    }

    pub(super) fn clauses_of(&self, finding: Finding, policy: &Policy) -> Vec<Clause> {
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
            no_run_is_live(has_live_run, None),
            no_wake_is_pending(&self.history, wake, None, policy),
        ]
    }
}
