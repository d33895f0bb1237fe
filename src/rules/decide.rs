//! The one place where it is decided what happens to a subject.

use chrono::TimeDelta;

use super::facts::diagnosis;
use super::{Cause, Clause, Decision, Facts, Finding, History, Policy, Reason, RetryBudget, Unavailable};

/// The finding and the decision for one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What it was examined for, and how it meets each clause.
    pub definition: (Finding, Vec<Clause>),
    pub finding: Option<Finding>,
    pub decision: Decision,
    /// Continuations that an episode may have.
    pub attempts_max: u32,
    /// Which run of it is lost, and how that is known, in words.
    pub lost_run: Option<String>,
}

impl Verdict {
    /// Why it was decided so: a lost run is named, of which the decision alone says that nobody is working on it.
    pub fn reason(&self) -> String {
        self.loss().map_or_else(|| self.decision.to_string(), str::to_owned)
    }

    /// What a sweep does by it, in words.
    pub fn announce(&self) -> String {
        let since = self.loss().map(|lost| format!(", since {lost}")).unwrap_or_default();
        self.decision.announce(self.attempts_max) + &since
    }

    fn loss(&self) -> Option<&str> {
        self.lost_run.as_deref().filter(|_| matches!(self.decision, Decision::Continue { .. }))
    }
}

/// Decides what happens to a subject; nothing else does. The first of these eight steps that applies counts:
/// 1. It healed after an attempt or an escalation: its work goes on or is finished, and it has *recovered*; else its
///    host or a person has it now, and it was *handed over*.
/// 2. Nothing is wrong, since a clause of its definition does not hold: it is *left*.
/// 3. It is exempt: it is *left*.
/// 4. Its agent must not be woken: it is *skipped*. After a while it is *abandoned*: a person is notified, once for
///    each agent that is gone or terminated, and weekly of what may go on one day.
/// 5. A person was notified and has not answered: it is *left*.
/// 6. No attempt is left, in this episode or for this day, and the last one does not help any more; or nothing could
///    reach it: it is *escalated*, so often a day at most.
/// 7. The last attempt is too young for another one: it *waits*.
/// 8. Otherwise it is *continued*.
///
/// ```
/// use chrono::{DateTime, TimeDelta, Utc};
/// use sweep::rules::{Assignee, Clause, ContinueBy, Decision, Facts, Finding, History, Id, Policy, decide};
///
/// /// Work of which every clause holds: it is stalled.
/// struct Stalled(Assignee, History);
///
/// impl Facts for Stalled {
///     fn definition(&self, _: &Policy) -> (Finding, Vec<Clause>) {
///         (Finding::Stalled, Vec::new())
///     }
///     fn assignee(&self) -> &Assignee {
///         &self.0
///     }
///     fn history(&self) -> &History {
///         &self.1
///     }
/// }
///
/// let agent = |status: &str| Assignee::Agent {
///     id: Id("a-1".to_owned()),
///     name: Some("Ada".to_owned()),
///     status: Some(status.to_owned()),
///     obstacle: None,
/// };
/// let now: DateTime<Utc> = "2027-01-15T08:00:00Z".parse().expect("a time");
/// let never_tried = History::never_tried(now - TimeDelta::hours(1), now);
/// let tried = History { attempts: 1, last_attempt_at: Some(now - TimeDelta::minutes(6)), ..never_tried.clone() };
/// let decision = |agent, history| decide(&Stalled(agent, history), &Policy::default()).decision;
///
/// let first_wake = Decision::Continue { attempt: 1, remedy: ContinueBy::Wake };
/// assert_eq!(decision(agent("idle"), never_tried.clone()), first_wake);
/// assert!(matches!(decision(agent("idle"), tried), Decision::Escalate(_)));
/// assert!(matches!(decision(agent("paused"), never_tried), Decision::Skip(_)));
/// ```
pub fn decide(facts: &impl Facts, policy: &Policy) -> Verdict {
    let definition = facts.definition(policy);
    let (finding, decision) = match diagnosis(&definition) {
        Ok(finding) => (Some(finding), treat(facts, policy)),
        Err(reason) => (None, dismiss(facts, reason, policy)),
    };
    let (attempts_max, lost_run) = (facts.allowance(policy).attempts_max, facts.lost_run(policy));
    Verdict { definition, finding, decision, attempts_max, lost_run }
}

/// Steps 1 and 2: nothing is wrong, or not any more.
fn dismiss(facts: &impl Facts, reason: Reason, policy: &Policy) -> Decision {
    let history = facts.history();
    let settlement = history.open.as_ref().and_then(|open| reason.settlement(history, open));
    match settlement.map(|settle| (settle, facts.withholds_recovery(policy))) {
        Some((settle, None)) => settle(reason),
        Some((_, Some(withheld))) => Decision::Leave(withheld),
        None => Decision::Leave(reason),
    }
}

/// Steps 3 to 8: every clause of the definition holds.
fn treat(facts: &impl Facts, policy: &Policy) -> Decision {
    let (history, allowance) = (facts.history(), facts.allowance(policy));
    if let Some(exemption) = history.exemption.as_ref().filter(|exemption| exemption.holds(history.observed_at)) {
        return Decision::Leave(Reason::Exempt(exemption.whose, exemption.reason.clone()));
    }
    match (facts.assignee().unavailable(), facts.unreachable(policy)) {
        // That there is nobody to be woken has a reason, which its host gives: a person is notified of it at once.
        (Some(Unavailable::NoSuchAgent), Some(Cause::WakesInVain(_))) | (None, _) => {}
        (Some(unavailable), _) => return skip(unavailable, facts, policy),
    }
    // Step 5.
    if history.escalated {
        return Decision::Leave(Reason::Escalated);
    }
    // Steps 6 to 8.
    let after_last = history.within(allowance.delay, history.last_attempt_at.max(history.last_attempt_ended_at));
    match (facts.unreachable(policy), after_last) {
        (Some(Cause::WakesInVain(_)), Some(until)) => return Decision::Wait { until },
        (Some(cause), _) => return escalate(cause, facts, policy),
        (None, _) => {}
    }
    let spent = spent(history, &allowance, policy);
    let resting = match &spent {
        Some(_) => after_last.filter(|_| facts.last_attempt_may_help(policy)),
        None => history.within(allowance.delay, history.last_attempt_at),
    };
    match (resting, spent) {
        (Some(until), _) => Decision::Wait { until },
        (None, Some(cause)) => escalate(cause, facts, policy),
        (None, None) => Decision::Continue { attempt: history.attempts + 1, remedy: allowance.remedy },
    }
}

/// When people are notified again of work that cannot go on for now, since what was meant may have been forgotten.
const REMINDED_EVERY: TimeDelta = TimeDelta::days(7);

/// Step 4: its assignee must not be woken; in time a person hears of it, unless one knows already.
fn skip(unavailable: Unavailable, facts: &impl Facts, policy: &Policy) -> Decision {
    let history = facts.history();
    let is_known = match &history.open {
        _ if history.escalated => true,
        Some(_) if history.abandoned && unavailable.is_a_loss() => history.lost_agent.as_ref() == facts.assignee().id(),
        Some(open) if history.abandoned => history.within(REMINDED_EVERY, Some(open.since)).is_some(),
        Some(_) | None => false,
    };
    match !is_known && unavailable.patience(policy).is_over(history.idle_for()) {
        true => Decision::Abandon(unavailable),
        false => Decision::Skip(unavailable),
    }
}

/// Why there is no attempt left.
fn spent(history: &History, allowance: &RetryBudget, policy: &Policy) -> Option<Cause> {
    if allowance.attempts_max <= history.attempts {
        return Some(if allowance.attempts_max == 0 { Cause::NotAllowed } else { Cause::Exhausted });
    }
    (policy.attempts_per_day_max <= history.attempts_last_day).then_some(Cause::TooManyAttempts)
}

fn escalate(cause: Cause, facts: &impl Facts, policy: &Policy) -> Decision {
    match facts.history().escalations_last_day < facts.escalations_per_day_max(policy) {
        true => Decision::Escalate(cause),
        false => Decision::Leave(Reason::Escalated),
    }
}
