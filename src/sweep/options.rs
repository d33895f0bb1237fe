//! What a sweep goes by, as plain data; and what follows from it at first: which database it is, whether that may be,
//! and which subjects were named.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use chrono::TimeDelta;
use diesel::QueryResult;

use super::clock::{self, Clocks};
use super::{Heading, Mode, Plan, SCHEMA};
use crate::conclusion::config;
use crate::rules::{After, Guard, Id, Kind, Policy};
use crate::store::connect::open::{Store, Url};
use crate::store::hosts::links::HostUrl;
use crate::store::work::candidates::{Part, Portion, Shard};
use crate::store::work::counts::KindMode;
use crate::store::work::opening::{Glance, Start};
use crate::store::work::outbox::Subscriptions;
use crate::store::work::{find, ledger};
use crate::store::{Access, Db, DbConnection, Durable, Nominated, Timeouts, for_kind};
use crate::text::redact;

/// One sweep, as the operator wants it.
#[derive(Clone, Debug)]
pub struct Options {
    pub database: Url,
    pub dry_run: bool,
    pub selection: Selection,
    pub tenant: Option<String>,
    /// The portions that the guard held back before, and that are left out (the daemon, when runs have ended).
    pub held: Vec<Portion>,
    /// Only this part of what is selected.
    pub shard: Option<Shard>,
    /// What is done about each kind; on, unless it says otherwise.
    pub modes: BTreeMap<Kind, KindMode>,
    /// Continuations, escalations and reports of abandoned work at most.
    pub limit: Option<u32>,
    /// The time after which nothing is begun any more.
    pub deadline: TimeDelta,
    pub wakes_per_agent_max: u32,
    /// None: the sweep goes on however much looks stranded.
    pub guard: Option<Guard>,
    pub connections: u32,
    /// Does a sweep that did something conclude with `Changed` instead of `Done`?
    pub concludes_changed: bool,
    /// The people who are notified, and of what.
    pub subscriptions: Subscriptions,
    /// Where the host's own pages are; None: nothing is a link.
    pub host_url: Option<HostUrl>,
    /// For how long what is over is kept.
    pub keep: After,
    pub policy: Policy,
    pub timeouts: Timeouts,
    pub durable: Durable,
}

/// Which subjects to look at.
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// All candidates of these kinds.
    Kinds(Vec<Kind>),
    /// Subjects by an id or by what people call them, whether they are candidates or not.
    Subjects(Vec<(Kind, String)>),
    /// The candidates of these kinds among these ids.
    Candidates(Vec<Kind>, Vec<Id>),
    /// What this plan says.
    Plan(Box<Plan>),
}

impl Options {
    /// The defaults, for a database.
    pub fn of(database: Url) -> Options {
        Options {
            database,
            dry_run: false,
            selection: Selection::Kinds(Kind::ALL.to_vec()),
            tenant: None,
            held: Vec::new(),
            shard: None,
            modes: BTreeMap::new(),
            limit: None,
            deadline: TimeDelta::minutes(10),
            wakes_per_agent_max: 10,
            guard: Some(Guard::default()),
            connections: 4,
            concludes_changed: false,
            subscriptions: Subscriptions::default(),
            host_url: None,
            keep: After::Time(TimeDelta::days(90)),
            policy: Policy::default(),
            timeouts: Timeouts::default(),
            durable: Durable::default(),
        }
    }

    pub fn mode(&self, kind: Kind) -> KindMode {
        self.modes.get(&kind).copied().unwrap_or_default()
    }

    /// The part of the candidates that is looked at.
    pub fn part(&self) -> Part<'_> {
        let (tenant, only_ids) = (self.tenant.as_deref(), self.selection.only_ids());
        Part { tenant, only_ids, except: &self.held, ..Part::whole() }
    }

    /// Does it look at all that a host with these kinds has?
    pub fn is_whole(&self, kinds: &[Kind]) -> bool {
        let swept = self.selection.kinds();
        let is_swept = |kind: &Kind| swept.contains(kind) && self.mode(*kind) != KindMode::Off;
        let is_on = |kind: &Kind| self.mode(*kind) == KindMode::On;
        self.tenant.is_none()
            && self.selection.only_ids().is_none()
            && kinds.iter().all(is_swept)
            && kinds.iter().any(is_on)
    }
}

impl Selection {
    /// The kinds that are swept, in their order.
    pub fn kinds(&self) -> Vec<Kind> {
        match self {
            Selection::Kinds(kinds) | Selection::Candidates(kinds, _) => kinds.clone(),
            Selection::Subjects(subjects) => kinds_of(subjects.iter().map(|(kind, _)| kind)),
            Selection::Plan(plan) => kinds_of(plan.order.iter().map(|(kind, _)| kind)),
        }
    }

    pub fn plan(&self) -> Option<&Plan> {
        match self {
            Selection::Plan(plan) => Some(plan),
            Selection::Kinds(_) | Selection::Subjects(_) | Selection::Candidates(..) => None,
        }
    }

    pub fn only_ids(&self) -> Option<&[Id]> {
        match self {
            Selection::Candidates(_, ids) => Some(ids),
            Selection::Kinds(_) | Selection::Subjects(_) | Selection::Plan(_) => None,
        }
    }
}

fn kinds_of<'a>(named: impl Iterator<Item = &'a Kind>) -> Vec<Kind> {
    named.copied().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Asks in a read-only transaction.
pub fn look<T>(options: &Options, db: &mut DbConnection, body: impl FnOnce(&mut Db) -> QueryResult<T>) -> Result<T> {
    Ok(db.in_transaction(Access::ReadOnly, &options.timeouts, body)?)
}

pub fn heading(options: &Options, store: &Store, start: &Start) -> Heading {
    Heading {
        schema: SCHEMA,
        mode: match (options.dry_run, &options.selection) {
            (true, _) => Mode::DryRun,
            (false, Selection::Plan(_)) => Mode::Apply,
            (false, Selection::Kinds(_) | Selection::Subjects(_) | Selection::Candidates(..)) => Mode::Sweep,
        },
        host: store.host.name().to_owned(),
        database: start.database.clone(),
        schema_version: store.schema_version.clone(),
        policy: options.policy.clone(),
        newest_sweeps: start.newest_sweeps.clone(),
    }
}

/// Looks at the database for the first time: which it is, what time it is there, and whether there is anything to do.
pub fn first_look(options: &Options, store: &mut Store, access: Access) -> Result<(Start, Clocks, Glance)> {
    let Store { db, kinds, .. } = store;
    // What was named is looked at anyway, and people who are notified want to know as well of what is over.
    let looks_for_candidates = matches!(options.selection, Selection::Kinds(_));
    let may_be_calm = looks_for_candidates && !options.dry_run && options.subscriptions.destinations.is_empty();
    // The transaction that comes next ends this one in its first message.
    let known = db.ask(&options.timeouts, |db| {
        let (start, clocks) = clock::read(db, access, if may_be_calm { kinds } else { &[] })?;
        let glance = if may_be_calm { start.glance(db, kinds, &options.policy)? } else { Glance::unknown() };
        Ok((start, clocks, glance))
    });
    // What cannot be glanced at is found out, and recorded, by the sweep itself.
    known.or_else(|_| {
        let (start, clocks) = look(options, db, |db| clock::read(db, access, &[]))?;
        Ok((start, clocks, Glance::unknown()))
    })
}

/// False if runs have ended that left nothing stranded, as most do: such a look is not worth a row.
pub fn is_worth_a_sweep(options: &Options, store: &mut Store) -> Result<bool> {
    if options.selection.only_ids().is_none() {
        return Ok(true);
    }
    let Store { db, kinds, .. } = store;
    let swept = options.selection.kinds().into_iter().filter(|kind| kinds.contains(kind));
    let mut swept = swept.filter(|kind| options.mode(*kind) != KindMode::Off);
    let has_any = |db: &mut Db, kind| for_kind!(kind, S => S::count_candidates(db, &options.part())).map(|n| 0 < n);
    look(options, db, |db| swept.try_fold(false, |found, kind| Ok(found || has_any(db, kind)?)))
}

/// A plan of another database, or of other rules, and a tenant that nothing belongs to, are refused.
pub fn refuse(options: &Options, store: &mut Store, heading: &Heading) -> Result<()> {
    let Store { db, kinds, .. } = store;
    if let Selection::Plan(plan) = &options.selection {
        refuse_elsewhere(options, db, plan, heading)?;
    }
    match &options.tenant {
        Some(tenant) => {
            Ok(db.in_transaction(Access::ReadOnly, &options.timeouts, |db| find::tenant(db, kinds, tenant))?)
        }
        None => Ok(()),
    }
}

/// A copy of a database, and a backup that was restored, have its identity, but not its newest sweeps.
fn refuse_elsewhere(options: &Options, db: &mut DbConnection, plan: &Plan, heading: &Heading) -> Result<()> {
    let why = match plan.differs_from(heading) {
        Some(why) => why,
        None => match look(options, db, |db| ledger::unknown_sweep(db, &plan.heading.newest_sweeps))? {
            Some(id) => format!(
                "it was made after the sweep {}, of which this database knows nothing: it was made in a copy, or this \
                 is one, such as a restored backup",
                redact(&id.0)
            ),
            None => return Ok(()),
        },
    };
    Err(config(format!("the plan is refused: {why}")).into())
}

/// The subjects that the operator named, if any. One whose row cannot be read is there: its examination says what is
/// wrong with it.
pub fn named(options: &Options, store: &mut Store) -> Result<Option<Vec<(Kind, Id)>>> {
    match &options.selection {
        Selection::Kinds(_) | Selection::Candidates(..) => Ok(None),
        Selection::Plan(plan) => Ok(Some(plan.order.clone())),
        Selection::Subjects(subjects) => {
            let mut find = |kind, name: &str| -> Result<(Kind, Id)> {
                let label = find::subject(store, &options.timeouts, kind, name)?;
                Ok((kind, label.of_tenant(kind, options.tenant.as_deref())?.id))
            };
            subjects.iter().map(|(kind, name)| find(*kind, name)).collect::<Result<_>>().map(Some)
        }
    }
}
