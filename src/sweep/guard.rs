//! The guard: before a kind is touched, how much of it would be?
//!
//! Each tenant is judged, in it the agent that has most of the subjects in progress, and the kind as a whole; the
//! smallest part that is implausible is held back. Otherwise whoever writes one tenant's rows, or the rows of one
//! agent, could stop the sweep for all others.
//!
//! Counting costs next to nothing as long as there are few candidates. Only when there are suspiciously many is each of
//! them decided, as in a dry run, until it is certain: candidates that wait or have healed are no reason to stop.

mod held;
mod judged;
mod memory;

use std::time::Instant;

use anyhow::Result;
use tracing::debug;

use super::context::ExamineContext;
use super::limits::{Limits, WakeBudget, share_of};
use super::logs;
use super::outcome::Outcome;
use super::scan::Scan;
use super::workers::Workers;
use crate::store::candidates::{Part, Portion};
use crate::store::counts::Guarded;
use crate::store::{Access, Subject, guarded};
use crate::text::redact;
pub use held::{Held, announce};
use judged::{Estimate, Judged};
pub use memory::Memory;
use memory::{Found, HeldPart};

/// So many are counted to the end, so that the number that is reported is the whole one.
const COUNTED_MAX: u64 = 1000;

/// More tenants are not judged one by one: a picture in which so many are implausible is false as a whole.
const TENANTS_MAX: usize = 50;

/// What a judgement takes.
pub struct Judge<'a, 'b, 'c, S: Subject> {
    pub memory: &'a mut Memory,
    pub scan: &'a mut Scan<'b, S>,
    pub workers: &'a mut Workers,
    pub context: &'a ExamineContext<'c>,
    pub limits: &'a Limits,
    /// Nothing is counted after it.
    pub until: Instant,
}

impl<S: Subject> Judge<'_, '_, '_, S> {
    /// What must be held back of this kind? Half of the time that is left is the sweep's.
    pub fn held(&mut self) -> Result<Held> {
        self.until = share_of(self.limits.deadline, 2);
        let held = self.of_kind();
        self.scan.end_questions();
        held
    }

    fn of_kind(&mut self) -> Result<Held> {
        let whole = Part { tenant: self.context.tenant, except: self.context.held, ..Part::whole() };
        let found = self.find(&whole)?;
        if let Some(decided_at) = self.memory.note(S::KIND, &found) {
            logs::taken_over(S::KIND, decided_at);
        }
        let except = self.without(portions(&found.parts));
        let of_parts = found.parts.iter().map(|part| part.guarded).reduce(Guarded::and);
        Ok(match (found.rest, of_parts) {
            (None, None) => Held::Nothing,
            (None, Some(guarded)) if self.in_progress(&Part { except: &except, ..whole })? == 0 => {
                Held::Everything(guarded)
            }
            (None, Some(_)) => Held::Parts(found.parts.into_iter().map(HeldPart::into_held_back).collect()),
            (Some(rest), None) => Held::Everything(rest),
            (Some(rest), Some(guarded)) => Held::Everything(rest.and(guarded)),
        })
    }

    fn find(&mut self, whole: &Part) -> Result<Found> {
        let min = i64::from(self.memory.guard.min);
        if self.scan.count_if_few()?.is_some_and(|candidates| candidates <= min as u64) {
            return Ok(Found::default());
        }
        self.recall();
        if let Some(found) = self.standing_rest(whole)? {
            return Ok(found);
        }
        let tenants =
            self.scan.question("looking at", |db| S::tenants_of_candidates(db, whole, min, TENANTS_MAX as i64))?;
        let tenants: Vec<Portion> = tenants.iter().map(|tenant| Portion::of_tenant(tenant)).collect();
        let of_others = self.without(&tenants);
        let of_others = Part { except: &of_others, ..whole.clone() };
        let mut judged = Judged { others: self.estimate(&of_others)?, ..Judged::default() };
        for tenant in tenants.into_iter().rev() {
            match self.standing(&tenant)? {
                Some(stands) => judged.held.push(stands),
                None => {
                    let estimate = self.estimate(&tenant.part(self.context.held))?;
                    judged.tenants.push((tenant, estimate));
                }
            }
        }
        // Those with the fewest first: a tenant that takes long takes no time of the others.
        if !judged.others.is_counted && self.stops(&mut judged.rest()) {
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
        let in_progress = estimate.guarded.in_progress;
        let largest = self.scan.question("looking at", |db| S::largest_group(db, &whole))?;
        // Who has all of them is judged with the tenant.
        let has_most = |subjects: u64| subjects < in_progress && in_progress < 2 * subjects;
        if let Some((group, _)) = largest.filter(|(_, subjects)| has_most(*subjects as u64))
            && let Some(agent) = self.of_agent(Portion { group: Some(group), ..tenant.clone() })?
        {
            judged.held.push(agent);
            estimate = self.estimate(&tenant.part(&self.without(judged.held_of(&tenant))))?;
        }
        self.judge(&tenant.part(&self.without(judged.held_of(&tenant))), &mut estimate)?;
        match self.stops(&mut estimate.guarded) {
            true => judged.hold(tenant, estimate.guarded),
            false => judged.tenants.push((tenant, estimate)),
        }
        Ok(())
    }

    /// Judges what is left as a whole. Each tenant is counted by itself: one that takes long is held back alone.
    fn of_rest(&mut self, of_others: &Part, judged: &mut Judged) -> Result<Option<Guarded>> {
        loop {
            let mut rest = judged.rest();
            if !self.stops(&mut rest) {
                return Ok(None);
            }
            if !judged.others.is_counted {
                self.count_others(of_others, judged)?;
            } else if let Some(at) = judged.tenants.iter().position(|(_, estimate)| !estimate.is_counted) {
                let (tenant, estimate) = judged.tenants.remove(at);
                let except = self.without(judged.held_of(&tenant));
                let mut counted = self.count(&tenant.part(&except), estimate.guarded.in_progress)?;
                match self.stops(&mut counted.guarded) {
                    true => judged.hold(tenant, counted.guarded),
                    false => judged.tenants.insert(at, (tenant, counted)),
                }
            } else {
                // One that is just plausible must not tip the balance for all others: those with the most go first.
                match judged.tenants.pop().filter(|_| !rest.undecided) {
                    Some((tenant, estimate)) => judged.hold(tenant, estimate.guarded),
                    None => return Ok(Some(rest)),
                }
            }
        }
    }

    fn count_others(&mut self, of_others: &Part, judged: &mut Judged) -> Result<()> {
        let in_progress = judged.others.guarded.in_progress;
        judged.others = self.count(of_others, judged.rest().in_progress)?;
        judged.others.guarded.in_progress = in_progress;
        Ok(())
    }

    fn of_agent(&mut self, portion: Portion) -> Result<Option<HeldPart>> {
        if let Some(stands) = self.standing(&portion)? {
            return Ok(Some(stands));
        }
        let part = portion.part(self.context.held);
        let mut estimate = self.estimate(&part)?;
        self.judge(&part, &mut estimate)?;
        let is_held = self.stops(&mut estimate.guarded);
        let Estimate { guarded, agent, .. } = estimate;
        Ok(is_held.then_some(HeldPart { portion, agent, guarded }))
    }

    /// What the latest sweep held back. Whoever may only look need not have the right to read that, and then decides
    /// all of it.
    fn recall(&mut self) {
        let (policy, (from, until)) = (self.context.policy, self.memory.span());
        let rows = self.scan.question("recalling what was held back of", |db| guarded::latest(db, policy, from, until));
        let known = rows.inspect_err(|error| debug!("it is decided anew: {}", redact(&format!("{error:#}"))));
        self.memory.recall(S::KIND, known.unwrap_or_default());
    }

    /// This part, if it was held back and still would be, were as many stranded now; how many are is not looked into.
    fn standing(&mut self, portion: &Portion) -> Result<Option<HeldPart>> {
        let Some(part) = self.memory.part(portion) else { return Ok(None) };
        if !self.stands(&part.guarded, &portion.part(self.context.held))? {
            return Ok(None);
        }
        self.memory.take_over();
        Ok(Some(part))
    }

    /// All of the kind, if the rest stands, and each of the parts is no better than it was.
    fn standing_rest(&mut self, whole: &Part) -> Result<Option<Found>> {
        let Some((parts, rest)) = self.memory.with_rest() else { return Ok(None) };
        if !self.stands(&rest, &Part { except: &self.without(portions(&parts)), ..whole.clone() })? {
            return Ok(None);
        }
        for HeldPart { portion, guarded, .. } in &parts {
            let part = portion.part(self.context.held);
            let is_no_better =
                self.in_progress(&part)? <= guarded.in_progress && guarded.stranded <= self.candidates(&part)?;
            if !is_no_better && !self.stands(guarded, &part)? {
                return Ok(None);
            }
        }
        self.memory.take_over();
        Ok(Some(Found { parts, rest: Some(rest) }))
    }

    fn stands(&mut self, before: &Guarded, part: &Part) -> Result<bool> {
        let guard = self.memory.guard;
        Ok(before.stranded <= self.candidates(part)? && guard.stops(before.stranded, self.in_progress(part)?))
    }

    /// What is held back anyway, and these.
    fn without<'p>(&self, portions: impl IntoIterator<Item = &'p Portion>) -> Vec<Portion> {
        self.context.held.iter().cloned().chain(portions.into_iter().cloned()).collect()
    }

    fn candidates(&mut self, part: &Part) -> Result<u64> {
        self.scan.question("looking at", |db| Ok(S::count_candidates(db, part)? as u64))
    }

    fn in_progress(&mut self, part: &Part) -> Result<u64> {
        self.scan.question("looking at", |db| Ok(S::count_in_progress(db, part)? as u64))
    }

    /// The most that may be stranded of this part: all candidates.
    fn estimate(&mut self, part: &Part) -> Result<Estimate> {
        let (stranded, in_progress) = (self.candidates(part)?, self.in_progress(part)?);
        let guarded = Guarded { stranded, in_progress, ..Guarded::default() };
        Ok(Estimate { guarded, is_counted: stranded == 0, agent: None })
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
        let stops = self.memory.guard.stops(guarded.stranded, guarded.in_progress);
        guarded.undecided = guarded.at_least && !stops && !self.limits.are_over();
        stops || guarded.undecided
    }

    /// Decides each of them, as in a dry run, in half of the time that is left to the guard.
    fn count(&mut self, part: &Part, in_progress: u64) -> Result<Estimate> {
        let counted_max = self.memory.guard.stranded_max(in_progress).max(COUNTED_MAX) + 1;
        let look = ExamineContext {
            access: Access::ReadOnly,
            plan: None,
            shard: None,
            tenant: part.tenant,
            group: part.group,
            held: part.except,
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

fn portions(parts: &[HeldPart]) -> impl Iterator<Item = &Portion> {
    parts.iter().map(|part| &part.portion)
}
