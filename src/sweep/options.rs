//! What a sweep goes by: plain data.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use super::plan::Plan;
use crate::rules::{Guard, Id, Kind, Policy};
use crate::store::connect::open::Url;
use crate::store::hosts::links::HostUrl;
use crate::store::work::candidates::{Part, Portion, Shard};
use crate::store::work::counts::KindMode;
use crate::store::work::outbox::Subscriptions;
use crate::store::{Durable, Timeouts};

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
    /// The candidates among these issues.
    Issues(Vec<Id>),
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
            Selection::Kinds(kinds) => kinds.clone(),
            Selection::Subjects(subjects) => kinds_of(subjects.iter().map(|(kind, _)| kind)),
            Selection::Issues(_) => vec![Kind::Issue],
            Selection::Plan(plan) => kinds_of(plan.order.iter().map(|(kind, _)| kind)),
        }
    }

    pub fn plan(&self) -> Option<&Plan> {
        match self {
            Selection::Plan(plan) => Some(plan),
            Selection::Kinds(_) | Selection::Subjects(_) | Selection::Issues(_) => None,
        }
    }

    pub fn only_ids(&self) -> Option<&[Id]> {
        match self {
            Selection::Issues(issues) => Some(issues),
            Selection::Kinds(_) | Selection::Subjects(_) | Selection::Plan(_) => None,
        }
    }
}

fn kinds_of<'a>(named: impl Iterator<Item = &'a Kind>) -> Vec<Kind> {
    named.copied().collect::<BTreeSet<_>>().into_iter().collect()
}
