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

use anyhow::Result;
use tracing::debug;

use super::context::ExamineContext;
use super::limits::{Limits, WakeBudget};
use super::logs;
use super::outcome::Outcome;
use super::scan::Scan;
use super::workers::Workers;
use crate::store::candidates::{Part, Portion};
use crate::store::counts::Guarded;
use crate::store::{Access, Subject, guarded};
use crate::text::redact;
pub use held::{Held, announce};
use judged::{Counted, Judged, Verdict};
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
}

impl<S: Subject> Judge<'_, '_, '_, S> {
    /// What must be held back of this kind?
    pub fn held(&mut self) -> Result<Held> {
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
        let of_parts = found.parts.iter().map(|part| part.guarded).reduce(Guarded::and);
        Ok(match (found.rest, of_parts) {
            (None, None) => Held::Nothing,
            (None, Some(guarded)) if self.in_progress(&Part { except: &self.without(&found.parts), ..whole })? == 0 => {
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
        let mut judged = Judged::default();
        for tenant in &tenants {
            self.of_tenant(tenant, &mut judged)?;
        }
        let rest = self.of_rest(whole, &tenants, &mut judged)?;
        Ok(Found { parts: judged.held, rest })
    }

    /// Holds back the smallest part of a tenant's subjects that is implausible.
    fn of_tenant(&mut self, tenant: &Portion, judged: &mut Judged) -> Result<()> {
        if let Some(stands) = self.standing(tenant)? {
            judged.held.push(stands);
            return Ok(());
        }
        let whole = tenant.part(self.context.held);
        let in_progress = self.in_progress(&whole)?;
        let largest = self.scan.question("looking at", |db| S::largest_group(db, &whole))?;
        // Who has all of them is judged with the tenant.
        let has_most = |subjects: u64| subjects < in_progress && in_progress < 2 * subjects;
        if let Some((group, _)) = largest.filter(|(_, subjects)| has_most(*subjects as u64)) {
            judged.held.extend(self.of_agent(Portion { group: Some(group), ..tenant.clone() })?);
        }
        match self.judge(&tenant.part(&self.without(&judged.held)))? {
            Verdict::Plausible(counted) => judged.plausible.extend(counted.map(|guarded| (tenant.clone(), guarded))),
            Verdict::Implausible(Counted { guarded, .. }) => judged.hold(tenant.clone(), guarded),
        }
        Ok(())
    }

    /// Judges what is left as a whole. Each tenant is counted by itself, so that one that takes long is held back alone.
    fn of_rest(&mut self, whole: &Part, tenants: &[Portion], judged: &mut Judged) -> Result<Option<Guarded>> {
        for tenant in tenants {
            if self.unknown(whole, judged)?.is_none() {
                return Ok(None);
            }
            if !judged.knows(tenant) {
                let except = self.without(&judged.held);
                let part = tenant.part(&except);
                let in_progress = self.in_progress(&part)?;
                let Counted { mut guarded, .. } = self.count(&part, in_progress)?;
                match self.stops(&mut guarded) {
                    true => judged.hold(tenant.clone(), guarded),
                    false => judged.plausible.push((tenant.clone(), guarded)),
                }
            }
        }
        let Some(in_progress) = self.unknown(whole, judged)? else { return Ok(None) };
        let Counted { guarded, .. } =
            self.count(&Part { except: &self.except(judged), ..whole.clone() }, in_progress)?;
        let others = Guarded { in_progress: in_progress - judged.known().in_progress, ..guarded };
        // A tenant that is just plausible must not tip the balance for all others: those with the most go first.
        loop {
            let mut rest = others.and(judged.known());
            if !self.stops(&mut rest) {
                return Ok(None);
            }
            if rest.undecided || judged.plausible.is_empty() {
                return Ok(Some(rest));
            }
            let (tenant, guarded) = judged.plausible.remove(0);
            judged.hold(tenant, guarded);
        }
    }

    /// How many are in progress of what is not held back, if it may be implausible, as far as candidates that nobody
    /// counted tell.
    fn unknown(&mut self, whole: &Part, judged: &Judged) -> Result<Option<u64>> {
        let (except, known) = (self.except(judged), judged.known());
        let others = Part { except: &except, ..whole.clone() };
        let in_progress = known.in_progress + self.in_progress(&others)?;
        let stranded_max = known.stranded + self.candidates(&others)?;
        Ok(self.memory.guard.stops(stranded_max, in_progress).then_some(in_progress))
    }

    fn of_agent(&mut self, portion: Portion) -> Result<Option<HeldPart>> {
        if let Some(stands) = self.standing(&portion)? {
            return Ok(Some(stands));
        }
        Ok(match self.judge(&portion.part(self.context.held))? {
            Verdict::Plausible(_) => None,
            Verdict::Implausible(Counted { guarded, agent }) => Some(HeldPart { portion, agent, guarded }),
        })
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
        if !self.stands(&rest, &Part { except: &self.without(&parts), ..whole.clone() })? {
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
    fn without(&self, parts: &[HeldPart]) -> Vec<Portion> {
        self.context.held.iter().chain(parts.iter().map(|part| &part.portion)).cloned().collect()
    }

    /// What is held back, and the tenants that were counted.
    fn except(&self, judged: &Judged) -> Vec<Portion> {
        let counted = judged.plausible.iter().map(|(tenant, _)| tenant.clone());
        self.without(&judged.held).into_iter().chain(counted).collect()
    }

    fn candidates(&mut self, part: &Part) -> Result<u64> {
        self.scan.question("looking at", |db| Ok(S::count_candidates(db, part)? as u64))
    }

    fn in_progress(&mut self, part: &Part) -> Result<u64> {
        self.scan.question("looking at", |db| Ok(S::count_in_progress(db, part)? as u64))
    }

    /// Would implausibly much of this part be continued or escalated?
    fn judge(&mut self, part: &Part) -> Result<Verdict> {
        let candidates = self.candidates(part)?;
        if candidates <= self.memory.guard.min.into() {
            return Ok(Verdict::Plausible(None));
        }
        let in_progress = self.in_progress(part)?;
        if !self.memory.guard.stops(candidates, in_progress) {
            return Ok(Verdict::Plausible(None));
        }
        let mut counted = self.count(part, in_progress)?;
        Ok(match self.stops(&mut counted.guarded) {
            true => Verdict::Implausible(counted),
            false => Verdict::Plausible(Some(counted.guarded)),
        })
    }

    /// Are these numbers implausible, or was there no time to tell? Cut short by the sweep's own deadline or a signal,
    /// they say nothing; but then nothing more is begun either.
    fn stops(&self, counted: &mut Guarded) -> bool {
        let stops = self.memory.guard.stops(counted.stranded, counted.in_progress);
        counted.undecided = counted.at_least && !stops && !self.limits.are_over();
        stops || counted.undecided
    }

    /// Decides each of them, as in a dry run, in half of the time that is left.
    fn count(&mut self, part: &Part, in_progress: u64) -> Result<Counted> {
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
        counting.share(self.limits.deadline, 2);
        let (mut stranded, mut agent) = (0, None);
        let mut scan = self.scan.again(&look);
        let not_begun = self.workers.examine_all(&mut scan, &look, &mut counting, |examined| {
            stranded += u64::from(examined.outcome.is_costly());
            agent = agent.take().or(examined.agent_name);
        })?;
        let at_least = counted_max <= stranded || 0 < not_begun.count || scan.has_more();
        Ok(Counted { guarded: Guarded { stranded, at_least, undecided: false, in_progress }, agent })
    }
}
