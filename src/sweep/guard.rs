//! The guard: before a kind is touched, how much of it would be?
//!
//! Each tenant is judged, in it the agent that has most of the subjects in progress, and the kind as a whole; the smallest part that
//! is implausible is held back. Otherwise whoever writes one tenant's rows, or the rows of one agent, could stop the sweep for all others.
//!
//! Counting costs next to nothing as long as there are few candidates. Only when there are suspiciously many is each of
//! them decided, as in a dry run, until it is certain: candidates that wait or have healed are no reason to stop.

use anyhow::Result;

use super::limits::{Limits, Wakes};
use super::logs;
use super::scan::Scan;
use super::terms::Terms;
use super::workers::Workers;
use crate::report::{Guarded, HeldBack};
use crate::rules::{Guard, Kind};
use crate::store::candidates::{Part, Portion};
use crate::store::outbox::{self, Details, Event, Notice};
use crate::store::{Access, DbConnection, Subject};

/// So many are counted to the end, so that the number that is told is the whole one.
const COUNTED_MAX: u64 = 1000;

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
pub struct Judge<'a, 'b, 'c, S> {
    pub guard: &'a Guard,
    pub scan: &'a mut Scan<'b, S>,
    pub workers: &'a mut Workers,
    pub terms: &'a Terms<'c>,
    pub limits: &'a Limits,
}

impl<S: Subject> Judge<'_, '_, '_, S> {
    /// What must be held back of this kind?
    pub fn held(&mut self) -> Result<Held> {
        let min = i64::from(self.guard.min);
        if self.scan.count_if_few()?.is_some_and(|candidates| candidates <= min as u64) {
            return Ok(Held::Nothing);
        }
        let part = Part { tenant: self.terms.tenant, except: self.terms.held, ..Part::whole() };
        let tenants =
            self.scan.look("looking at", |db| S::tenants_of_candidates(db, &part, min, TENANTS_MAX as i64 + 1))?;
        let mut parts = Vec::new();
        for tenant in tenants.iter().take(TENANTS_MAX) {
            parts.extend(self.of_tenant(tenant)?);
        }
        let mut rest = self.judge_without(&parts, &part)?;
        // A tenant that is just plausible must not tip the balance for all others: those with the most go first.
        for tenant in tenants.iter().take(TENANTS_MAX) {
            let is_held = |part: &HeldBack| part.portion.tenant == *tenant && part.portion.group.is_none();
            if rest.is_some() && !parts.iter().any(is_held) {
                let whole = whole_tenant(tenant, self.terms);
                let in_progress = self.in_progress(&whole)?;
                parts.retain(|part| part.portion.tenant != *tenant);
                parts.push(of_whole_tenant(tenant, self.count(&whole, in_progress)?.guarded));
                rest = self.judge_without(&parts, &part)?;
            }
        }
        let of_parts = parts.iter().map(|part| part.guarded).reduce(Guarded::and);
        Ok(match (rest, of_parts) {
            (None, None) => Held::Nothing,
            (None, Some(guarded)) if guarded.in_progress == self.in_progress(&part)? => Held::Everything(guarded),
            (None, Some(_)) => Held::Parts(parts),
            (Some(rest), None) => Held::Everything(rest.guarded),
            (Some(rest), Some(guarded)) => Held::Everything(rest.guarded.and(guarded)),
        })
    }

    /// The smallest part of a tenant's subjects that is implausible.
    fn of_tenant(&mut self, tenant: &str) -> Result<Option<HeldBack>> {
        let whole = whole_tenant(tenant, self.terms);
        let in_progress = self.in_progress(&whole)?;
        let largest = self.scan.look("looking at", |db| S::largest_group(db, &whole))?;
        // Who has all of them is judged with the tenant.
        let has_most = |subjects: u64| subjects < in_progress && in_progress < 2 * subjects;
        let main = largest.filter(|(_, subjects)| has_most(*subjects as u64)).map(|(group, _)| group);
        let agents = match &main {
            Some(group) => self.judge(&Part { group: Some(group), ..whole.clone() })?,
            None => None,
        };
        let agent = Portion { tenant: tenant.to_owned(), group: main };
        let except = [self.terms.held, &agents.iter().map(|_| agent.clone()).collect::<Vec<_>>()].concat();
        let rest = self.judge(&Part { except: &except, ..whole })?;
        Ok(match (agents, rest) {
            (None, None) => None,
            (Some(agents), None) => Some(HeldBack::new(agent, agents.agent.as_deref(), agents.guarded)),
            (None, Some(rest)) => Some(of_whole_tenant(tenant, rest.guarded)),
            (Some(agents), Some(rest)) => Some(of_whole_tenant(tenant, agents.guarded.and(rest.guarded))),
        })
    }

    fn in_progress(&mut self, part: &Part) -> Result<u64> {
        self.scan.look("looking at", |db| Ok(S::count_in_progress(db, part)? as u64))
    }

    /// Would implausibly much of the rest be continued or escalated?
    fn judge_without(&mut self, parts: &[HeldBack], whole: &Part) -> Result<Option<Counted>> {
        let held: Vec<Portion> = parts.iter().map(|part| part.portion.clone()).collect();
        self.judge(&Part { except: &[self.terms.held, &held].concat(), ..whole.clone() })
    }

    /// Would implausibly much of this part be continued or escalated?
    fn judge(&mut self, part: &Part) -> Result<Option<Counted>> {
        let candidates = self.scan.look("looking at", |db| Ok(S::count_candidates(db, part)? as u64))?;
        if candidates <= self.guard.min.into() {
            return Ok(None);
        }
        let in_progress = self.in_progress(part)?;
        if !self.guard.stops(candidates, in_progress) {
            return Ok(None);
        }
        let counted = self.count(part, in_progress)?;
        Ok(self.guard.stops(counted.guarded.stranded, in_progress).then_some(counted))
    }

    /// Decides each of them, as in a dry run.
    fn count(&mut self, part: &Part, in_progress: u64) -> Result<Counted> {
        let counted_max = self.guard.stranded_max(in_progress).max(COUNTED_MAX) + 1;
        let look = Terms {
            access: Access::ReadOnly,
            plan: None,
            shard: None,
            tenant: part.tenant,
            group: part.group,
            held: part.except,
            wakes: &Wakes::new(u32::MAX),
            ..*self.terms
        };
        let mut counting = Limits { left: u32::try_from(counted_max).ok(), ..self.limits.clone() };
        let (mut stranded, mut agent) = (0, None);
        self.workers.examine_all(&mut self.scan.again(&look), &look, &mut counting, |examined| {
            stranded += u64::from(examined.outcome.is_costly());
            agent = agent.take().or(examined.agent_name);
        })?;
        // Cut short by the deadline or a signal, it may be certain of nothing; but then nothing more is begun either.
        let at_least = counted_max <= stranded || counting.are_over();
        Ok(Counted { guarded: Guarded { stranded, at_least, in_progress }, agent })
    }
}

/// All of a tenant's subjects.
fn whole_tenant<'a>(tenant: &'a str, terms: &Terms<'a>) -> Part<'a> {
    Part { tenant: Some(tenant), except: terms.held, ..Part::whole() }
}

fn of_whole_tenant(tenant: &str, guarded: Guarded) -> HeldBack {
    HeldBack::new(Portion { tenant: tenant.to_owned(), group: None }, None, guarded)
}

/// Logs what is held back, and has people notified of it. That it cannot be queued is logged, and no reason for the sweep to fail.
pub fn announce(db: &mut DbConnection, kind: Kind, held: &Held, terms: &Terms) {
    let said: Vec<(String, Guarded, String)> = match held {
        Held::Nothing => Vec::new(),
        Held::Everything(guarded) => vec![(String::new(), *guarded, guarded.tell(kind))],
        Held::Parts(parts) => {
            parts.iter().map(|part| (part.portion.to_string(), part.guarded, part.tell(kind))).collect()
        }
    };
    for (part, guarded, reason) in said {
        logs::guard(kind, &guarded, &reason);
        if terms.access == Access::ReadOnly {
            continue;
        }
        let details = Details { reason, ..Details::default() };
        let (event, sweep_id) = (Event::GuardStopped, terms.sweep_id);
        let notice = Notice { event, kind: kind.name(), subject_id: None, sweep_id, details };
        let queued = db.in_transaction(Access::Write, &terms.timeouts, |db| {
            outbox::queue_guard(db, terms.queueing, &notice, &part)
        });
        if let Err(abort) = queued {
            logs::untold(kind, abort);
        }
    }
}
