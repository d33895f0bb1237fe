//! How much work there is, by state: of each kind, of each tenant, of each agent.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::rules::board::BoardState;
use crate::rules::{Id, Kind};
use crate::store::db::types::LossyText;
use crate::store::read::status::Counts;

/// So many tenants and agents are listed; beside them stands how many there are.
const SHARES_MAX: usize = 50;

/// The work of one tenant or agent; the fields are those of the JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    /// Of an agent; null: of a tenant, or of work that no agent has.
    pub id: Option<Id>,
    /// The tenant's or the agent's.
    pub name: String,
    pub tenant: String,
    /// Subjects, by the state that they are in.
    pub states: BTreeMap<BoardState, i64>,
}

impl Share {
    pub fn of(&self, states: &[BoardState]) -> i64 {
        states.iter().filter_map(|state| self.states.get(state)).sum()
    }

    pub fn total(&self) -> i64 {
        self.states.values().sum()
    }

    /// What waits for a person counts first, then what a sweep has yet to do.
    fn urgency(&self) -> (i64, i64, i64) {
        let waiting = self.of(BoardState::WAITING_FOR_PEOPLE);
        let stranded = self.of(BoardState::STRANDED);
        (waiting, stranded, self.total())
    }
}

/// All work that was counted.
#[derive(Debug, Default)]
pub struct Work {
    kinds: BTreeMap<Kind, BTreeMap<BoardState, i64>>,
    tenants: BTreeMap<String, Share>,
    agents: BTreeMap<(String, Option<Id>), Share>,
}

impl Work {
    pub fn add(
        &mut self,
        kind: Kind,
        state: BoardState,
        tenant: &LossyText,
        agent_id: Option<Id>,
        agent_name: Option<LossyText>,
        subjects: i64,
    ) {
        let LossyText(tenant) = tenant;
        *self.kinds.entry(kind).or_default().entry(state).or_default() += subjects;
        let of_tenant = self.tenants.entry(tenant.clone()).or_insert_with(|| Share {
            name: tenant.clone(),
            tenant: tenant.clone(),
            ..Share::default()
        });
        *of_tenant.states.entry(state).or_default() += subjects;
        let of_agent = self.agents.entry((tenant.clone(), agent_id.clone())).or_insert_with(|| {
            let id = agent_id.as_ref().map(|id| id.0.clone());
            let name = agent_name.map(String::from).or(id).unwrap_or_default();
            Share { id: agent_id, name, tenant: tenant.clone(), ..Share::default() }
        });
        *of_agent.states.entry(state).or_default() += subjects;
    }

    /// How many subjects of a kind are in one of these states.
    pub fn count(&self, states: &[BoardState]) -> i64 {
        self.kinds.values().flatten().filter(|(state, _)| states.contains(state)).map(|(_, n)| n).sum()
    }

    /// Of all kinds, also those that the database does not provide; each has all of its states.
    pub fn kinds(&self, provided: &[Kind]) -> BTreeMap<&'static str, Counts> {
        let counts = |kind: Kind| {
            let states = BoardState::ALL.iter().copied().filter(|state| state.is_of(kind)).map(|state| (state, 0));
            let found = self.kinds.get(&kind).into_iter().flatten().map(|(state, n)| (*state, *n));
            Counts(provided.contains(&kind).then(|| states.chain(found).collect()))
        };
        Kind::ALL.iter().map(|&kind| (kind.plural(), counts(kind))).collect()
    }

    /// Those of whose work most needs attention, and how many there are.
    pub fn by_tenant(&self) -> (Vec<Share>, usize) {
        most_urgent(self.tenants.values())
    }

    pub fn by_agent(&self) -> (Vec<Share>, usize) {
        most_urgent(self.agents.values())
    }
}

fn most_urgent<'a>(shares: impl Iterator<Item = &'a Share>) -> (Vec<Share>, usize) {
    let mut shares: Vec<&Share> = shares.collect();
    shares.sort_by_key(|share| (Reverse(share.urgency()), &share.tenant, &share.name, &share.id));
    (shares.iter().take(SHARES_MAX).map(|&share| share.clone()).collect(), shares.len())
}
