//! The guard: before a kind is touched, how much of it would be?
//!
//! Each tenant is judged, in it the agent that has most of the subjects in progress, and the kind as a whole; the
//! smallest part that is implausible is held back. Otherwise whoever writes one tenant's rows, or the rows of one
//! agent, could stop the sweep for all others.
//!
//! Counting costs next to nothing as long as there are few candidates. Only when there are suspiciously many is each of
//! them decided, as in a dry run, until it is certain: candidates that wait or have healed are no reason to stop.
//! decisions.md#the-guard-counts-decisions, decisions.md#the-guard-holds-back-the-smallest-part

mod census;

use anyhow::Result;

use super::context::ExamineContext;
use super::limits::Limits;
use super::logs;
use super::scan::Scan;
use super::workers::Workers;
use crate::rules::{Guard, Kind};
use crate::store::work::candidates::{Part, Portion};
use crate::store::work::counts::{Guarded, HeldBack};
use crate::store::work::outbox::{self, Details, Event, Notice};
use crate::store::{Access, DbConnection, Subject};
use census::{Census, Estimate};

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
pub fn judge<S: Subject>(
    guard: Guard,
    scan: &mut Scan<S>,
    workers: &mut Workers,
    context: &ExamineContext,
    limits: &Limits,
) -> Result<Withheld> {
    let census = Census::new(guard, scan, workers, context, limits);
    let mut judge = Judge { census, held: Vec::new(), tenants: Vec::new(), others: Estimate::default() };
    let held = judge.find();
    judge.census.scan.end_questions();
    held
}

/// A kind that is judged, one tenant after the other.
struct Judge<'a, 'b, 'c, S: Subject> {
    census: Census<'a, 'b, 'c, S>,
    held: Vec<HeldBack>,
    /// The tenants that are judged one by one, each without what is held back of it.
    tenants: Vec<(Portion, Estimate)>,
    /// All other tenants together.
    others: Estimate,
}

impl<S: Subject> Judge<'_, '_, '_, S> {
    fn find(&mut self) -> Result<Withheld> {
        let (whole, min) = (self.census.context.part, self.census.guard.min);
        if self.census.scan.count_if_few()?.is_some_and(|candidates| candidates <= min.into()) {
            return Ok(Withheld::Nothing);
        }
        let tenants = self.census.tenants(&whole, min.into())?;
        let named = self.census.held_and(tenants.iter().map(|(tenant, _)| tenant));
        let of_others = Part { except: &named, ..whole };
        self.others = self.census.estimate(&of_others)?;
        // Those with the fewest first: a tenant that takes long takes no time of the others.
        self.tenants = tenants.into_iter().rev().collect();
        if !self.others.is_counted && self.census.stops(&mut self.rest()) {
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
        let except = self.census.held_and(self.held.iter().map(|part| &part.portion));
        Ok(self.census.in_progress(&Part { except: &except, ..whole })? == 0)
    }

    /// Holds back the smallest part of a tenant's subjects that is implausible.
    fn judge_tenant(&mut self, tenant: Portion, mut estimate: Estimate) -> Result<()> {
        let whole = tenant.part(self.census.context.part.except);
        // An agent that has all of them is judged with the tenant.
        if !self.census.is_over()
            && let Some(agent) = self.census.agent_with_most(&whole, estimate.guarded.in_progress)?
            && let Some(held) = self.judge_agent(Portion { group: Some(agent), ..tenant.clone() })?
        {
            self.held.push(held);
            estimate = self.census.estimate(&tenant.part(&self.held_of(&tenant)))?;
        }
        self.census.judge(&tenant.part(&self.held_of(&tenant)), &mut estimate)?;
        self.hold_or_keep(tenant, estimate);
        Ok(())
    }

    fn judge_agent(&mut self, portion: Portion) -> Result<Option<HeldBack>> {
        let part = portion.part(self.census.context.part.except);
        let mut estimate = self.census.estimate(&part)?;
        self.census.judge(&part, &mut estimate)?;
        let is_held = self.census.stops(&mut estimate.guarded);
        let Estimate { guarded, agent, .. } = estimate;
        Ok(is_held.then(|| HeldBack::new(portion, agent.as_deref(), guarded)))
    }

    /// Judges what is left as a whole. Each tenant is counted by itself: one that takes long is held back alone.
    fn judge_rest(&mut self, of_others: &Part) -> Result<Option<Guarded>> {
        while self.census.stops(&mut self.rest()) {
            if !self.others.is_counted {
                self.count_others(of_others)?;
            } else if let Some(at) = self.tenants.iter().position(|(_, estimate)| !estimate.is_counted) {
                let (tenant, estimate) = self.tenants.remove(at);
                let except = self.held_of(&tenant);
                let counted = self.census.count(&tenant.part(&except), estimate.guarded.in_progress)?;
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
        if !self.census.stops(&mut small) {
            return Ok(None);
        }
        if !small.at_least {
            for (tenant, estimate) in self.census.tenants(of_others, 0)? {
                if self.census.is_over() {
                    return Ok(Some(Guarded { at_least: true, undecided: true, ..self.rest() }));
                }
                let part = tenant.part(self.census.context.part.except);
                let counted = self.census.count(&part, estimate.guarded.in_progress)?;
                self.others.guarded = self.others.guarded.without(&counted.guarded);
                self.hold_or_keep(tenant, counted);
            }
            self.hold_one();
        }
        let (mut small, mut rest) = (self.small(), self.rest());
        Ok((self.census.stops(&mut small) && self.census.stops(&mut rest)).then_some(rest))
    }

    fn count_others(&mut self, of_others: &Part) -> Result<()> {
        let in_progress = self.others.guarded.in_progress;
        self.others = self.census.count(of_others, self.rest().in_progress)?;
        self.others.guarded.in_progress = in_progress;
        Ok(())
    }

    fn hold_or_keep(&mut self, tenant: Portion, mut estimate: Estimate) {
        match self.census.stops(&mut estimate.guarded) {
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
        let (small, guard) = (self.small(), self.census.guard);
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
        self.census.held_and(portions.filter(|portion| portion.tenant == tenant.tenant))
    }

    /// All that is not held back.
    fn rest(&self) -> Guarded {
        self.tenants.iter().map(|(_, estimate)| estimate.guarded).fold(self.others.guarded, Guarded::and)
    }

    /// The tenants of which so few are stranded that each is plausible, together.
    fn small(&self) -> Guarded {
        let all = self.tenants.iter().map(|(_, estimate)| estimate.guarded);
        all.filter(|it| is_small(&self.census.guard, it)).fold(self.others.guarded, Guarded::and)
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
