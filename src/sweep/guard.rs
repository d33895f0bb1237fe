//! The guard: before a kind is touched, how much of it would be?
//!
//! Each tenant is judged, in it the agent that has most of the subjects in progress, and the kind as a whole; the
//! smallest part that is implausible is held back. Otherwise whoever writes one tenant's rows, or the rows of one
//! agent, could stop the sweep for all others.
//!
//! Counting costs next to nothing as long as there are few candidates. Only when there are suspiciously many is each of
//! them decided, as in a dry run, until it is certain: candidates that wait or have healed are no reason to stop.

mod memory;

use anyhow::Result;
use tracing::debug;

use super::context::ExamineContext;
use super::limits::{Limits, WakeBudget};
use super::logs;
use super::outcome::Outcome;
use super::scan::Scan;
use super::workers::Workers;
use crate::rules::Kind;
use crate::store::candidates::{Part, Portion};
use crate::store::counts::{COUNTED_MAX, Guarded, HeldBack};
use crate::store::outbox::{self, Details, Event, Notice};
use crate::store::{Access, DbConnection, Subject, guarded};
use crate::text::redact;
pub use memory::Memory;
use memory::{Found, HeldPart};

/// More tenants are not judged one by one: a picture in which so many are implausible is false as a whole.
const TENANTS_MAX: usize = 50;

/// What is held back of a kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Held {
    #[default]
    Nothing,
    /// The rest is swept.
    Parts(Vec<HeldBack>),
    Everything(Guarded),
}

/// How much of a part would be touched.
struct Counted {
    guarded: Guarded,
    /// The name of the agent that one of its subjects has.
    agent: Option<String>,
}

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
            self.scan.question("looking at", |db| S::tenants_of_candidates(db, whole, min, TENANTS_MAX as i64 + 1))?;
        let mut parts = Vec::new();
        for tenant in tenants.iter().take(TENANTS_MAX) {
            parts.extend(self.of_tenant(tenant)?);
        }
        let mut rest = self.judge(&Part { except: &self.without(&parts), ..whole.clone() })?;
        // A tenant that is just plausible must not tip the balance for all others: those with the most go first.
        for tenant in tenants.iter().take(TENANTS_MAX) {
            let is_held = |part: &HeldPart| part.portion.tenant == *tenant && part.portion.group.is_none();
            if rest.as_ref().is_some_and(|rest| !rest.guarded.is_cut_short()) && !parts.iter().any(is_held) {
                let all = Portion::of_tenant(tenant);
                let in_progress = self.in_progress(&all.part(self.context.held))?;
                let Counted { guarded, .. } = self.count(&all.part(self.context.held), in_progress)?;
                parts.retain(|part| part.portion.tenant != *tenant);
                parts.push(HeldPart { portion: all, agent: None, guarded });
                rest = self.judge(&Part { except: &self.without(&parts), ..whole.clone() })?;
            }
        }
        Ok(Found { parts, rest: rest.map(|rest| rest.guarded) })
    }

    /// The smallest part of a tenant's subjects that is implausible.
    fn of_tenant(&mut self, tenant: &str) -> Result<Option<HeldPart>> {
        let all = Portion::of_tenant(tenant);
        if let Some(stands) = self.standing(&all)? {
            return Ok(Some(stands));
        }
        let whole = all.part(self.context.held);
        let in_progress = self.in_progress(&whole)?;
        let largest = self.scan.question("looking at", |db| S::largest_group(db, &whole))?;
        // Who has all of them is judged with the tenant.
        let has_most = |subjects: u64| subjects < in_progress && in_progress < 2 * subjects;
        let agents = match largest.filter(|(_, subjects)| has_most(*subjects as u64)) {
            Some((group, _)) => self.of_agent(Portion { group: Some(group), ..all.clone() })?,
            None => None,
        };
        let rest = self.judge(&Part { except: &self.without(agents.as_slice()), ..whole })?;
        Ok(match (agents, rest) {
            (agents, None) => agents,
            (None, Some(Counted { guarded, .. })) => Some(HeldPart { portion: all, agent: None, guarded }),
            (Some(agents), Some(rest)) => {
                Some(HeldPart { portion: all, agent: None, guarded: agents.guarded.and(rest.guarded) })
            }
        })
    }

    fn of_agent(&mut self, portion: Portion) -> Result<Option<HeldPart>> {
        if let Some(stands) = self.standing(&portion)? {
            return Ok(Some(stands));
        }
        let counted = self.judge(&portion.part(self.context.held))?;
        Ok(counted.map(|Counted { guarded, agent }| HeldPart { portion, agent, guarded }))
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

    fn candidates(&mut self, part: &Part) -> Result<u64> {
        self.scan.question("looking at", |db| Ok(S::count_candidates(db, part)? as u64))
    }

    fn in_progress(&mut self, part: &Part) -> Result<u64> {
        self.scan.question("looking at", |db| Ok(S::count_in_progress(db, part)? as u64))
    }

    /// Would implausibly much of this part be continued or escalated?
    fn judge(&mut self, part: &Part) -> Result<Option<Counted>> {
        let candidates = self.candidates(part)?;
        if candidates <= self.memory.guard.min.into() {
            return Ok(None);
        }
        let in_progress = self.in_progress(part)?;
        if !self.memory.guard.stops(candidates, in_progress) {
            return Ok(None);
        }
        let counted = self.count(part, in_progress)?;
        // Cut short by the sweep's own deadline or a signal, it says nothing; but then nothing more is begun either.
        let is_undecided = counted.guarded.is_cut_short() && !self.limits.are_over();
        Ok((is_undecided || self.memory.guard.stops(counted.guarded.stranded, in_progress)).then_some(counted))
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
        Ok(Counted { guarded: Guarded { stranded, at_least, in_progress }, agent })
    }
}

/// Logs what is held back, and has people notified of it. That it cannot be queued is logged, and no reason for the
/// sweep to fail.
pub fn announce(db: &mut DbConnection, kind: Kind, held: &Held, context: &ExamineContext) {
    let said: Vec<(String, Guarded, String)> = match held {
        Held::Nothing => Vec::new(),
        Held::Everything(guarded) => vec![(String::new(), *guarded, guarded.sentence(kind))],
        Held::Parts(parts) => {
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
