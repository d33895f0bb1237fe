//! The questions by which the guard finds out how much of a part would be touched.

use std::collections::HashMap;
use std::time::Instant;

use anyhow::Result;

use crate::rules::{Guard, Id};
use crate::store::work::candidates::{Part, Portion};
use crate::store::work::counts::Guarded;
use crate::store::{Access, Subject};
use crate::sweep::context::ExamineContext;
use crate::sweep::examined::Outcome;
use crate::sweep::limits::{Limits, WakeBudget, share_of};
use crate::sweep::scan::Scan;
use crate::sweep::workers::Workers;

/// Up to this number subjects are counted to the end, so that the number that is reported is the whole one.
const COUNTED_MAX: u64 = 1000;

/// More tenants are not judged one by one: a picture in which so many are implausible is false as a whole.
const TENANTS_MAX: i64 = 50;

/// How much of a part would be touched: at most, until it is counted.
#[derive(Default)]
pub struct Estimate {
    pub guarded: Guarded,
    pub is_counted: bool,
    /// The name of the agent that one of its subjects has.
    pub agent: Option<String>,
}

impl Estimate {
    /// At most all candidates are stranded.
    fn at_most(candidates: u64, in_progress: u64) -> Estimate {
        let guarded = Guarded { stranded: candidates, in_progress, ..Guarded::default() };
        Estimate { guarded, is_counted: candidates == 0, agent: None }
    }
}

/// What the database knows of one kind, and how long it may be asked.
pub struct Census<'a, 'b, 'c, S: Subject> {
    pub guard: Guard,
    pub context: &'a ExamineContext<'c>,
    pub scan: &'a mut Scan<'b, S>,
    workers: &'a mut Workers,
    limits: &'a Limits,
    /// The time after which nothing is counted any more.
    until: Instant,
}

impl<'a, 'b, 'c, S: Subject> Census<'a, 'b, 'c, S> {
    /// Half of the time that is left is the sweep's.
    pub fn new(
        guard: Guard,
        scan: &'a mut Scan<'b, S>,
        workers: &'a mut Workers,
        context: &'a ExamineContext<'c>,
        limits: &'a Limits,
    ) -> Self {
        Census { guard, context, scan, workers, limits, until: share_of(limits.deadline, 2) }
    }

    /// The tenants with more candidates than that, those with the most first, and the most that may be stranded of
    /// each: two questions for all of them.
    pub fn tenants(&mut self, part: &Part, more_than: i64) -> Result<Vec<(Portion, Estimate)>> {
        self.scan.question("looking at", |db| {
            let tenants = S::tenants_of_candidates(db, part, more_than, TENANTS_MAX)?;
            let names: Vec<&str> = tenants.iter().map(|(tenant, _)| tenant.as_str()).collect();
            let in_progress = if names.is_empty() { HashMap::new() } else { S::in_progress_of(db, part, &names)? };
            let estimate = |(tenant, candidates): &(String, i64)| {
                let subjects = in_progress.get(tenant).copied().unwrap_or_default();
                (Portion::of_tenant(tenant), Estimate::at_most(*candidates as u64, subjects as u64))
            };
            Ok(tenants.iter().map(estimate).collect())
        })
    }

    /// Is the guard's time over? Then nothing more is asked than what decides that something is held back.
    pub fn is_over(&self) -> bool {
        self.until <= Instant::now()
    }

    /// The agent that has most of the subjects in progress, but not all of them.
    pub fn agent_with_most(&mut self, part: &Part, in_progress: u64) -> Result<Option<Id>> {
        let largest = self.scan.question("looking at", |db| S::largest_group(db, part))?;
        let has_most = |subjects: u64| subjects < in_progress && in_progress < 2 * subjects;
        Ok(largest.filter(|(_, subjects)| has_most(*subjects as u64)).map(|(agent, _)| agent))
    }

    pub fn in_progress(&mut self, part: &Part) -> Result<u64> {
        self.scan.question("looking at", |db| Ok(S::count_in_progress(db, part)? as u64))
    }

    /// The most that may be stranded of this part: all candidates.
    pub fn estimate(&mut self, part: &Part) -> Result<Estimate> {
        let candidates = self.scan.question("looking at", |db| Ok(S::count_candidates(db, part)? as u64))?;
        Ok(Estimate::at_most(candidates, self.in_progress(part)?))
    }

    /// What is held back anyway, and these.
    pub fn held_and<'p>(&self, portions: impl IntoIterator<Item = &'p Portion>) -> Vec<Portion> {
        self.context.part.except.iter().cloned().chain(portions.into_iter().cloned()).collect()
    }

    /// Counts this part if the estimate alone is implausible.
    pub fn judge(&mut self, part: &Part, estimate: &mut Estimate) -> Result<()> {
        if !estimate.is_counted && self.stops(&mut estimate.guarded) {
            *estimate = self.count(part, estimate.guarded.in_progress)?;
        }
        Ok(())
    }

    /// Are these numbers implausible, or was there no time to tell? Cut short by the sweep's own deadline or a signal,
    /// they say nothing; but then nothing more is begun either.
    pub fn stops(&self, guarded: &mut Guarded) -> bool {
        let stops = self.guard.stops(guarded.stranded, guarded.in_progress);
        guarded.undecided = guarded.at_least && !stops && !self.limits.are_over();
        stops || guarded.undecided
    }

    /// Decides each of them, as in a dry run, in half of the time that is left to the guard.
    pub fn count(&mut self, part: &Part, in_progress: u64) -> Result<Estimate> {
        if self.is_over() {
            let guarded = Guarded { at_least: true, in_progress, ..Guarded::default() };
            return Ok(Estimate { guarded, is_counted: true, agent: None });
        }
        let counted_max = self.guard.stranded_max(in_progress).max(COUNTED_MAX) + 1;
        let look = ExamineContext {
            access: Access::ReadOnly,
            plan: None,
            shard: None,
            part: *part,
            wakes: &WakeBudget::new(u32::MAX),
            ..*self.context
        };
        let left = u32::try_from(counted_max).ok();
        let mut counting = Limits { left, counts: Outcome::is_costly, ..self.limits.clone() };
        counting.share(self.until, 2);
        let (mut stranded, mut agent) = (0, None);
        let mut scan = self.scan.again(&look);
        let not_begun = self.workers.examine_all(&mut scan, &look, &mut counting, |examined| {
            stranded += u64::from(examined.outcome.is_costly());
            agent = agent.take().or(examined.agent_name);
        })?;
        let at_least = counted_max <= stranded || 0 < not_begun.count || scan.has_more();
        let guarded = Guarded { stranded, at_least, undecided: false, in_progress };
        Ok(Estimate { guarded, is_counted: true, agent })
    }
}
