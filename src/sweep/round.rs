//! All that a scan yields of one kind, examined, logged and counted.

use anyhow::Result;

use super::context::ExamineContext;
use super::limits::Limits;
use super::logs;
use super::observer::Observer;
use super::quarantine::Failures;
use super::scan::Scan;
use super::summary::Summary;
use super::workers::Workers;
use crate::store::Subject;

/// Examines what the scan yields, within the limits.
pub fn examine_all<S: Subject>(
    mut scan: Scan<S>,
    context: &ExamineContext,
    workers: &mut Workers,
    limits: &mut Limits,
    failures: &mut Failures,
    summary: &mut Summary,
    observer: &mut impl Observer,
) -> Result<()> {
    let not_begun = workers.examine_all(&mut scan, context, limits, |examined| {
        let heading = &summary.heading;
        let (sweep, host, mode) = (context.sweep_id, Some(heading.host.as_str()), heading.mode.name());
        logs::subject(&examined, &logs::Source { sweep, host, mode });
        failures.note(&examined);
        summary.count(&examined);
        observer.subject(&examined);
    })?;
    summary.defer(not_begun);
    if limits.left == Some(0) || limits.are_over() {
        let rest = scan.rest();
        summary.defer(rest);
        if 0 < rest.count + not_begun.count && !context.shadow {
            summary.stopped_by = limits.stop_reason().or(summary.stopped_by);
        }
    }
    Ok(())
}
