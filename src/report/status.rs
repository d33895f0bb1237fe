//! The status for people: what needs attention first, and nothing that there is not; and one plan with its steps.

use anyhow::Result;
use chrono::{DateTime, Utc};
use owo_colors::OwoColorize;

use super::grid::{CELL_MAX, GridRow, age, cells, coloured, duration, joined, kinds, section, with_header};
use super::table::{emptiness, told};
use crate::rules::AHEAD_MAX;
use crate::rules::display::{HumanDuration, counted, format_utc, humanize};
use crate::store::read::overview::{
    Effect, Exemptions, Item, LATE, Notifications, Overview, Status, Stranded, SweepSummary,
};
use crate::store::read::plan::{PlanReport, PlanSummary, STEPS_LISTED_MAX, StepReport};
use crate::store::work::outbox::Event;
use crate::text::{cut, redact};

/// A schedule that has not succeeded for longer has stopped.
const STALE_SECONDS: i64 = 86_400;

/// The whole status. Sections without rows are left out.
pub fn whole(overview: &Overview<Status>) -> String {
    let status = &overview.part;
    let sections = [
        orphans(status),
        escalations(status),
        plans(&status.plans, status.plans_total),
        abandoned(status),
        stuck_wakes(status, overview.observed_at),
        quarantined(status),
        undelivered(&status.notifications),
        kinds(&overview.kinds, exemptions(status.exemptions)),
        sweeps(&overview.sweeper.sweeps, overview.observed_at),
        effect(&status.effect),
    ];
    heading(overview) + &joined(&sections)
}

/// One line about several databases: what needs attention in all of them together.
pub fn of_all(overviews: &[(String, Result<Overview<Status>>)]) -> String {
    let read = || overviews.iter().filter_map(|(_, overview)| overview.as_ref().ok());
    let total = |count: fn(&Status) -> i64, one: &str, many: &str| {
        let total = read().map(|overview| count(&overview.part)).sum();
        (total != 0).then(|| counted(total, one, many))
    };
    let work = [
        total(|status| status.orphans_total, "orphan", "orphans"),
        total(|status| status.escalations_total, "escalation", "escalations"),
        total(|status| status.abandoned_total, "abandoned", "abandoned"),
        total(|status| status.stuck_wakes_total, "stuck wake", "stuck wakes"),
        total(|status| status.quarantined_total, "in quarantine", "in quarantine"),
    ];
    let work: Vec<String> = work.into_iter().flatten().collect();
    let work = if work.is_empty() { "Nothing needs attention".to_owned() } else { work.join(", ") };
    let databases = super::databases(overviews.len(), overviews.len() - read().count());
    format!("{databases}. {work}").bold().to_string()
}

/// Which database it is about, whether the schedule is alive, and whether anything needs a person or a sweep.
fn heading(overview: &Overview<Status>) -> String {
    let Overview { host, sweeper, part: status, .. } = overview;
    let tenant = overview.tenant.as_deref().map(|tenant| format!(", tenant {}", redact(tenant))).unwrap_or_default();
    let what = format!("{} ({host}{tenant}) at {}", "Status".bold(), format_utc(overview.observed_at));
    let last = match (sweeper.last_success_age_seconds, sweeper.sweeps.is_empty()) {
        (Some(age), _) if age <= STALE_SECONDS => format!("Last success: {} ago", duration(age)),
        (Some(age), _) => format!("Last success: {} ago. Is it still scheduled?", duration(age)).red().to_string(),
        (None, true) => "Never swept".red().to_string(),
        (None, false) => "No sweep of everything has succeeded yet".red().to_string(),
    };
    let work = status.orphans_total + status.escalations_total + status.abandoned_total;
    let work = work + status.stuck_wakes_total + status.quarantined_total;
    // What could not be read, or was held back, is in no list.
    let is_well = sweeper.sweeps.first().is_none_or(SweepSummary::is_well);
    let calm = match work + status.notifications.dead_total {
        0 if status.empty => format!("\n{}", emptiness(host)),
        0 if is_well => format!("\n{}", "Nothing needs attention".green()),
        _ => String::new(),
    };
    format!("{what}\n{last}{calm}\n")
}

fn orphans(status: &Status) -> String {
    let rows = status.orphans.iter().map(|Stranded { subject, state, age: since, .. }| {
        let [kind, name, agent, title] = cells(subject);
        GridRow::of_subject([kind, name, coloured(state.name()), age(since.seconds), agent, title], &subject.url)
    });
    let orphans = counted(status.orphans_total, "orphan", "orphans");
    let sentence = format!("{}: in progress, and nobody is at work", orphans.bold());
    section(status.orphans_total, sentence, ["kind", "subject", "state", "for", "agent", "title"], &[3], rows)
}

/// The cells of an item: its kind, its name, its age, its agent, why it is listed, and its title.
type ItemCells = [String; 6];

/// A section with these items, each with those of its cells that `choose` takes; the third column has ages.
fn items<const N: usize>(
    items: &[Item],
    total: i64,
    sentence: String,
    names: [&str; N],
    choose: impl Fn(&Item, ItemCells) -> [String; N],
) -> String {
    let rows = items.iter().map(|item| {
        let [kind, name, agent, title] = cells(&item.subject);
        let cells = [kind, name, age(item.age.seconds), agent, redact(&item.why), title];
        GridRow::of_subject(choose(item, cells), &item.subject.url)
    });
    section(total, sentence, names, &[2], rows)
}

fn escalations(status: &Status) -> String {
    let escalations = counted(status.escalations_total, "escalation waits", "escalations wait");
    let sentence = format!("{} for a person", escalations.bold());
    let names = ["kind", "subject", "for", "agent", "why", "title"];
    items(&status.escalations, status.escalations_total, sentence, names, |_, cells| cells)
}

/// The plans that have a stalled step.
pub fn plans(plans: &[PlanSummary], total: i64) -> String {
    let rows = plans.iter().map(|plan| {
        let current = plan.status.current_step.as_ref();
        [
            redact(&plan.title),
            format!("{}%", plan.status.progress_percent),
            plan.status.step_counts.stalled.to_string(),
            current.map(|(position, title)| format!("#{position} {}", redact(title))).unwrap_or_default(),
            plan.status.stuck_seconds.map(duration).unwrap_or_default(),
        ]
    });
    let sentence = format!("{} a stalled step", counted(total, "plan has", "plans have").bold());
    section(total, sentence, ["plan", "done", "stalled", "current step", "stuck for"], &[1, 2, 4], rows)
}

fn abandoned(status: &Status) -> String {
    let subjects = counted(status.abandoned_total, "subject is", "subjects are");
    let sentence = format!("{} abandoned: the agent is gone or cannot be woken", subjects.bold());
    let choose = |_: &Item, [kind, name, age, _, why, title]: ItemCells| [kind, name, age, why, title];
    let names = ["kind", "subject", "for", "why", "title"];
    items(&status.abandoned, status.abandoned_total, sentence, names, choose)
}

fn stuck_wakes(status: &Status, now: DateTime<Utc>) -> String {
    let (wakes, limit) = (counted(status.stuck_wakes_total, "wake is", "wakes are"), status.wake_stuck_after_seconds);
    let none = if status.no_wake_is_taken { ", and none was taken up in that time" } else { "" };
    let sentence = format!("{} stuck: queued for longer than {}{none}", wakes.bold(), duration(limit));
    let choose = |item: &Item, [kind, name, age, agent, _, title]: ItemCells| {
        [kind, name, ahead(item.age.since, now).map_or(age, |ahead| format!("dated in {ahead}")), agent, title]
    };
    let names = ["kind", "subject", "queued for", "agent", "title"];
    items(&status.stuck_wakes, status.stuck_wakes_total, sentence, names, choose)
}

fn quarantined(status: &Status) -> String {
    let held = counted(status.quarantined_total, "row is", "rows are");
    let sentence = format!("{} quarantined: no longer examined", held.bold());
    let choose = |_: &Item, [kind, name, age, _, why, _]: ItemCells| [kind, name, age, why];
    items(&status.quarantined, status.quarantined_total, sentence, ["kind", "subject", "for", "why"], choose)
}

/// Notifications that were given up, and below them those that are late.
fn undelivered(notifications: &Notifications) -> String {
    let rows = notifications.dead.iter().map(|row| {
        let subject = row.identifier.as_deref().or(row.subject_id.as_ref().map(|id| id.0.as_str()));
        [
            redact(&row.destination),
            Event::in_words(&redact(&row.event)),
            redact(&format!("{} {}", row.kind, subject.unwrap_or("–"))),
            age(row.age.seconds),
            redact(row.last_error.as_deref().unwrap_or_default()),
        ]
    });
    let dead = counted(notifications.dead_total, "notification", "notifications");
    let sentence = format!("{} could not be delivered", dead.bold());
    let names = ["destination", "event", "subject", "since", "last error"];
    let dead = section(notifications.dead_total, sentence, names, &[3], rows);
    let late = late(notifications);
    let between = if dead.is_empty() || late.is_empty() { "" } else { "\n" };
    dead + between + &late
}

fn late(notifications: &Notifications) -> String {
    let Some(age) = notifications.pending_age_seconds.filter(|age| LATE.num_seconds() < *age) else {
        return String::new();
    };
    let n = counted(notifications.pending, "notification waits", "notifications wait");
    let why = notifications.pending_error.as_deref().map(|why| format!(": {}", redact(why))).unwrap_or_default();
    format!("{}, the oldest for {}{why}\n", n.bold(), duration(age))
}

fn exemptions(exemptions: Exemptions) -> Option<[String; 2]> {
    let exemptions = match (exemptions.holding, exemptions.expired) {
        (0, 0) => return None,
        (holding, 0) => holding.to_string(),
        (holding, expired) => format!("{holding}, and {expired} expired"),
    };
    Some(["exemptions".to_owned(), exemptions])
}

fn sweeps(sweeps: &[SweepSummary], now: DateTime<Utc>) -> String {
    if sweeps.is_empty() {
        return String::new();
    }
    let rows = sweeps.iter().map(|sweep| {
        let began = sweep.started_at.map(|at| (now - at).num_seconds());
        let began =
            ahead(sweep.started_at, now).map_or_else(|| format!("{} ago", age(began)), |ahead| format!("in {ahead}"));
        let took = sweep.duration_ms.map(|ms| format!("{:.2} s", ms as f64 / 1000.0));
        [began, took.unwrap_or_default(), ending(sweep), done(sweep)]
    });
    let table = with_header(["began", "took", "ended", "did"], rows, &[0, 1]);
    format!("{}\n\n{table}", "Last sweeps".bold())
}

/// How far a time lies in the future, if the clock that dated it was ahead.
fn ahead(at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Option<HumanDuration> {
    at.map(|at| at - now).filter(|ahead| AHEAD_MAX < *ahead).map(HumanDuration)
}

/// `completed`, `failed, exit 69`.
fn ending(sweep: &SweepSummary) -> String {
    let how = match sweep.ended.as_deref() {
        None => "running, or killed".yellow().to_string(),
        Some("completed") => "completed".to_owned(),
        Some(how) => redact(how).red().to_string(),
    };
    match sweep.exit_code {
        None | Some(0) => how,
        Some(code) => format!("{how}, exit {code}"),
    }
}

/// `3 continued, 1 escalated`, and whether it looked at a part only.
fn done(sweep: &SweepSummary) -> String {
    let SweepSummary { tally, shard, shards, .. } = sweep;
    let text = told(*tally).map(|(outcome, n)| format!("{n} {outcome}")).collect::<Vec<_>>().join(", ");
    let is_idle = text.is_empty() && sweep.ended.as_deref() == Some("completed");
    let text = match (is_idle, sweep.is_well()) {
        (true, true) => "nothing to do".to_owned(),
        (true, false) if sweep.is_guarded() => "nothing: the guard held work back".to_owned(),
        (true, false) => "nothing, though there was something to do".to_owned(),
        (false, _) if sweep.is_guarded() => format!("{text}; the guard held work back"),
        (false, _) => text,
    };
    let part = (1 < *shards).then(|| format!("shard {shard}/{shards}"));
    let notes: Vec<String> = part.into_iter().chain(sweep.partial.then(|| "of a part".to_owned())).collect();
    if notes.is_empty() { text } else { format!("{text} ({})", notes.join(", ")) }
}

fn effect(effect: &Effect) -> String {
    // Destructured so that a new counter cannot be forgotten.
    let &Effect {
        days,
        continuations,
        recovered,
        handed_over,
        escalated,
        abandoned,
        continued_again,
        still_open,
        false_rescues,
    } = effect;
    if continuations == 0 {
        return String::new();
    }
    let share = |n: i64| format!("{n} ({:.0}%)", n as f64 * 100.0 / continuations as f64);
    let vain = match false_rescues {
        0 => "False rescues: none".to_owned(),
        n => format!("False rescues: {n}, where a run was live after all").yellow().to_string(),
    };
    let abandoned = if 0 < abandoned { format!(", {} abandoned", share(abandoned)) } else { String::new() };
    format!(
        "{}\n\n  {} recovered, {} handed over, {} escalated{abandoned}, {continued_again} continued again, \
            {still_open} still open\n  {vain}\n",
        format!("{} in the last {days} days", counted(continuations, "continuation", "continuations")).bold(),
        share(recovered).green(),
        share(handed_over),
        share(escalated).yellow(),
    )
}

/// One plan with its steps.
pub fn plan(report: &PlanReport) -> String {
    let PlanSummary { id, tenant: _, title, status } = &report.plan;
    let derived = match status.stored == status.derived {
        true => coloured(&status.derived),
        false => format!("{}, stored as {}", coloured(&status.derived), redact(&status.stored)),
    };
    let stuck = status.stuck_seconds.map(|seconds| format!(", stuck for {}", duration(seconds))).unwrap_or_default();
    let header = ["step", "title", "status", "for", "limit", "state", "why"];
    let rows = report.steps.iter().map(|step| step_cells(step, report.stalled_after_seconds));
    let steps = with_header(header, rows, &[0, 3, 4]);
    let steps = if steps.is_empty() { "It has no steps\n".to_owned() } else { steps };
    let rest = match &status.current_step {
        _ if report.steps.len() < STEPS_LISTED_MAX => String::new(),
        Some((at, title)) => {
            format!("First {STEPS_LISTED_MAX} steps; the current one is #{at} {}\n", cut(&redact(title), CELL_MAX))
        }
        None => format!("First {STEPS_LISTED_MAX} steps\n"),
    };
    let (id, title, progress) = (redact(&id.0), cut(&redact(title), CELL_MAX), status.progress_percent);
    format!("{} {id}\n{derived}: {progress}% done{stuck}\n\n{steps}{rest}", title.bold())
}

/// The limit is the step's own, else its plan's, else everybody's.
fn step_cells(step: &StepReport, stalled_after_seconds: i64) -> GridRow<7> {
    let limit = step.stalled_after_seconds.map_or(stalled_after_seconds, i64::from);
    let cells = [
        step.position.to_string(),
        redact(&step.title),
        humanize(&redact(&step.status)),
        step.age_seconds.map(duration).unwrap_or_default(),
        step.age_seconds.map(|_| duration(limit)).unwrap_or_default(),
        step.state.as_deref().map(coloured).unwrap_or_default(),
        redact(step.detail.as_deref().unwrap_or_default()),
    ];
    GridRow::of_subject(cells, &step.url)
}
