//! What a sweep did about the subjects of each kind: the JSON of `sweeps.counts`, as it is written and read.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::rules::{Id, Kind};
use crate::store::db::types::WrittenDocument;
use crate::store::work::candidates::Portion;
use crate::text::{cut, redact};

/// What a sweep says of one kind, in its row and in the JSON report; a kind that the database does not provide, or that
/// is off, has zeros.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KindCounts {
    pub provided: bool,
    pub mode: KindMode,
    /// Why the guard left this kind as it was.
    pub guard: Option<Guarded>,
    /// What it left as it was of a kind that was swept otherwise.
    pub held_back: Vec<HeldBack>,
    #[serde(flatten)]
    pub tally: Tally,
    /// Since when the oldest of the deferred has been as it is.
    pub oldest_deferred_at: Option<DateTime<Utc>>,
    /// Subjects that are not examined any more, since they failed in too many sweeps running.
    pub in_quarantine: u64,
}

impl KindCounts {
    /// Those of each kind in a row of `sweeps`. A field that cannot be read, such as that of another version, is as if
    /// it were not there; but what the guard left is never lost.
    pub fn read(document: &WrittenDocument) -> impl Iterator<Item = (Kind, KindCounts)> {
        let of_all: Value = document.read().unwrap_or_default();
        let read = move |kind: Kind| Some(KindCounts::of_fields(of_all.get(kind.plural())?.as_object()?));
        Kind::ALL.iter().copied().filter_map(move |kind| Some((kind, read(kind)?)))
    }

    fn of_fields(fields: &Map<String, Value>) -> KindCounts {
        let mut read = KindCounts::default();
        let mut readable = Map::new();
        let known = json!(read);
        for (name, value) in fields.iter().filter(|(name, _)| known.get(name).is_some()) {
            readable.insert(name.clone(), value.clone());
            match KindCounts::deserialize(&readable) {
                Ok(counts) => read = counts,
                Err(_) => drop(readable.remove(name)),
            }
        }
        let is_lost =
            |name: &&str| fields.get(*name).is_some_and(|value| !value.is_null()) && !readable.contains_key(*name);
        if ["guard", "held_back"].iter().any(is_lost) {
            read.guard.get_or_insert(Guarded { at_least: true, ..Guarded::default() });
        }
        read
    }

    /// Did the guard leave any of it?
    pub fn is_guarded(&self) -> bool {
        self.guard.is_some() || !self.held_back.is_empty()
    }
}

/// What is done about a kind of subject.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum KindMode {
    #[default]
    On,
    /// It is decided and reported, never written.
    Shadow,
    /// It is not looked at.
    Off,
}

/// How many subjects of one kind came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    pub scanned: u64,
    pub continued: u64,
    pub escalated: u64,
    pub recovered: u64,
    pub handed_over: u64,
    pub abandoned: u64,
    pub waiting: u64,
    pub skipped: u64,
    pub healthy: u64,
    pub changed: u64,
    pub deferred: u64,
    pub busy: u64,
    pub unknown: u64,
    pub unreadable: u64,
    pub failed: u64,
}

impl Tally {
    pub fn plus(self, other: Tally) -> Tally {
        Tally {
            scanned: self.scanned.saturating_add(other.scanned),
            continued: self.continued.saturating_add(other.continued),
            escalated: self.escalated.saturating_add(other.escalated),
            recovered: self.recovered.saturating_add(other.recovered),
            handed_over: self.handed_over.saturating_add(other.handed_over),
            abandoned: self.abandoned.saturating_add(other.abandoned),
            waiting: self.waiting.saturating_add(other.waiting),
            skipped: self.skipped.saturating_add(other.skipped),
            healthy: self.healthy.saturating_add(other.healthy),
            changed: self.changed.saturating_add(other.changed),
            deferred: self.deferred.saturating_add(other.deferred),
            busy: self.busy.saturating_add(other.busy),
            unknown: self.unknown.saturating_add(other.unknown),
            unreadable: self.unreadable.saturating_add(other.unreadable),
            failed: self.failed.saturating_add(other.failed),
        }
    }
}

/// The guard's two numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Guarded {
    /// Would be continued or escalated.
    pub stranded: u64,
    /// Counting ended before all were seen: there may be more.
    pub at_least: bool,
    /// There was too little time to decide: it is held back to be safe.
    pub undecided: bool,
    pub in_progress: u64,
}

/// A tenant's subjects of a kind, or those of one of its agents, that the guard holds back; the fields are those of the
/// JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldBack {
    pub tenant: String,
    /// Null: all of the tenant's.
    pub agent_id: Option<Id>,
    pub agent: Option<String>,
    #[serde(flatten)]
    pub guarded: Guarded,
    /// As it stands in the rows; the rest is as it may be shown.
    #[serde(skip)]
    pub portion: Portion,
}

impl Guarded {
    /// One plain sentence with both numbers.
    pub fn sentence(&self, kind: Kind) -> String {
        format!("{}: no {kind} was touched", self.finding(&format!("{} in progress", kind.plural())))
    }

    fn finding(&self, them: &str) -> String {
        let Guarded { stranded, at_least, undecided, in_progress } = self;
        let at_least = if *at_least { "at least " } else { "" };
        let so = match undecided {
            true => "and there was no time to look at the rest",
            false => "more likely a false picture than the truth",
        };
        format!("Guard: {at_least}{stranded} of the {in_progress} {them} look stranded, {so}")
    }

    /// What is left of it without a part that was counted apart.
    pub fn without(self, part: &Guarded) -> Guarded {
        let stranded = self.stranded.saturating_sub(part.stranded);
        Guarded { stranded, in_progress: self.in_progress.saturating_sub(part.in_progress), ..self }
    }

    /// Both together.
    pub fn and(self, other: Guarded) -> Guarded {
        Guarded {
            stranded: self.stranded + other.stranded,
            at_least: self.at_least || other.at_least,
            undecided: self.undecided || other.undecided,
            in_progress: self.in_progress + other.in_progress,
        }
    }
}

impl HeldBack {
    pub fn new(portion: Portion, agent: Option<&str>, guarded: Guarded) -> HeldBack {
        let name = |name: &str| cut(&redact(name), NAME_MAX);
        HeldBack {
            tenant: name(&portion.tenant),
            agent_id: portion.group.as_ref().map(|id| Id(cut(&redact(&id.0), ID_MAX))),
            agent: agent.map(name).filter(|_| portion.group.is_some()),
            guarded,
            portion,
        }
    }

    /// One plain sentence with both numbers.
    pub fn sentence(&self, kind: Kind) -> String {
        let HeldBack { tenant, agent_id, agent, guarded, portion: _ } = self;
        let whose = match (agent_id, agent) {
            (Some(id), Some(name)) => format!("the agent {name} ({id}), tenant {tenant}"),
            (Some(id), None) => format!("the agent {id}, tenant {tenant}"),
            (None, _) => format!("the tenant {tenant}"),
        };
        let finding = guarded.finding(&format!("{} in progress of {whose}", kind.plural()));
        format!("{finding}: none of these was touched")
    }
}

/// Characters of a name in a sentence, and of an id.
const NAME_MAX: usize = 80;
const ID_MAX: usize = 200;
