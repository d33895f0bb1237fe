//! All that a scan yields of one kind, examined, logged and counted.

use anyhow::Result;

use super::context::ExamineContext;
use super::guard::Withheld;
use super::limits::Limits;
use super::logs;
use super::observer::Observer;
use super::quarantine::Failures;
use super::scan::Scan;
use super::summary::Summary;
use super::workers::Workers;
use crate::store::Subject;
use crate::store::work::candidates::{Part, Portion};
use crate::store::work::counts::HeldBack;

/// What a sweep uses and fills while it goes on.
pub struct Round<'a, O> {
    pub workers: Workers,
    pub limits: Limits,
    pub summary: Summary,
    pub observer: &'a mut O,
}

impl<O: Observer> Round<'_, O> {
    /// Examines what the scan yields, within the limits, but for what the guard holds back: that is put off.
    pub fn examine_but_for<S: Subject>(
        &mut self,
        held: &Withheld,
        mut scan: Scan<S>,
        failures: &mut Failures,
        context: &ExamineContext,
    ) -> Result<()> {
        let parts = match held {
            Withheld::Nothing => return self.examine_all(scan, failures, context),
            Withheld::Everything(guarded) => {
                self.summary.current().guard = Some(*guarded);
                self.summary.defer(scan.rest());
                return Ok(());
            }
            Withheld::Parts(parts) => parts,
        };
        self.summary.current().held_back = parts.clone();
        let held: Vec<Portion> =
            parts.iter().map(|part| part.portion.clone()).chain(context.part.except.to_vec()).collect();
        let rest = ExamineContext { part: Part { except: &held, ..context.part }, ..*context };
        self.examine_all(scan.again(&rest), failures, &rest)?;
        // Last, since counting takes its time.
        for HeldBack { portion, .. } in parts {
            let of_part = ExamineContext { part: portion.part(context.part.except), ..*context };
            self.summary.defer(scan.again(&of_part).rest());
        }
        Ok(())
    }

    fn examine_all<S: Subject>(
        &mut self,
        mut scan: Scan<S>,
        failures: &mut Failures,
        context: &ExamineContext,
    ) -> Result<()> {
        let Round { workers, limits, summary, observer } = self;
        let not_begun = workers.examine_all(&mut scan, context, limits, |examined| {
            let heading = &summary.heading;
            let (sweep, host, mode) = (context.sweep_id, Some(heading.host.as_str()), heading.mode.name());
            logs::subject(&examined, &logs::LogSource { sweep, host, mode });
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
}
