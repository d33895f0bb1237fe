//! One plan with its steps, for people.

use owo_colors::OwoColorize;

use super::grid::{CELL_MAX, GridRow, with_header};
use super::section::{coloured, duration};
use crate::rules::display::humanize;
use crate::store::read::plan::{PlanReport, PlanSummary, STEPS_LISTED_MAX, StepReport};
use crate::text::{cut, redact};

pub fn whole(report: &PlanReport) -> String {
    let PlanSummary { id, tenant: _, title, status } = &report.plan;
    let derived = match status.stored == status.derived {
        true => coloured(&status.derived),
        false => format!("{}, stored as {}", coloured(&status.derived), redact(&status.stored)),
    };
    let stuck = status.stuck_seconds.map(|seconds| format!(", stuck for {}", duration(seconds))).unwrap_or_default();
    let header = ["step", "title", "status", "for", "limit", "state", "why"];
    let rows = report.steps.iter().map(|step| cells(step, report.stalled_after_seconds));
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

/// The limit is its own, else its plan's, else everybody's.
fn cells(step: &StepReport, stalled_after_seconds: i64) -> GridRow<7> {
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
    GridRow::of_subject(cells, step.url.as_deref())
}
