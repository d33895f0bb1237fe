//! What the guard has found of a kind while it judges one tenant after the other.

use super::memory::HeldPart;
use crate::rules::Guard;
use crate::store::work::candidates::Portion;
use crate::store::work::counts::Guarded;

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
    pub fn of(candidates: u64, in_progress: u64) -> Estimate {
        let guarded = Guarded { stranded: candidates, in_progress, ..Guarded::default() };
        Estimate { guarded, is_counted: candidates == 0, agent: None }
    }

    /// Whether what was held back before would be now, were as many stranded; how many are is not looked into.
    pub fn confirms(&self, before: &Guarded, guard: &Guard) -> bool {
        before.stranded <= self.guarded.stranded && guard.stops(before.stranded, self.guarded.in_progress)
    }
}

/// What is known of a kind so far.
#[derive(Default)]
pub struct Judged {
    pub held: Vec<HeldPart>,
    /// Those that are judged one by one, without what is held back of them.
    pub tenants: Vec<(Portion, Estimate)>,
    /// All other tenants together.
    pub others: Estimate,
}

impl Judged {
    /// What is held back of a tenant.
    pub fn held_of(&self, tenant: &Portion) -> impl Iterator<Item = &Portion> {
        self.held.iter().map(|part| &part.portion).filter(|portion| portion.tenant == tenant.tenant)
    }

    /// Holds back all of a tenant: this, and what is held back of it already.
    pub fn hold(&mut self, portion: Portion, guarded: Guarded) {
        let (of_tenant, others): (Vec<HeldPart>, _) =
            self.held.drain(..).partition(|part| part.portion.tenant == portion.tenant);
        let guarded = of_tenant.iter().map(|part| part.guarded).fold(guarded, Guarded::and);
        self.held = others;
        self.held.push(HeldPart { portion, agent: None, guarded });
    }

    /// All that is not held back.
    pub fn rest(&self) -> Guarded {
        self.tenants.iter().map(|(_, estimate)| estimate.guarded).fold(self.others.guarded, Guarded::and)
    }

    /// Those of which so few are stranded that each is plausible, together.
    pub fn small(&self, guard: &Guard) -> Guarded {
        let small = self.tenants.iter().map(|(_, estimate)| estimate.guarded).filter(|it| is_small(guard, it));
        small.fold(self.others.guarded, Guarded::and)
    }

    /// Holds back the one of them without which most of the others is at work, if there is such a one.
    pub fn hold_one(&mut self, guard: &Guard) {
        let small = self.small(guard);
        let is_it = |it: &Guarded| {
            let others = small.without(it);
            is_small(guard, it) && !guard.exceeds_share(others.stranded, others.in_progress)
        };
        let found = (0..self.tenants.len()).filter(|at| is_it(&self.tenants[*at].1.guarded));
        if let Some(at) = found.max_by_key(|at| self.tenants[*at].1.guarded.stranded) {
            let (tenant, estimate) = self.tenants.remove(at);
            self.hold(tenant, estimate.guarded);
        }
    }
}

fn is_small(guard: &Guard, guarded: &Guarded) -> bool {
    guarded.stranded <= guard.min.into()
}
