//! What the guard has found of a kind while it judges one tenant after the other.

use super::memory::HeldPart;
use crate::rules::Guard;
use crate::store::candidates::Portion;
use crate::store::counts::Guarded;

/// How much of a part would be touched: at most, until it is counted.
#[derive(Default)]
pub struct Estimate {
    pub guarded: Guarded,
    pub is_counted: bool,
    /// The name of the agent that one of its subjects has.
    pub agent: Option<String>,
}

/// What is known of a kind so far.
#[derive(Default)]
pub struct Judged {
    pub held: Vec<HeldPart>,
    /// Those that are judged one by one, without what is held back of them; of small ones their agents as well.
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

    /// Holds back the small one that has most of what is stranded of them; if none has, each of which too large a share
    /// is stranded, unless nothing is left without these.
    pub fn hold_small(&mut self, guard: &Guard) {
        let stranded = self.small(guard).stranded;
        let is_too_much = |it: &Guarded| is_small(guard, it) && guard.exceeds_share(it.stranded, it.in_progress);
        let has_most = |it: &Guarded| is_too_much(it) && stranded < 2 * it.stranded;
        let tenants: Vec<(Portion, Estimate)> = std::mem::take(&mut self.tenants);
        let is_held = |it: &Guarded, has_one| if has_one { has_most(it) } else { is_too_much(it) };
        let has_one = tenants.iter().any(|(_, it)| has_most(&it.guarded));
        let (held, left) = tenants.into_iter().partition::<Vec<_>, _>(|(_, it)| is_held(&it.guarded, has_one));
        let is_any_left = !left.is_empty() || 0 < self.others.guarded.in_progress;
        self.tenants = left;
        for (tenant, estimate) in held {
            match is_any_left {
                true if tenant.group.is_none() => self.hold(tenant, estimate.guarded),
                true => self.held.push(HeldPart { portion: tenant, agent: estimate.agent, guarded: estimate.guarded }),
                false => self.tenants.push((tenant, estimate)),
            }
        }
    }
}

fn is_small(guard: &Guard, guarded: &Guarded) -> bool {
    guarded.stranded <= guard.min.into()
}
