//! Work in progress, counted: of each kind, each tenant and each agent, how much is in which state.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::rules::board::BoardState;
use crate::rules::{Id, Kind};
use crate::store::read::subject::SubjectRow;

/// How many subjects of one kind are in which state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Counts {
    /// Whether the database has this kind; if not, no state is there.
    pub provided: bool,
    #[serde(flatten)]
    #[schemars(schema_with = "counts_of_states")]
    pub states: BTreeMap<BoardState, i64>,
}

/// The most tenants and agents that are listed; beside them stands how many there are.
const SHARES_MAX: usize = 50;

/// The work of one tenant or agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Share {
    /// The agent's id; null: a tenant, or work that no agent has.
    pub id: Option<Id>,
    /// The tenant's or the agent's name; empty: work that no agent has.
    pub name: String,
    /// The tenant whose work this is.
    pub tenant: String,
    /// How many subjects are in which state; a state in which none is may be left out.
    #[schemars(schema_with = "counts_of_states")]
    pub states: BTreeMap<BoardState, i64>,
}

impl Share {
    /// How many subjects are in one of these states.
    pub fn count(&self, states: &[BoardState]) -> i64 {
        states.iter().filter_map(|state| self.states.get(state)).sum()
    }

    pub fn total(&self) -> i64 {
        self.states.values().sum()
    }
}

/// All work in progress, counted.
#[derive(Debug, Default)]
pub struct WorkCounts {
    kinds: BTreeMap<Kind, BTreeMap<BoardState, i64>>,
    pub tenants: BTreeMap<String, Share>,
    pub agents: BTreeMap<(String, Option<Id>), Share>,
}

impl WorkCounts {
    /// Adds subjects of one owner that are in one state.
    pub fn add(&mut self, kind: Kind, state: BoardState, owner: SubjectRow, subjects: i64) {
        let SubjectRow { tenant, agent_id: id, agent_name, .. } = owner;
        let tenant = tenant.map(String::from).unwrap_or_default();
        let agent_name = agent_name.map(String::from).or_else(|| id.clone().map(|Id(id)| id)).unwrap_or_default();
        let share = |id, name: &str| Share { id, name: name.to_owned(), tenant: tenant.clone(), ..Share::default() };
        let of_tenant = self.tenants.entry(tenant.clone()).or_insert_with(|| share(None, &tenant));
        let of_agent = self.agents.entry((tenant.clone(), id.clone())).or_insert_with(|| share(id, &agent_name));
        let of_kind = self.kinds.entry(kind).or_default();
        for states in [of_kind, &mut of_tenant.states, &mut of_agent.states] {
            *states.entry(state).or_default() += subjects;
        }
    }

    /// How many subjects of all kinds are in one of these states.
    pub fn count(&self, states: &[BoardState]) -> i64 {
        self.kinds.values().flatten().filter(|(state, _)| states.contains(state)).map(|(_, n)| n).sum()
    }

    /// How much of each kind is in which of its states, by the kind's plural, also where that is nothing.
    pub fn kinds(&self, provided: &[Kind]) -> BTreeMap<&'static str, Counts> {
        let counts = |kind: Kind| {
            if !provided.contains(&kind) {
                return Counts::default();
            }
            let states = BoardState::ALL.iter().copied().filter(|state| state.is_of(kind)).map(|state| (state, 0));
            let found = self.kinds.get(&kind).into_iter().flatten().map(|(state, n)| (*state, *n));
            Counts { provided: true, states: states.chain(found).collect() }
        };
        Kind::ALL.iter().map(|&kind| (kind.plural(), counts(kind))).collect()
    }
}

/// The tenants or agents whose work most needs attention, and how many there are.
pub fn most_urgent<'a>(shares: impl Iterator<Item = &'a Share>) -> (Vec<Share>, usize) {
    let mut shares: Vec<&Share> = shares.collect();
    // What waits for a person counts first, then what a sweep has yet to do.
    let urgency = |it: &Share| (it.count(BoardState::WAITING_FOR_PEOPLE), it.count(BoardState::STRANDED), it.total());
    shares.sort_by_key(|share| (Reverse(urgency(share)), &share.tenant, &share.name, &share.id));
    (shares.iter().take(SHARES_MAX).map(|&share| share.clone()).collect(), shares.len())
}

/// The schema of the counts of all kinds, by the kind's plural.
pub fn counts_of_kinds(generator: &mut SchemaGenerator) -> Schema {
    let names = Kind::ALL.iter().map(|kind| kind.plural());
    let fields: Map<String, Value> =
        names.clone().map(|kind| (kind.to_owned(), described::<Counts>(generator, format!("The {kind}.")))).collect();
    json_schema!({ "type": "object", "properties": fields, "required": names.collect::<Vec<_>>() })
}

/// The schema of subjects counted by their states, of which some are left out.
pub fn counts_of_states(generator: &mut SchemaGenerator) -> Schema {
    let field = |state: &BoardState| {
        (state.name().to_owned(), described::<i64>(generator, format!("How many are {}.", state.name())))
    };
    let fields: Map<String, Value> = BoardState::ALL.iter().map(field).collect();
    json_schema!({ "type": "object", "properties": fields })
}

fn described<T: JsonSchema>(generator: &mut SchemaGenerator, description: String) -> Value {
    let mut schema = generator.subschema_for::<T>();
    schema.insert("description".to_owned(), description.into());
    schema.into()
}
