//! A database in which a host is tried: its tables, sweep, and the work that the fixtures make. Time is moved by
//! writing old rows.

use std::collections::BTreeMap;

use anyhow::{Context, Error, Result};
use chrono::TimeDelta;
use diesel::QueryResult;

use super::{Act, Block, Fixtures, Made, Values};
use crate::rules::{Decision, Escalation, Id, Kind, Policy, decide};
use crate::store::connect::sandbox::{Outsider, Sandbox};
use crate::store::connect::snapshot::{self, ColumnValues, Rows};
use crate::store::db::errors;
use crate::store::db::types::IdType;
use crate::store::hosts::folders::Host;
use crate::store::hosts::rights;
use crate::store::{Access, Db, Timeouts, for_kind, read_alone};
use crate::sweep::{self, Cancel, Examined, Observer, Options, Outcome};

/// How many minutes ago a subject was stranded, unless something else is said.
pub const AN_HOUR: i64 = 60;
/// How many minutes ago whatever is at work began: on any host it is alive, and it is left alone for that reason only,
/// since an issue would be orphaned already.
pub const JUST_NOW: i64 = 4;

/// A run that began so many minutes ago and goes on is healthy.
pub const LONG_AGO: i64 = 120;
/// What is kept for a day or two only is gone by then.
pub const DAYS_AGO: i64 = 3 * 24 * 60;

/// Numbers below these may be the host's own.
const FIRST: u32 = 1_000_000;

pub struct Trial<'a> {
    pub host: &'a Host,
    pub fixtures: &'a Fixtures,
    pub outsider: Outsider,
    /// What escalations of sweeps do.
    pub escalation: Escalation,
    /// What a sweep could not do because it waited in vain: whatever follows from that says nothing of the host.
    pub hindrances: Vec<String>,
    pub sandbox: Sandbox,
    made: u32,
}

/// What a sweep said of each subject.
#[derive(Default)]
pub struct SweptSubjects(BTreeMap<(Kind, Id), Examined>);

impl Observer for SweptSubjects {
    fn subject(&mut self, examined: &Examined) {
        self.0.insert((examined.kind, examined.id.clone()), examined.redacted());
    }
}

impl SweptSubjects {
    /// The subjects that failed, and why.
    pub fn failures(&self) -> impl Iterator<Item = &Examined> {
        self.0.values().filter(|examined| matches!(examined.outcome, Outcome::Failed | Outcome::Unknown))
    }

    /// Was it left alone, without an error?
    pub fn refuse_touched(&self, made: &Made, why: &str) -> Option<String> {
        let examined = self.0.get(&(made.kind, made.id.clone()))?;
        let is_left = matches!(
            examined.outcome,
            Outcome::Healthy | Outcome::Waiting | Outcome::Skipped | Outcome::Recovered | Outcome::HandedOver
        );
        let Examined { outcome, reason, .. } = examined;
        (!is_left).then(|| format!("{}: {why}, and it was {outcome}: {reason}", name(made)))
    }

    /// The attempts that it may have, if it came to this.
    pub fn expect(&self, made: &Made, expected: Outcome) -> Result<u32, String> {
        match self.0.get(&(made.kind, made.id.clone())) {
            Some(examined) if examined.outcome == expected => Ok(examined.attempts_max),
            Some(Examined { outcome, reason, .. }) => {
                Err(format!("{}: expected to be {expected}, was {outcome}: {reason}", name(made)))
            }
            None => Err(format!(
                "{}: expected to be {expected}, was not looked at: {}_candidates does not name it",
                name(made),
                made.kind
            )),
        }
    }
}

/// Wraps an error of a block. If it may pass, it says which statement waited, and with it on which relation: the server
/// says neither.
pub fn block_error(block: &Block, sql: &str, error: diesel::result::Error) -> Error {
    let waited = if errors::may_pass(&error.to_string()) { format!(" ({sql})") } else { String::new() };
    Error::from(error).context(format!("`-- fixture {block}`{waited}"))
}

/// What a subject is called in evidence.
pub fn name(made: &Made) -> String {
    format!("{} {}", made.kind, made.id)
}

impl<'a> Trial<'a> {
    /// Begins a trial in a copy of a database in which the host is installed.
    pub fn new(installed: &Sandbox, host: &'a Host, fixtures: &'a Fixtures) -> Result<Trial<'a>> {
        let sandbox = installed.copy()?;
        let outsider = sandbox.connect(host)?;
        let escalation = Policy::default().escalation;
        Ok(Trial { host, fixtures, outsider, escalation, hindrances: Vec::new(), sandbox, made: 0 })
    }

    /// The options of a sweep. One connection works: each more plans all of the host's views anew.
    pub fn options(&self) -> Options {
        let policy = Policy { escalation: self.escalation, ..Policy::default() };
        let options = Options { policy, ..Options::of(self.sandbox.url.clone()) };
        Options { guard: None, wakes_per_agent_max: u32::MAX, connections: 1, ..options }
    }

    pub fn sweep(&mut self) -> Result<SweptSubjects> {
        let mut swept = SweptSubjects::default();
        sweep::run(&self.options(), &Cancel::default(), &mut swept)?;
        self.hear_of(&swept);
        Ok(swept)
    }

    /// Remembers what hindered a sweep: a server names neither the relation nor the statement.
    pub fn hear_of(&mut self, swept: &SweptSubjects) {
        let is_hindered = |examined: &&Examined| {
            matches!(examined.outcome, Outcome::Busy | Outcome::Failed | Outcome::Unknown)
                && errors::may_pass(&examined.reason)
        };
        let hindered = swept.0.values().filter(is_hindered);
        self.hindrances.extend(hindered.map(|Examined { kind, id, reason, .. }| {
            let relations: Vec<&str> = rights::relations_taken_up(*kind).collect();
            format!("{kind} {id}: a statement of a sweep's on {}: {reason}", relations.join(", "))
        }));
    }

    /// Makes up an id that nothing has yet.
    pub fn fresh(&mut self) -> Id {
        self.made += 1;
        let number = FIRST + self.made;
        match self.fixtures.ids() {
            IdType::Integer | IdType::Bigint => Id(number.to_string()),
            IdType::Text => Id(format!("verify-{number}")),
            IdType::Uuid | IdType::TextOrUuid => Id::generate(),
        }
    }

    /// The SQL of a block about a subject, so many minutes ago.
    pub fn sql(&mut self, block: &Block, made: &Made, minutes: i64) -> Result<String> {
        self.sql_for(block, made, minutes, 0)
    }

    /// The SQL of a block about a subject, so many minutes ago, and for so many at once.
    pub fn sql_for(&mut self, block: &Block, made: &Made, minutes: i64, count: u32) -> Result<String> {
        let at = self.outsider.db.now()? - TimeDelta::minutes(minutes);
        let values = Values { at, fresh: self.fresh(), count };
        Ok(self.fixtures.sql(block, made, &values)?)
    }

    /// Lets something happen to a subject, so many minutes ago.
    pub fn play(&mut self, block: &Block, made: &Made, minutes: i64) -> Result<()> {
        let sql = self.sql(block, made, minutes)?;
        self.outsider.run(&sql).map_err(|error| block_error(block, &sql, error))
    }

    pub fn happens(&mut self, event: Act, made: &Made, minutes: i64) -> Result<()> {
        self.play(&Block::Of(made.kind, event), made, minutes)
    }

    /// Names for a subject and its agent, not made yet.
    pub fn unmade(&mut self, kind: Kind) -> Made {
        Made { kind, id: self.fresh(), agent: self.fresh(), plan: self.fresh() }
    }

    /// Stranded for an hour, of an agent of its own.
    pub fn stranded(&mut self, kind: Kind) -> Result<Made> {
        self.stranded_since(kind, AN_HOUR)
    }

    /// Stranded for so many minutes, of an agent of its own.
    pub fn stranded_since(&mut self, kind: Kind, minutes: i64) -> Result<Made> {
        let made = self.unmade(kind);
        self.play(&Block::Agent, &made, minutes)?;
        self.play(&Block::Stranded(kind), &made, minutes)?;
        Ok(made)
    }

    /// Another one of the same agent, also stranded for an hour.
    pub fn another_of(&mut self, made: &Made) -> Result<Made> {
        let another = Made { agent: made.agent.clone(), ..self.unmade(made.kind) };
        self.play(&Block::Stranded(another.kind), &another, AN_HOUR)?;
        Ok(another)
    }

    /// How many wakes, or commands, of a subject wait until the host takes them up; none: its kind takes none.
    pub fn waiting(&mut self, made: &Made) -> Result<Option<i64>> {
        match self.takes_wakes(made.kind) {
            false => Ok(None),
            true => {
                let texts = self.ask(Act::Wakes, made)?;
                let count = texts.first().and_then(|text| text.parse().ok());
                count
                    .map(Some)
                    .with_context(|| format!("`-- fixture {}: wakes`: expected a number, found {texts:?}", made.kind))
            }
        }
    }

    /// What becomes of a stranded subject of this kind at first.
    pub fn first_outcome(&self, kind: Kind) -> Outcome {
        if self.takes_wakes(kind) { Outcome::Continued } else { Outcome::Escalated }
    }

    pub fn takes_wakes(&self, kind: Kind) -> bool {
        self.block(kind, Act::Wakes).is_some()
    }

    /// The block for what happens to subjects of this kind, if the fixtures have it.
    pub fn block(&self, kind: Kind, act: Act) -> Option<Block> {
        Some(Block::Of(kind, act)).filter(|block| self.fixtures.has(block))
    }

    /// What a block asks about a subject.
    pub fn ask(&mut self, event: Act, made: &Made) -> Result<Vec<String>> {
        let block = Block::Of(made.kind, event);
        let sql = self.sql(&block, made, 0)?;
        snapshot::texts(&mut self.outsider.db, &sql).map_err(|error| block_error(&block, &sql, error))
    }

    /// Asks as a sweep does, by the names that sweeps know.
    pub fn ask_of_host<T>(&self, question: impl FnOnce(&mut Db) -> QueryResult<T>) -> Result<T> {
        let mut db = self.sandbox.url.connect(Access::ReadOnly)?;
        db.in_transaction(Access::ReadOnly, &Timeouts::default(), question).map_err(Error::from)
    }

    /// What the rules say of a subject now; none, if it has no facts.
    pub fn decision(&self, made: &Made) -> Result<Option<Decision>> {
        let policy = Policy::default();
        for_kind!(made.kind, S => {
            let facts = self.ask_of_host(|db| read_alone::<S>(db, &made.id, &policy))?;
            Ok(facts.map(|facts| decide(&facts, &policy).decision))
        })
    }

    /// The rows of all tables but the one that each sweep writes in any case.
    pub fn rows(&mut self) -> QueryResult<Rows> {
        let mut rows = snapshot::rows(&mut self.outsider.db)?;
        rows.retain(|table, _| !["sweep.sweeps", "sweep_sweeps", "sweeps"].contains(&table.as_str()));
        Ok(rows)
    }

    /// The columns of the host's tables, with the values that their schema lists.
    pub fn listed_values(&mut self) -> QueryResult<ColumnValues> {
        let schema = if self.host.is_native() { "sweep" } else { "public" };
        let mut columns = snapshot::listed_values(&mut self.outsider.db, schema)?;
        let prefix = if self.host.is_native() { self.outsider.db.dialect().schema() } else { "" };
        let tables = self.host.tables();
        let is_of_host = |table: &str| match self.host.is_native() {
            true => !self.is_of_sweep(&format!("{prefix}{table}")),
            false => tables.contains(&table),
        };
        columns.retain(|(table, _), _| is_of_host(table));
        Ok(columns)
    }

    /// Is it one of sweep's own tables, or of those that the host keeps beside them?
    pub fn is_of_sweep(&self, table: &str) -> bool {
        match self.host.is_native() {
            true => self.outsider.ledger_tables.iter().any(|ledger| ledger == table),
            false => table.starts_with("sweep.") || table.starts_with("sweep_"),
        }
    }

    /// How often the ledger has this action of a subject.
    pub fn recorded(&mut self, made: &Made, action: &str) -> QueryResult<usize> {
        self.outsider.count_in_ledger(made.kind, &made.id, action)
    }
}
