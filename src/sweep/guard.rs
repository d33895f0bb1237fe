//! The guard: before a kind is touched, how much of it would be?
//!
//! Each tenant is judged, in it the agent that has most of the subjects in progress, and the kind as a whole; the
//! smallest part that is implausible is held back. Otherwise whoever writes one tenant's rows, or the rows of one
//! agent, could stop the sweep for all others.
//!
//! Counting costs next to nothing as long as there are few candidates. Only when there are suspiciously many is each of
//! them decided, as in a dry run, until it is certain: candidates that wait or have healed are no reason to stop.

mod evidence;
mod held;
mod judged;
mod memory;

use anyhow::Result;
use tracing::debug;

use super::context::ExamineContext;
use super::limits::Limits;
use super::logs;
use super::scan::Scan;
use super::workers::Workers;
use crate::store::Subject;
use crate::store::work::candidates::{Part, Portion};
use crate::store::work::counts::Guarded;
use crate::store::work::guarded;
use crate::text::redact;
use evidence::Evidence;
pub use held::{Held, announce};
use judged::{Estimate, Judged};
pub use memory::Memory;
use memory::{Found, HeldPart};

/// What must be held back of this kind?
pub fn judge<S: Subject>(
    memory: &mut Memory,
    scan: &mut Scan<S>,
    workers: &mut Workers,
    context: &ExamineContext,
    limits: &Limits,
) -> Result<Held> {
    let evidence = Evidence::new(memory.guard, scan, workers, context, limits);
    let mut judge = Judge { memory, context, evidence };
    let held = judge.held();
    judge.evidence.scan.end_questions();
    held
}

struct Judge<'a, 'b, 'c, S: Subject> {
    memory: &'a mut Memory,
    context: &'a ExamineContext<'c>,
    evidence: Evidence<'a, 'b, 'c, S>,
}

impl<S: Subject> Judge<'_, '_, '_, S> {
    fn held(&mut self) -> Result<Held> {
        let whole = Part { tenant: self.context.tenant, except: self.context.held, ..Part::whole() };
        let found = self.find(&whole)?;
        if let Some(decided_at) = self.memory.note(S::KIND, &found) {
            logs::taken_over(S::KIND, decided_at);
        }
        let except = self.without(portions(&found.parts));
        let of_parts = found.parts.iter().map(|part| part.guarded).reduce(Guarded::and);
        Ok(match (found.rest, of_parts) {
            (None, None) => Held::Nothing,
            (None, Some(guarded)) if self.evidence.in_progress(&Part { except: &except, ..whole })? == 0 => {
                Held::Everything(guarded)
            }
            (None, Some(_)) => Held::Parts(found.parts.into_iter().map(HeldPart::into_held_back).collect()),
            (Some(rest), None) => Held::Everything(rest),
            (Some(rest), Some(guarded)) => Held::Everything(rest.and(guarded)),
        })
    }

    fn find(&mut self, whole: &Part) -> Result<Found> {
        let min = self.memory.guard.min;
        if self.evidence.scan.count_if_few()?.is_some_and(|candidates| candidates <= min.into()) {
            return Ok(Found::default());
        }
        self.recall();
        if let Some(found) = self.standing_rest(whole)? {
            return Ok(found);
        }
        let tenants = self.evidence.tenants(whole, min.into())?;
        let of_others = self.without(tenants.iter().map(|(tenant, _)| tenant));
        let of_others = Part { except: &of_others, ..whole.clone() };
        let mut judged = Judged { others: self.evidence.estimate(&of_others)?, ..Judged::default() };
        for (tenant, estimate) in tenants.into_iter().rev() {
            match self.standing(&tenant, &estimate) {
                Some(stands) => judged.held.push(stands),
                None => judged.tenants.push((tenant, estimate)),
            }
        }
        // Those with the fewest first: a tenant that takes long takes no time of the others.
        if !judged.others.is_counted && self.evidence.stops(&mut judged.rest()) {
            self.count_others(&of_others, &mut judged)?;
        }
        for (tenant, estimate) in std::mem::take(&mut judged.tenants) {
            self.of_tenant(tenant, estimate, &mut judged)?;
        }
        let rest = self.of_rest(&of_others, &mut judged)?;
        Ok(Found { parts: judged.held, rest })
    }

    /// Holds back the smallest part of a tenant's subjects that is implausible.
    fn of_tenant(&mut self, tenant: Portion, mut estimate: Estimate, judged: &mut Judged) -> Result<()> {
        let whole = tenant.part(self.context.held);
        // An agent that has all of them is judged with the tenant.
        if !self.evidence.is_over()
            && let Some(agent) = self.evidence.agent_with_most(&whole, estimate.guarded.in_progress)?
            && let Some(held) = self.of_agent(Portion { group: Some(agent), ..tenant.clone() })?
        {
            judged.held.push(held);
            estimate = self.evidence.estimate(&tenant.part(&self.without(judged.held_of(&tenant))))?;
        }
        self.evidence.judge(&tenant.part(&self.without(judged.held_of(&tenant))), &mut estimate)?;
        self.settle(tenant, estimate, judged);
        Ok(())
    }

    fn of_agent(&mut self, portion: Portion) -> Result<Option<HeldPart>> {
        let part = portion.part(self.context.held);
        let mut estimate = self.evidence.estimate(&part)?;
        if let Some(stands) = self.standing(&portion, &estimate) {
            return Ok(Some(stands));
        }
        self.evidence.judge(&part, &mut estimate)?;
        let is_held = self.evidence.stops(&mut estimate.guarded);
        let Estimate { guarded, agent, .. } = estimate;
        Ok(is_held.then_some(HeldPart { portion, agent, guarded }))
    }

    fn settle(&self, tenant: Portion, mut estimate: Estimate, judged: &mut Judged) {
        match self.evidence.stops(&mut estimate.guarded) {
            true => judged.hold(tenant, estimate.guarded),
            false => judged.tenants.push((tenant, estimate)),
        }
    }

    /// Judges what is left as a whole. Each tenant is counted by itself: one that takes long is held back alone.
    fn of_rest(&mut self, of_others: &Part, judged: &mut Judged) -> Result<Option<Guarded>> {
        while self.evidence.stops(&mut judged.rest()) {
            if !judged.others.is_counted {
                self.count_others(of_others, judged)?;
            } else if let Some(at) = judged.tenants.iter().position(|(_, estimate)| !estimate.is_counted) {
                let (tenant, estimate) = judged.tenants.remove(at);
                let except = self.without(judged.held_of(&tenant));
                let counted = self.evidence.count(&tenant.part(&except), estimate.guarded.in_progress)?;
                self.settle(tenant, counted, judged);
            } else {
                return self.of_small(of_others, judged);
            }
        }
        Ok(None)
    }

    /// The tenants of which so few are stranded that each is plausible must be plausible together as well. If they are
    /// not, the one without which they were is held back; else all that is left: the picture is false as a whole.
    fn of_small(&mut self, of_others: &Part, judged: &mut Judged) -> Result<Option<Guarded>> {
        let guard = self.memory.guard;
        let mut small = judged.small(&guard);
        if !self.evidence.stops(&mut small) {
            return Ok(None);
        }
        if !small.at_least {
            for (tenant, estimate) in self.evidence.tenants(of_others, 0)? {
                if self.evidence.is_over() {
                    return Ok(Some(Guarded { at_least: true, undecided: true, ..judged.rest() }));
                }
                let part = tenant.part(self.context.held);
                let counted = self.evidence.count(&part, estimate.guarded.in_progress)?;
                judged.others.guarded = judged.others.guarded.without(&counted.guarded);
                self.settle(tenant, counted, judged);
            }
            judged.hold_one(&guard);
        }
        let (mut small, mut rest) = (judged.small(&guard), judged.rest());
        Ok((self.evidence.stops(&mut small) && self.evidence.stops(&mut rest)).then_some(rest))
    }

    fn count_others(&mut self, of_others: &Part, judged: &mut Judged) -> Result<()> {
        let in_progress = judged.others.guarded.in_progress;
        judged.others = self.evidence.count(of_others, judged.rest().in_progress)?;
        judged.others.guarded.in_progress = in_progress;
        Ok(())
    }

    /// What the latest sweep held back. Whoever may only look need not have the right to read that, and then decides
    /// all of it.
    fn recall(&mut self) {
        let (policy, (from, until)) = (self.context.policy, self.memory.span());
        let ask = |db: &mut _| guarded::latest(db, policy, from, until);
        let known = self.evidence.scan.question("recalling what was held back of", ask);
        let known = known.inspect_err(|error| debug!("it is decided anew: {}", redact(&format!("{error:#}"))));
        self.memory.recall(S::KIND, known.unwrap_or_default());
    }

    /// This part, if it was held back and still would be.
    fn standing(&mut self, portion: &Portion, now: &Estimate) -> Option<HeldPart> {
        let stands = self.memory.part(portion).filter(|part| now.confirms(&part.guarded, &self.memory.guard))?;
        self.memory.take_over();
        Some(stands)
    }

    /// All of the kind, if the rest stands, and each of the parts is no better than it was.
    fn standing_rest(&mut self, whole: &Part) -> Result<Option<Found>> {
        let Some((parts, rest)) = self.memory.with_rest() else { return Ok(None) };
        if !self.evidence.stands(&rest, &Part { except: &self.without(portions(&parts)), ..whole.clone() })? {
            return Ok(None);
        }
        for HeldPart { portion, guarded, .. } in &parts {
            let part = portion.part(self.context.held);
            let is_no_better = self.evidence.in_progress(&part)? <= guarded.in_progress
                && guarded.stranded <= self.evidence.candidates(&part)?;
            if !is_no_better && !self.evidence.stands(guarded, &part)? {
                return Ok(None);
            }
        }
        self.memory.take_over();
        Ok(Some(Found { parts, rest: Some(rest) }))
    }

    /// What is held back anyway, and these.
    fn without<'p>(&self, portions: impl IntoIterator<Item = &'p Portion>) -> Vec<Portion> {
        self.context.held.iter().cloned().chain(portions.into_iter().cloned()).collect()
    }
}

fn portions(parts: &[HeldPart]) -> impl Iterator<Item = &Portion> {
    parts.iter().map(|part| &part.portion)
}
