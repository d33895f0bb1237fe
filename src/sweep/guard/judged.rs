//! What the guard has found of a kind while it judges one tenant after the other.

use super::memory::HeldPart;
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
    /// Those with the most candidates, without what is held back of them; the largest is the last.
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
}
