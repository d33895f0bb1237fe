//! The first lines of the report for people: what was done and left, and what the operator should know besides.

use std::fmt::Write;

use owo_colors::{OwoColorize, Style};

use crate::rules::display::HumanDuration;
use crate::store::work::ledger::Ended;
use crate::sweep::logs::EMPTY;
use crate::sweep::{KindCounts, KindMode, KindReport, Mode, Outcome, StopReason, Summary, Tally};

/// `Swept 12 issues and 4 steps (native) in 0.03 s`, and below: `3 continued, 1 escalated; left: 2 waiting`. What was
/// not swept, or in shadow, has a line of its own.
pub(super) fn summary(sweep: &Summary) -> String {
    let Summary { heading, kinds, took, .. } = sweep;
    let swept = kinds
        .iter()
        .filter(|report| report.counts.provided && report.counts.mode == KindMode::On && report.counts.guard.is_none());
    let scanned: Vec<String> = swept.map(|report| counted(report.counts.tally.scanned, report)).collect();
    let (verb, note) = match heading.mode {
        Mode::Sweep => ("Swept", ""),
        Mode::DryRun => ("Dry run of", ", nothing is written"),
        Mode::Apply => ("Applied a plan to", ""),
    };
    let is_guarded = kinds.iter().any(|report| report.counts.guard.is_some());
    // That there was nothing to do is no news beside what the guard held back.
    let has_counts = kinds.is_empty() || !(scanned.is_empty() || is_guarded && sweep.total() == Tally::default());
    let scanned = if scanned.is_empty() { "nothing".to_owned() } else { listed(&scanned) };
    let (host, seconds) = (&heading.host, took.as_secs_f64());
    let mut text = format!("{} {scanned} ({host}) in {seconds:.2} s{note}\n", verb.bold());
    if has_counts {
        text += &counts(sweep);
    }
    for line in kinds.iter().flat_map(|report| notes(report, sweep)).chain(ends(sweep)) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// `3 continued, 1 escalated; left: 2 waiting`, on a line of its own.
pub(super) fn counts(sweep: &Summary) -> String {
    format!("{}\n", done_and_left(sweep.total(), sweep.heading.mode == Mode::DryRun, sweep.ended))
}

fn counted(n: u64, report: &KindReport) -> String {
    format!("{n} {}", if n == 1 { report.kind.name() } else { report.kind.plural() })
}

/// What there is to say of one kind.
fn notes(report: &KindReport, sweep: &Summary) -> Vec<String> {
    let KindReport { kind, counts } = report;
    let KindCounts { provided, mode, guard, held_back, tally, oldest_deferred_at, in_quarantine } = counts;
    let mut notes = Vec::new();
    match (provided, mode) {
        (false, _) => notes.push(format!("{}: not provided by this database", kind.plural())),
        (true, KindMode::Off) => notes.push(format!("{}: off", kind.plural())),
        (true, KindMode::Shadow) => {
            let (them, would) = (counted(tally.scanned, report), done_and_left(*tally, true, sweep.ended));
            notes.push(format!("In shadow: {them}, nothing is written. {would}"));
        }
        (true, KindMode::On) => {}
    }
    let whole = guard.iter().map(|guard| guard.sentence(*kind));
    for sentence in whole.chain(held_back.iter().map(|part| part.sentence(*kind))) {
        notes.push(format!("{}\n(if it is the truth: --no-guard)", sentence.red()));
    }
    if 0 < tally.deferred {
        let age = oldest_deferred_at.map(|oldest| sweep.began_at - oldest);
        let age = age.map(|age| format!(", the oldest idle for {}", HumanDuration(age))).unwrap_or_default();
        notes.push(format!("Deferred to the next sweep: {}{age}", counted(tally.deferred, report)));
    }
    if 0 < *in_quarantine {
        let them = counted(*in_quarantine, report);
        notes.push(format!("{} {them}: see sweep quarantine list", "In quarantine:".yellow()));
    }
    notes
}

/// Why the sweep ended, whether wakes are taken up, and whether the clocks can be trusted.
fn ends(sweep: &Summary) -> Vec<String> {
    let stopped = sweep.stopped_by.map(|stopper| match stopper {
        StopReason::Limit => "The limit is reached.",
        StopReason::Deadline => "The deadline is reached.",
    });
    let ended = match sweep.ended {
        Ended::Completed => None,
        Ended::Interrupted => Some("Interrupted by a signal: what was in hand is done, the next sweep does the rest."),
        Ended::Failed => Some("Ended early by an error: not everything was looked at."),
    };
    let stuck = sweep.stuck_wakes.as_ref().filter(|stuck| 0 < stuck.wakes.count);
    let stuck = stuck.map(|stuck| match stuck.wakes.none_is_taken {
        true => stuck.sentence().red().to_string(),
        false => stuck.sentence().yellow().to_string(),
    });
    let empty = sweep.empty.then(|| emptiness(&sweep.heading.host));
    let unswept = sweep.unswept.iter().map(|sentence| sentence.red().to_string());
    let lines = unswept.chain(stopped.into_iter().chain(ended).map(str::to_owned)).chain(stuck).chain(empty);
    lines.chain(sweep.clocks.warnings().into_iter().map(|warning| warning.yellow().to_string())).collect()
}

/// That nothing has been written yet, and how it is.
pub(super) fn emptiness(host: &str) -> String {
    match host {
        "native" => format!("{EMPTY}: docs/native.md shows how a control plane fills it"),
        _ => EMPTY.to_owned(),
    }
}

/// `5 sessions, 13 issues and 4 steps`.
fn listed(words: &[String]) -> String {
    match words {
        [first @ .., second_last, last] => {
            let before: String = first.iter().map(|word| format!("{word}, ")).collect();
            format!("{before}{second_last} and {last}")
        }
        words => words.concat(),
    }
}

/// `3 continued, 1 escalated; left: 2 waiting`.
pub(super) fn done_and_left(total: Tally, dry_run: bool, ended: Ended) -> String {
    // Destructured so that a new counter cannot be forgotten.
    let Tally {
        scanned: _,
        continued,
        escalated,
        recovered,
        handed_over,
        abandoned,
        waiting,
        skipped,
        healthy,
        changed,
        deferred,
        busy,
        unknown,
        unreadable,
        failed,
    } = total;
    let done = counters(&[
        (continued, Outcome::Continued),
        (escalated, Outcome::Escalated),
        (recovered, Outcome::Recovered),
        (handed_over, Outcome::HandedOver),
        (abandoned, Outcome::Abandoned),
    ]);
    let left = counters(&[
        (waiting, Outcome::Waiting),
        (skipped, Outcome::Skipped),
        (healthy, Outcome::Healthy),
        (changed, Outcome::Changed),
        (deferred, Outcome::Deferred),
        (busy, Outcome::Busy),
        (unknown, Outcome::Unknown),
        (unreadable, Outcome::Unreadable),
        (failed, Outcome::Failed),
    ]);
    let would = if dry_run { "Would be: " } else { "" };
    // A sweep that did not look at everything does not know that there is nothing to do.
    let nothing = match (changed + deferred + busy + unknown + unreadable + failed, dry_run) {
        (0, _) if ended == Ended::Completed => "Nothing to do",
        (_, false) => "Nothing was done",
        (_, true) => "Nothing would be done",
    };
    let done = if done.is_empty() { nothing.to_owned() } else { format!("{would}{done}") };
    let left = if left.is_empty() { left } else { format!("; left: {left}") };
    done + &left
}

fn counters(counters: &[(u64, Outcome)]) -> String {
    let shown = counters.iter().filter(|(n, _)| 0 < *n).map(|(n, outcome)| format!("{n} {}", coloured(*outcome)));
    shown.collect::<Vec<_>>().join(", ")
}

pub(super) fn coloured(outcome: Outcome) -> String {
    let style = match outcome {
        Outcome::Continued | Outcome::Recovered => Style::new().green(),
        Outcome::Escalated
        | Outcome::Abandoned
        | Outcome::Skipped
        | Outcome::Busy
        | Outcome::Changed
        | Outcome::Deferred => Style::new().yellow(),
        Outcome::Unknown | Outcome::Unreadable | Outcome::Failed => Style::new().red(),
        Outcome::HandedOver | Outcome::Waiting | Outcome::Healthy => Style::new(),
    };
    outcome.to_string().style(style).to_string()
}
