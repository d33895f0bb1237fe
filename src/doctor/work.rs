//! Whether sweeps run, and what waits for a person because of that: as `sweep status` reads it.

use super::diagnosis::{CheckName, CheckUp};
use crate::conclusion::Conclusion;
use crate::rules::display::{HumanDuration, counted};
use crate::store::Timeouts;
use crate::store::connect::databases::Found;
use crate::store::read::overview::{LATE, Notifications, Overview, OverviewRequest, PageRequest, Status, SweeperState};

pub fn check(found: &Found, timeouts: &Timeouts) -> Vec<CheckUp> {
    let request = OverviewRequest { page: PageRequest { after: None, limit: 1 }, ..OverviewRequest::default() };
    match Overview::<Status>::read_from(found, &request, timeouts) {
        Err(error) => vec![CheckUp::failed(CheckName::Schedule, &error, "see the exit codes of docs/runbook.md")],
        Ok(overview) => vec![
            check_schedule(&overview),
            check_guard(&overview),
            check_quarantine(&overview.part),
            check_wakes(&overview.part),
            check_notifications(&overview.part.notifications),
        ],
    }
}

fn check_schedule(overview: &Overview<Status>) -> CheckUp {
    const NAME: CheckName = CheckName::Schedule;
    let sweeper = &overview.sweeper;
    let interval = sweeper.interval_seconds.map(|seconds| format!(" One begins every {}.", seconds_in_words(seconds)));
    let summary = format!("{}{}", sweeper.summary, interval.unwrap_or_default());
    let dead =
        "is it still scheduled? `systemctl list-timers sweep.timer` and the section SweepLate of docs/runbook.md";
    let problem = |found: String, advice: &str| CheckUp::problem(NAME, Conclusion::SomeFailed, found, advice);
    let is_held = !sweeper.left_alone.guard.is_empty();
    match (sweeper.state, sweeper.silence(overview.observed_at)) {
        (SweeperState::Well, _) => CheckUp::ok(NAME, summary),
        (SweeperState::Late, _) => problem(summary, dead),
        (SweeperState::Failing, _) | (SweeperState::Never, None) if is_held => {
            CheckUp::warning(NAME, summary, "sweeps run: see the guard below")
        }
        (SweeperState::Failing, _) => problem(summary, "see the section SweepFailing of docs/runbook.md"),
        (SweeperState::Never, Some(age)) => {
            problem(format!("{summary} The last one of any kind began {} ago.", HumanDuration(age)), dead)
        }
        (SweeperState::Never, None) if sweeper.sweeps.is_empty() => CheckUp::warning(
            NAME,
            "no sweep has run yet",
            "`sweep` runs one; `sweep init` sets a schedule up: see step 7 of docs/start.md",
        ),
        (SweeperState::Never, None) => {
            CheckUp::warning(NAME, summary, "in shadow none does: see the section The first week of docs/operating.md")
        }
    }
}

fn seconds_in_words(seconds: i64) -> HumanDuration {
    HumanDuration(chrono::TimeDelta::seconds(seconds))
}

fn check_guard(overview: &Overview<Status>) -> CheckUp {
    match overview.sweeper.left_alone.guard.as_slice() {
        [] => CheckUp::ok(CheckName::Guard, "it holds nothing back"),
        [first, rest @ ..] => {
            let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
            let advice = "`sweep --dry-run`, then the verdicts of the guard in docs/runbook.md";
            CheckUp::problem(CheckName::Guard, Conclusion::Guarded, format!("{}{more}", first.why), advice)
        }
    }
}

fn check_quarantine(status: &Status) -> CheckUp {
    match status.quarantined_total {
        0 => CheckUp::ok(CheckName::Quarantine, "nothing is in it"),
        n => CheckUp::problem(
            CheckName::Quarantine,
            Conclusion::SomeFailed,
            format!("{} in it: sweeps look at it no more", counted(n, "subject is", "subjects are")),
            "`sweep quarantine list`; once the cause is mended, `sweep quarantine release`",
        ),
    }
}

fn check_wakes(status: &Status) -> CheckUp {
    let (n, limit) = (status.stuck_wakes_total, seconds_in_words(status.wake_stuck_after_seconds));
    let stuck = || format!("{} queued for longer than {limit}", counted(n, "wake is", "wakes are"));
    match (n, status.no_wake_is_taken) {
        (0, _) => CheckUp::ok(CheckName::Wakes, "none is stuck"),
        (_, true) => CheckUp::problem(
            CheckName::Wakes,
            Conclusion::SomeFailed,
            format!("{}, and none was taken up in that time", stuck()),
            "start what runs the agents: see the section SweepNoWakeTaken of docs/runbook.md",
        ),
        (_, false) => CheckUp::warning(
            CheckName::Wakes,
            stuck(),
            "`sweep status` lists them: see the section SweepWakesStuck of docs/runbook.md",
        ),
    }
}

fn check_notifications(notifications: &Notifications) -> CheckUp {
    const NAME: CheckName = CheckName::Notifications;
    let why = |why: Option<&String>| why.map(|why| format!(": {why}")).unwrap_or_default();
    let late = notifications.pending_age_seconds.filter(|age| LATE.num_seconds() < *age);
    match (notifications.dead_total, late) {
        (0, None) => CheckUp::ok(NAME, "none is late or was given up"),
        (0, Some(age)) => CheckUp::warning(
            NAME,
            format!(
                "{}, the oldest for {}{}",
                counted(notifications.pending, "waits", "wait"),
                seconds_in_words(age),
                why(notifications.pending_error.as_ref())
            ),
            "`sweep notify test`: see the section SweepNotificationsStuck of docs/runbook.md",
        ),
        (n, _) => {
            let last = notifications.dead.last().and_then(|dead| dead.last_error.as_ref());
            CheckUp::problem(
                NAME,
                Conclusion::Unavailable,
                format!("{} given up in the last week{}", counted(n, "was", "were"), why(last)),
                "`sweep notify test`: see the section SweepNotificationsDead of docs/runbook.md",
            )
        }
    }
}
