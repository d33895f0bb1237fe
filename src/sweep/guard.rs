//! The guard: before a kind is touched, how much of it would be?
//!
//! Each tenant is judged, in it the agent that has most of the subjects in progress, and the kind as a whole; the
//! smallest part that is implausible is held back. Otherwise whoever writes one tenant's rows, or the rows of one
//! agent, could stop the sweep for all others.
//!
//! Counting costs next to nothing as long as there are few candidates. Only when there are suspiciously many is each of
//! them decided, as in a dry run, until it is certain: candidates that wait or have healed are no reason to stop.
//! decisions.md#the-guard-counts-decisions, decisions.md#the-guard-holds-back-the-smallest-part

use std::collections::HashMap;
use std::time::Instant;

use anyhow::Result;

use super::logs;
use super::workers::Workers;
use super::{ExamineContext, Limits, Outcome, Scan, WakeBudget, share_of};
use crate::rules::{Guard, Id, Kind};
use crate::store::work::candidates::{Part, Portion};
use crate::store::work::counts::{Guarded, HeldBack};
use crate::store::work::outbox::{self, Details, Event, Notice};
use crate::store::{Access, DbConnection, Subject};

/// Up to this number subjects are counted to the end, so that the number that is reported is the whole one.
const COUNTED_MAX: u64 = 1000;

/// More tenants are not judged one by one: a picture in which so many are implausible is false as a whole.
const TENANTS_MAX: i64 = 50;

/// What is held back of a kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Withheld {
    #[default]
    Nothing,
    /// The rest is swept.
    Parts(Vec<HeldBack>),
    Everything(Guarded),
}

/// What must be held back of this kind?
pub fn assess<S: Subject>(
    guard: Guard,
    scan: &mut Scan<S>,
    workers: &mut Workers,
    context: &ExamineContext,
    limits: &Limits,
) -> Result<Withheld> {
    // Half of the time that is left is the sweep's.
    let until = share_of(limits.deadline, 2);
    let (held, tenants, others) = (Vec::new(), Vec::new(), Estimate::default());
    let mut judge = Judge { guard, context, scan, workers, limits, until, held, tenants, others };
    let held = judge.find();
    judge.scan.end_questions();
    held
}

/// A kind that is judged, one tenant after the other.
struct Judge<'a, 'b, 'c, S: Subject> {
    guard: Guard,
    context: &'a ExamineContext<'c>,
    scan: &'a mut Scan<'b, S>,
    workers: &'a mut Workers,
    limits: &'a Limits,
    /// The time after which nothing is counted any more.
    until: Instant,
    held: Vec<HeldBack>,
    /// The tenants that are judged one by one, each without what is held back of it.
    tenants: Vec<(Portion, Estimate)>,
    /// All other tenants together.
    others: Estimate,
}

impl<S: Subject> Judge<'_, '_, '_, S> {
    fn find(&mut self) -> Result<Withheld> {
        let (whole, min) = (self.context.part, self.guard.min);
        if self.scan.count_if_few()?.is_some_and(|candidates| candidates <= min.into()) {
            return Ok(Withheld::Nothing);
        }
        let tenants = self.tenants_with(&whole, min.into())?;
        let named = self.held_and(tenants.iter().map(|(tenant, _)| tenant));
        let of_others = Part { except: &named, ..whole };
        self.others = self.estimate(&of_others)?;
        // Those with the fewest first: a tenant that takes long takes no time of the others.
        self.tenants = tenants.into_iter().rev().collect();
        if !self.others.is_counted && self.stops(&mut self.rest()) {
            self.count_others(&of_others)?;
        }
        for (tenant, estimate) in std::mem::take(&mut self.tenants) {
            self.judge_tenant(tenant, estimate)?;
        }
        let rest = self.judge_rest(&of_others)?;
        let parts = self.held.iter().map(|part| part.guarded).reduce(Guarded::and);
        Ok(match (rest, parts) {
            (None, None) => Withheld::Nothing,
            (None, Some(parts)) if self.is_all_held(whole)? => Withheld::Everything(parts),
            (None, Some(_)) => Withheld::Parts(std::mem::take(&mut self.held)),
            (Some(rest), parts) => Withheld::Everything(parts.map_or(rest, |parts| rest.and(parts))),
        })
    }

    /// Is nothing in progress but what is held back?
    fn is_all_held(&mut self, whole: Part) -> Result<bool> {
        let except = self.held_and(self.held.iter().map(|part| &part.portion));
        Ok(self.in_progress(&Part { except: &except, ..whole })? == 0)
    }

    /// Holds back the smallest part of a tenant's subjects that is implausible.
    fn judge_tenant(&mut self, tenant: Portion, mut estimate: Estimate) -> Result<()> {
        let whole = tenant.part(self.context.part.except);
        // An agent that has all of them is judged with the tenant.
        if !self.is_over()
            && let Some(agent) = self.agent_with_most(&whole, estimate.guarded.in_progress)?
            && let Some(held) = self.judge_agent(Portion { group: Some(agent), ..tenant.clone() })?
        {
            self.held.push(held);
            estimate = self.estimate(&tenant.part(&self.held_of(&tenant)))?;
        }
        self.judge(&tenant.part(&self.held_of(&tenant)), &mut estimate)?;
        self.hold_or_keep(tenant, estimate);
        Ok(())
    }

    fn judge_agent(&mut self, portion: Portion) -> Result<Option<HeldBack>> {
        let part = portion.part(self.context.part.except);
        let mut estimate = self.estimate(&part)?;
        self.judge(&part, &mut estimate)?;
        let is_held = self.stops(&mut estimate.guarded);
        let Estimate { guarded, agent, .. } = estimate;
        Ok(is_held.then(|| HeldBack::new(portion, agent.as_deref(), guarded)))
    }

    /// Judges what is left as a whole. Each tenant is counted by itself: one that takes long is held back alone.
    fn judge_rest(&mut self, of_others: &Part) -> Result<Option<Guarded>> {
        while self.stops(&mut self.rest()) {
            if !self.others.is_counted {
                self.count_others(of_others)?;
            } else if let Some(at) = self.tenants.iter().position(|(_, estimate)| !estimate.is_counted) {
                let (tenant, estimate) = self.tenants.remove(at);
                let except = self.held_of(&tenant);
                let counted = self.count(&tenant.part(&except), estimate.guarded.in_progress)?;
                self.hold_or_keep(tenant, counted);
            } else {
                return self.judge_small(of_others);
            }
        }
        Ok(None)
    }

    /// Judges together the tenants of which so few are stranded that each is plausible. If they are not plausible
    /// together, the one without which they were is held back; else all that is left: the picture is false as a whole.
    fn judge_small(&mut self, of_others: &Part) -> Result<Option<Guarded>> {
        let mut small = self.small();
        if !self.stops(&mut small) {
            return Ok(None);
        }
        if !small.at_least {
            for (tenant, estimate) in self.tenants_with(of_others, 0)? {
                if self.is_over() {
                    return Ok(Some(Guarded { at_least: true, undecided: true, ..self.rest() }));
                }
                let part = tenant.part(self.context.part.except);
                let counted = self.count(&part, estimate.guarded.in_progress)?;
                self.others.guarded = self.others.guarded.without(&counted.guarded);
                self.hold_or_keep(tenant, counted);
            }
            self.hold_one();
        }
        let (mut small, mut rest) = (self.small(), self.rest());
        Ok((self.stops(&mut small) && self.stops(&mut rest)).then_some(rest))
    }

    fn count_others(&mut self, of_others: &Part) -> Result<()> {
        let in_progress = self.others.guarded.in_progress;
        self.others = self.count(of_others, self.rest().in_progress)?;
        self.others.guarded.in_progress = in_progress;
        Ok(())
    }

    fn hold_or_keep(&mut self, tenant: Portion, mut estimate: Estimate) {
        match self.stops(&mut estimate.guarded) {
            true => self.hold(tenant, estimate.guarded),
            false => self.tenants.push((tenant, estimate)),
        }
    }

    /// Holds back all of a tenant: this, and what is held back of it already.
    fn hold(&mut self, tenant: Portion, guarded: Guarded) {
        let (of_tenant, others): (Vec<HeldBack>, _) =
            self.held.drain(..).partition(|part| part.portion.tenant == tenant.tenant);
        let guarded = of_tenant.iter().map(|part| part.guarded).fold(guarded, Guarded::and);
        self.held = others;
        self.held.push(HeldBack::new(tenant, None, guarded));
    }

    /// Holds back the one small tenant without which most of the others is at work, if there is such a one.
    fn hold_one(&mut self) {
        let (small, guard) = (self.small(), self.guard);
        let is_it = |it: &Guarded| {
            let others = small.without(it);
            is_small(&guard, it) && !guard.exceeds_share(others.stranded, others.in_progress)
        };
        let found = (0..self.tenants.len()).filter(|at| is_it(&self.tenants[*at].1.guarded));
        if let Some(at) = found.max_by_key(|at| self.tenants[*at].1.guarded.stranded) {
            let (tenant, estimate) = self.tenants.remove(at);
            self.hold(tenant, estimate.guarded);
        }
    }

    /// What is held back anyway, and of this tenant.
    fn held_of(&self, tenant: &Portion) -> Vec<Portion> {
        let portions = self.held.iter().map(|part| &part.portion);
        self.held_and(portions.filter(|portion| portion.tenant == tenant.tenant))
    }

    /// All that is not held back.
    fn rest(&self) -> Guarded {
        self.tenants.iter().map(|(_, estimate)| estimate.guarded).fold(self.others.guarded, Guarded::and)
    }

    /// The tenants of which so few are stranded that each is plausible, together.
    fn small(&self) -> Guarded {
        let all = self.tenants.iter().map(|(_, estimate)| estimate.guarded);
        all.filter(|it| is_small(&self.guard, it)).fold(self.others.guarded, Guarded::and)
    }

    // The questions by which the guard finds out how much of a part would be touched.

    /// The tenants with more candidates than that, those with the most first, and the most that may be stranded of
    /// each: two questions for all of them.
    fn tenants_with(&mut self, part: &Part, more_than: i64) -> Result<Vec<(Portion, Estimate)>> {
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
    fn is_over(&self) -> bool {
        self.until <= Instant::now()
    }

    /// The agent that has most of the subjects in progress, but not all of them.
    fn agent_with_most(&mut self, part: &Part, in_progress: u64) -> Result<Option<Id>> {
        let largest = self.scan.question("looking at", |db| S::largest_group(db, part))?;
        let has_most = |subjects: u64| subjects < in_progress && in_progress < 2 * subjects;
        Ok(largest.filter(|(_, subjects)| has_most(*subjects as u64)).map(|(agent, _)| agent))
    }

    fn in_progress(&mut self, part: &Part) -> Result<u64> {
        self.scan.question("looking at", |db| Ok(S::count_in_progress(db, part)? as u64))
    }

    /// The most that may be stranded of this part: all candidates.
    fn estimate(&mut self, part: &Part) -> Result<Estimate> {
        let candidates = self.scan.question("looking at", |db| Ok(S::count_candidates(db, part)? as u64))?;
        Ok(Estimate::at_most(candidates, self.in_progress(part)?))
    }

    /// What is held back anyway, and these.
    fn held_and<'p>(&self, portions: impl IntoIterator<Item = &'p Portion>) -> Vec<Portion> {
        self.context.part.except.iter().cloned().chain(portions.into_iter().cloned()).collect()
    }

    /// Counts this part if the estimate alone is implausible.
    fn judge(&mut self, part: &Part, estimate: &mut Estimate) -> Result<()> {
        if !estimate.is_counted && self.stops(&mut estimate.guarded) {
            *estimate = self.count(part, estimate.guarded.in_progress)?;
        }
        Ok(())
    }

    /// Are these numbers implausible, or was there no time to tell? Cut short by the sweep's own deadline or a signal,
    /// they say nothing; but then nothing more is begun either.
    fn stops(&self, guarded: &mut Guarded) -> bool {
        let stops = self.guard.stops(guarded.stranded, guarded.in_progress);
        guarded.undecided = guarded.at_least && !stops && !self.limits.are_over();
        stops || guarded.undecided
    }

    /// Decides each of them, as in a dry run, in half of the time that is left to the guard.
    fn count(&mut self, part: &Part, in_progress: u64) -> Result<Estimate> {
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
        let (left, deadline) = (u32::try_from(counted_max).ok(), share_of(self.until, 2));
        let mut counting = Limits { left, deadline, counts: Outcome::is_costly, ..self.limits.clone() };
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

fn is_small(guard: &Guard, guarded: &Guarded) -> bool {
    guarded.stranded <= guard.min.into()
}

/// Logs what is held back, and has people notified of it. That it cannot be queued is logged, and no reason for the
/// sweep to fail.
pub fn announce(db: &mut DbConnection, kind: Kind, held: &Withheld, context: &ExamineContext) {
    let said: Vec<(String, Guarded, String)> = match held {
        Withheld::Nothing => Vec::new(),
        Withheld::Everything(guarded) => vec![(String::new(), *guarded, guarded.sentence(kind))],
        Withheld::Parts(parts) => {
            parts.iter().map(|part| (part.portion.to_string(), part.guarded, part.sentence(kind))).collect()
        }
    };
    for (part, guarded, reason) in said {
        logs::guard(kind, &guarded, &reason);
        if context.access == Access::ReadOnly {
            continue;
        }
        let details = Details { reason, ..Details::default() };
        let (event, sweep_id) = (Event::GuardStopped, context.sweep_id);
        let notice = Notice { event, kind: kind.name(), subject_id: None, sweep_id, details };
        let queued = db.in_transaction(Access::Write, &context.timeouts, |db| {
            outbox::queue_guard(db, context.subscriptions, &notice, &part)
        });
        if let Err(abort) = queued {
            logs::unqueued(kind, abort);
        }
    }
}

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
