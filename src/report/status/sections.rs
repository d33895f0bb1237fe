//! The sections of the status: a sentence each, and below it the rows.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use owo_colors::OwoColorize;

use super::format::{age, duration, headline, paint, section};
use crate::report::grid::{Row, with_header, without_header};
use crate::rules::AHEAD_MAX;
use crate::rules::display::{HumanDuration, counted};
use crate::store::read::status::{Counts, Effect, PlanSummary, Status, SweepSummary, WorkItem};
use crate::text::redact;

pub fn orphans(status: &Status) -> String {
    let Some(headline) = headline(status.orphans_total, "orphan", "orphans") else { return String::new() };
    let rows = status.orphans.iter().map(|work| {
        let cells = [
            work.kind.to_string(),
            name(work),
            paint(work.state.name(), work.state.name()),
            age(work.age_seconds),
            agent(work),
            redact(&work.title),
        ];
        Row::of_subject(cells, work.url.as_deref())
    });
    let table = with_header(["kind", "subject", "state", "for", "agent", "title"], rows, &[3]);
    section(
        &format!("{headline}: in progress, and nobody is at work"),
        table,
        status.orphans_total,
        status.orphans.len(),
    )
}

pub fn escalations(status: &Status) -> String {
    let Some(headline) = headline(status.escalations_total, "escalation waits", "escalations wait") else {
        return String::new();
    };
    let rows = status.escalations.iter().map(|work| {
        let why = redact(work.detail.as_deref().unwrap_or_default());
        let cells = [work.kind.to_string(), name(work), age(work.age_seconds), agent(work), why, redact(&work.title)];
        Row::of_subject(cells, work.url.as_deref())
    });
    let table = with_header(["kind", "subject", "for", "agent", "why", "title"], rows, &[2]);
    section(&format!("{headline} for a person"), table, status.escalations_total, status.escalations.len())
}

pub fn plans(status: &Status) -> String {
    let Some(headline) = headline(status.plans.len() as i64, "plan has", "plans have") else { return String::new() };
    let rows = status.plans.iter().map(|PlanSummary { id: _, tenant: _, title, status }| {
        let current = status.current_step.as_ref();
        [
            redact(title),
            format!("{}%", status.progress_percent),
            current.map(|(position, title)| format!("#{position} {}", redact(title))).unwrap_or_default(),
            status.stuck_seconds.map(duration).unwrap_or_default(),
        ]
    });
    let table = with_header(["plan", "done", "current step", "stuck for"], rows, &[1, 3]);
    format!("{headline} a stalled step\n\n{table}")
}

pub fn abandoned(status: &Status) -> String {
    let Some(headline) = headline(status.abandoned_total, "subject is", "subjects are") else { return String::new() };
    let rows = status.abandoned.iter().map(|work| {
        let why = redact(work.detail.as_deref().unwrap_or_default());
        let cells = [work.kind.to_string(), name(work), age(work.age_seconds), why, redact(&work.title)];
        Row::of_subject(cells, work.url.as_deref())
    });
    let table = with_header(["kind", "subject", "for", "why", "title"], rows, &[2]);
    section(
        &format!("{headline} abandoned: the agent is gone, terminated or paused"),
        table,
        status.abandoned_total,
        status.abandoned.len(),
    )
}

pub fn stuck_wakes(status: &Status) -> String {
    let Some(headline) = headline(status.stuck_wakes_total, "wake is", "wakes are") else { return String::new() };
    let rows = status.stuck_wakes.iter().map(|wake| {
        let subject = wake.identifier.as_deref().or(wake.subject_id.as_ref().map(|id| id.0.as_str()));
        let of = |text: Option<&str>| redact(text.unwrap_or_default());
        let kind = of(wake.kind.as_deref());
        let queued_for =
            ahead(wake.since, status).map_or_else(|| age(wake.age_seconds), |ahead| format!("dated in {ahead}"));
        let cells = [kind, of(subject), queued_for, of(wake.agent.as_deref()), of(wake.title.as_deref())];
        Row::of_subject(cells, wake.url.as_deref())
    });
    let table = with_header(["kind", "subject", "queued for", "agent", "title"], rows, &[2]);
    let limit = HumanDuration(TimeDelta::seconds(status.wake_stuck_after_seconds));
    let none = if status.no_wake_is_taken { ", and none was taken up in that time" } else { "" };
    let text = format!("{headline} stuck: queued for longer than {limit}{none}");
    section(&text, table, status.stuck_wakes_total, status.stuck_wakes.len())
}

pub fn quarantined(status: &Status) -> String {
    let Some(headline) = headline(status.quarantined_total, "row is", "rows are") else { return String::new() };
    let rows = status.quarantined.iter().map(|row| {
        let name = redact(row.identifier.as_deref().unwrap_or(&row.id.0));
        let cells = [redact(&row.kind), name, age(row.age_seconds), redact(&row.reason)];
        Row::of_subject(cells, row.url.as_deref())
    });
    let table = with_header(["kind", "subject", "for", "why"], rows, &[2]);
    section(
        &format!("{headline} quarantined: no longer examined"),
        table,
        status.quarantined_total,
        status.quarantined.len(),
    )
}

/// All work by its state; a state in which nothing is, is left out. `further`: a line below.
pub fn kinds(kinds: &BTreeMap<&'static str, Counts>, further: Option<[String; 2]>) -> String {
    let lines = kinds.iter().map(|(kind, counts)| {
        let text = match &counts.0 {
            None => "not provided by this database".to_owned(),
            Some(states) => {
                let present = states.iter().filter(|(_, n)| 0 < **n);
                let text: Vec<String> =
                    present.map(|(state, n)| format!("{n} {}", paint(state.name(), state.name()))).collect();
                if text.is_empty() { "none".to_owned() } else { text.join(", ") }
            }
        };
        [(*kind).to_owned(), text]
    });
    format!("{}\n\n{}", "All work in progress".bold(), without_header(lines.chain(further)))
}

pub fn exemptions(status: &Status) -> Option<[String; 2]> {
    let exemptions = match (status.exemptions.holding, status.exemptions.expired) {
        (0, 0) => return None,
        (holding, 0) => holding.to_string(),
        (holding, expired) => format!("{holding}, and {expired} expired"),
    };
    Some(["exemptions".to_owned(), exemptions])
}

pub fn sweeps(status: &Status) -> String {
    if status.sweeps.is_empty() {
        return String::new();
    }
    let rows = status.sweeps.iter().map(|sweep| {
        let began = sweep.started_at.map(|at| (status.observed_at - at).num_seconds());
        let began = ahead(sweep.started_at, status)
            .map_or_else(|| format!("{} ago", age(began)), |ahead| format!("in {ahead}"));
        let took = sweep.duration_ms.map(|ms| format!("{:.2} s", ms as f64 / 1000.0));
        [began, took.unwrap_or_default(), ending(sweep), done(sweep)]
    });
    let table = with_header(["began", "took", "ended", "did"], rows, &[0, 1]);
    format!("{}\n\n{table}", "Last sweeps".bold())
}

/// By how much it lies in the future, if the clock that dated it was ahead.
fn ahead(at: Option<DateTime<Utc>>, status: &Status) -> Option<HumanDuration> {
    at.map(|at| at - status.observed_at).filter(|ahead| AHEAD_MAX < *ahead).map(HumanDuration)
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
    // Destructured so that a new counter cannot be forgotten.
    let SweepSummary {
        started_at: _,
        finished_at: _,
        duration_ms: _,
        ended,
        exit_code: _,
        partial,
        shard,
        shards,
        continued,
        escalated,
        recovered,
        handed_over,
        abandoned,
        failed,
        deferred,
    } = sweep;
    let counters = [
        (continued, "continued"),
        (escalated, "escalated"),
        (recovered, "recovered"),
        (handed_over, "handed over"),
        (abandoned, "abandoned"),
        (failed, "failed"),
        (deferred, "deferred"),
    ];
    let text: Vec<String> =
        counters.iter().filter(|(n, _)| 0 < **n).map(|(n, outcome)| format!("{n} {outcome}")).collect();
    let text = match (text.is_empty() && ended.as_deref() == Some("completed"), sweep.is_well()) {
        (true, true) => "nothing to do".to_owned(),
        (true, false) if sweep.is_guarded() => "nothing: the guard held work back".to_owned(),
        (true, false) => "nothing, though there was something to do".to_owned(),
        (false, _) if sweep.is_guarded() => format!("{}; the guard held work back", text.join(", ")),
        (false, _) => text.join(", "),
    };
    let part = (1 < *shards).then(|| format!("shard {shard}/{shards}"));
    let notes: Vec<String> = part.into_iter().chain(partial.then(|| "of a part".to_owned())).collect();
    if notes.is_empty() { text } else { format!("{text} ({})", notes.join(", ")) }
}

pub fn effect(status: &Status) -> String {
    // Destructured so that a new counter cannot be forgotten.
    let Effect {
        days,
        continuations,
        recovered,
        handed_over,
        escalated,
        abandoned,
        continued_again,
        still_open,
        false_rescues,
    } = status.effect;
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

fn name(work: &WorkItem) -> String {
    redact(work.identifier.as_deref().unwrap_or(&work.id.0))
}

fn agent(work: &WorkItem) -> String {
    work.agent.as_deref().map(redact).unwrap_or_default()
}
