//! The status for people: what needs attention first, and nothing that there is not.

pub(super) mod format;
mod sections;
mod undelivered;

use anyhow::Result;
use owo_colors::OwoColorize;

use super::grid::{CELL_MAX, Row, with_header};
use super::summary::emptiness;
use crate::rules::display::{counted, format_utc, humanize};
use crate::store::read::status::{PlanReport, PlanSummary, STEPS_LISTED_MAX, Status, StepReport, SweepSummary};
use crate::text::{cut, redact};
use format::{coloured, duration};
pub use sections::kinds;

/// A schedule that has not succeeded for so long has stopped.
const STALE_SECONDS: i64 = 86_400;

/// The whole status. Sections without rows are left out.
pub fn whole(status: &Status) -> String {
    let sections = [
        sections::orphans(status),
        sections::escalations(status),
        sections::plans(status),
        sections::abandoned(status),
        sections::stuck_wakes(status),
        sections::quarantined(status),
        undelivered::undelivered(status),
        kinds(&status.kinds, sections::exemptions(status)),
        sections::sweeps(status),
        sections::effect(status),
    ];
    let text: String = sections.iter().filter(|section| !section.is_empty()).map(|text| format!("\n{text}")).collect();
    heading(status) + &text
}

/// One line about several databases: what needs attention in all of them together.
pub fn of_all(statuses: &[(String, Result<Status>)]) -> String {
    let read = || statuses.iter().filter_map(|(_, status)| status.as_ref().ok());
    let total = |count: fn(&Status) -> i64, one: &str, many: &str| {
        Some(counted(read().map(count).sum(), one, many)).filter(|counted| !counted.starts_with("0 "))
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
    let databases = super::databases(statuses.len(), statuses.len() - read().count());
    format!("{databases}. {work}").bold().to_string()
}

/// What it is of, whether the schedule is alive, and whether anything needs a person or a sweep.
fn heading(status: &Status) -> String {
    let tenant = status.tenant.as_deref().map(|tenant| format!(", tenant {}", redact(tenant))).unwrap_or_default();
    let what = format!("{} ({}{tenant}) at {}", "Status".bold(), status.host, format_utc(status.observed_at));
    let last = match (status.last_success_age_seconds, status.sweeps.is_empty()) {
        (Some(age), _) if age <= STALE_SECONDS => format!("Last success: {} ago", duration(age)),
        (Some(age), _) => format!("Last success: {} ago. Is it still scheduled?", duration(age)).red().to_string(),
        (None, true) => "Never swept".red().to_string(),
        (None, false) => "No sweep of everything has succeeded yet".red().to_string(),
    };
    let work = status.orphans_total + status.escalations_total + status.abandoned_total;
    let work = work + status.stuck_wakes_total + status.quarantined_total;
    // What could not be read, or was held back, is in no list.
    let is_well = status.sweeps.first().is_none_or(SweepSummary::is_well);
    let calm = match work + status.notifications.dead_total {
        0 if status.empty => format!("\n{}", emptiness(&status.host)),
        0 if is_well => format!("\n{}", "Nothing needs attention".green()),
        _ => String::new(),
    };
    format!("{what}\n{last}{calm}\n")
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
fn cells(step: &StepReport, stalled_after_seconds: i64) -> Row<7> {
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
    Row::of_subject(cells, step.url.as_deref())
}
