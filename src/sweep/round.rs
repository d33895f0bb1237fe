//! All that a scan yields of one kind, examined, noted and reported.

use anyhow::Result;

use super::limits::Limits;
use super::logs;
use super::quarantine::Failures;
use super::scan::Scan;
use super::terms::Terms;
use super::workers::Workers;
use crate::report::{Examined, Report};
use crate::store::Subject;

/// Examines what the scan yields, within the limits.
pub fn examine_all<S: Subject>(
    mut scan: Scan<S>,
    terms: &Terms,
    workers: &mut Workers,
    limits: &mut Limits,
    failures: &mut Failures,
    report: &mut Report,
) -> Result<()> {
    let not_begun = workers.examine_all(&mut scan, terms, limits, |examined: Examined| {
        let heading = report.heading();
        let (sweep, host, mode) = (terms.sweep_id, Some(heading.host.as_str()), heading.mode.name());
        logs::subject(&examined, &logs::Source { sweep, host, mode });
        failures.note(&examined);
        report.add(examined);
    })?;
    report.defer(not_begun);
    if limits.left == Some(0) || limits.are_over() {
        let rest = scan.rest();
        report.defer(rest);
        if 0 < rest.count + not_begun.count && !terms.shadow {
            limits.stopper().into_iter().for_each(|stopper| report.stop_by(stopper));
        }
    }
    Ok(())
}
