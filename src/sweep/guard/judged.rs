//! What the guard has found of a kind while it judges one tenant after the other.

use super::memory::HeldPart;
use crate::store::candidates::Portion;
use crate::store::counts::Guarded;

/// How much of a part would be touched.
pub struct Counted {
    pub guarded: Guarded,
    /// The name of the agent that one of its subjects has.
    pub agent: Option<String>,
}

/// What the numbers of a part say.
pub enum Verdict {
    /// By a count, or because there are so few candidates that none was needed.
    Plausible(Option<Guarded>),
    Implausible(Counted),
}

/// What is known of a kind so far.
#[derive(Default)]
pub struct Judged {
    pub held: Vec<HeldPart>,
    /// Tenants that were counted and are plausible by themselves, without what is held back of them.
    pub plausible: Vec<(Portion, Guarded)>,
}

impl Judged {
    pub fn knows(&self, tenant: &Portion) -> bool {
        self.held.iter().any(|part| part.portion == *tenant) || self.plausible.iter().any(|(known, _)| known == tenant)
    }

    /// Holds back all of a tenant: this, and what is held back of it already.
    pub fn hold(&mut self, portion: Portion, guarded: Guarded) {
        let (of_tenant, others): (Vec<HeldPart>, _) =
            self.held.drain(..).partition(|part| part.portion.tenant == portion.tenant);
        let guarded = of_tenant.iter().map(|part| part.guarded).fold(guarded, Guarded::and);
        self.held = others;
        self.held.push(HeldPart { portion, agent: None, guarded });
    }

    /// What was counted and is not held back.
    pub fn known(&self) -> Guarded {
        self.plausible.iter().map(|(_, guarded)| *guarded).fold(Guarded::default(), Guarded::and)
    }
}
