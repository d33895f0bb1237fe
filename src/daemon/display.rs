//! What the daemon says of itself: in its log, and to the service manager.

use std::time::Duration;

use chrono::TimeDelta;
use tracing::info;

use super::work::Task;
use super::{Daemon, clock};
use crate::conclusion::Conclusion;
use crate::rules::display::{HumanDuration, format_utc};
use crate::sweep::{Summary, Tally};

impl Daemon {
    /// When it will sweep.
    pub(super) fn log_schedule(&self) {
        let schedule = &self.resolved.options.schedule;
        let at = |at: chrono::DateTime<chrono::Utc>| at.with_timezone(&schedule.zone);
        let shown = |next| at(next).format("%Y-%m-%d %H:%M:%S %Z").to_string();
        let next: Vec<String> = schedule.after(clock::now()).take(3).map(shown).collect();
        let jitter = self.resolved.options.jitter;
        let jitter =
            if jitter.is_zero() { String::new() } else { format!(", each up to {} later", HumanDuration(jitter)) };
        info!("schedule {schedule}, next: {}{jitter}", next.join(", "));
    }

    pub(super) fn report_status(&mut self) {
        let task = self.work.as_ref().map(|work| work.task);
        let now = match (self.is_stopping, self.is_away(), task) {
            (true, ..) => "stopping: waiting for what is in hand".to_owned(),
            (false, true, _) => "waiting for the database".to_owned(),
            (false, false, Some(Task::Sweep | Task::Reaction)) => "sweeping".to_owned(),
            (false, false, Some(Task::Check)) => "looking at the database".to_owned(),
            (false, false, None | Some(Task::Deliver)) => match self.shared.read().counted.next_sweep_at {
                Some(next) => format!("next sweep at {}", format_utc(next)),
                None => "no further sweep is due".to_owned(),
            },
        };
        let last = self.last.as_ref().map(|last| format!("; last: {last}")).unwrap_or_default();
        let refused = self.refused.as_ref().map(|why| format!("; reload refused, the old settings hold: {why}"));
        self.service_manager.status(format!("{now}{last}{}", refused.unwrap_or_default()));
    }
}

/// What the sweeps of so many databases came to, for its status.
pub fn last(swept: &[&Summary], databases: usize) -> String {
    let total = swept.iter().fold(Tally::default(), |total, summary| total.plus(summary.total()));
    let counters = [
        (total.continued, "continued"),
        (total.escalated, "escalated"),
        (total.recovered, "recovered"),
        (total.handed_over, "handed over"),
        (total.abandoned, "abandoned"),
        (total.failed, "failed"),
        (total.deferred, "deferred"),
    ];
    let mut parts: Vec<String> =
        counters.iter().filter(|(n, _)| 0 < *n).map(|(n, outcome)| format!("{n} {outcome}")).collect();
    match databases - swept.len() {
        0 => {}
        _ if databases == 1 => return "failed".to_owned(),
        failed => parts.push(format!("{failed} of {databases} databases failed")),
    }
    if swept.iter().any(|summary| summary.conclusion == Conclusion::Guarded) {
        parts.push("the guard held a kind back".to_owned());
    }
    if parts.is_empty() { "nothing to do".to_owned() } else { parts.join(", ") }
}

pub fn spoken(time: Duration) -> HumanDuration {
    HumanDuration(TimeDelta::from_std(time).unwrap_or_default())
}

pub fn was_or_were(n: usize) -> &'static str {
    if n == 1 { "was" } else { "were" }
}

pub fn changes(names: &[String]) -> String {
    if names.is_empty() { "nothing changed".to_owned() } else { format!("changed: {}", names.join(", ")) }
}
