//! What became of the subjects of each kind: the outcomes, and how many came to each, as the JSON of `sweeps.counts` is
//! written and read.

use std::fmt::{Display, Formatter};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use strum::{IntoStaticStr, VariantArray};

use crate::rules::display::humanize;
use crate::rules::{Decision, Id, Kind, Reason};
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
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

/// What became of the decision about one subject. In a dry run: what would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// One wake, or one command, was queued.
    Continued,
    /// A person was notified.
    Escalated,
    /// It goes on, or is finished; the ledger is closed.
    Recovered,
    /// It is its host's or a person's now; the ledger is closed.
    HandedOver,
    /// Its assignee must not be woken, and people were notified of it.
    Abandoned,
    /// Left to a declared wait, a delay, a stuck wake or a person.
    Waiting,
    /// Its assignee must not be woken.
    Skipped,
    Healthy,
    /// `--apply`: the decision is another one than was planned.
    Changed,
    /// Left to the next sweep: its agent was woken often enough in this one.
    Deferred,
    /// Somebody else has it in hand.
    Busy,
    /// The connection was lost while its commit was under way, and the ledger could not be asked.
    Unknown,
    /// Its row cannot be read.
    Unreadable,
    /// An error; rolled back.
    Failed,
}

impl Outcome {
    pub const ALL: &[Outcome] = <Outcome as VariantArray>::VARIANTS;

    /// What a decision comes to when it is carried out.
    pub fn of(decision: &Decision) -> Outcome {
        match decision {
            Decision::Continue { .. } => Outcome::Continued,
            Decision::Escalate(_) => Outcome::Escalated,
            Decision::Recovered(_) => Outcome::Recovered,
            Decision::HandedOver(_) => Outcome::HandedOver,
            Decision::Abandon(_) => Outcome::Abandoned,
            Decision::Skip(_) => Outcome::Skipped,
            Decision::Wait { .. } => Outcome::Waiting,
            Decision::Leave(
                Reason::DeclaredWait(_) | Reason::StuckWake(_) | Reason::Exempt(..) | Reason::Escalated,
            ) => Outcome::Waiting,
            Decision::Leave(
                Reason::NotInProgress(_)
                | Reason::PlanNotOpen(_)
                | Reason::IssueFinished(_)
                | Reason::EndedWell
                | Reason::PendingCommand
                | Reason::HostPlans(_)
                | Reason::NoAgentAssigned
                | Reason::AssignedToUser
                | Reason::LiveRun
                | Reason::PendingWake
                | Reason::Recent
                | Reason::PlanStillStalled,
            ) => Outcome::Healthy,
        }
    }

    /// As programs read it; for people it is spaced.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Does it cost an agent's or a person's time, or may have?
    pub fn is_costly(self) -> bool {
        matches!(self, Outcome::Continued | Outcome::Escalated | Outcome::Unknown)
    }

    /// Does it count against `--limit`? Of abandoned work people are notified as well.
    pub fn counts_against_limit(self) -> bool {
        self.is_costly() || self == Outcome::Abandoned
    }

    /// Does somebody have to look at it?
    pub fn is_failure(self) -> bool {
        matches!(self, Outcome::Changed | Outcome::Unknown | Outcome::Unreadable | Outcome::Failed)
    }

    /// Was something written?
    pub fn is_change(self) -> bool {
        match self {
            Outcome::Continued | Outcome::Escalated | Outcome::Recovered => true,
            Outcome::HandedOver | Outcome::Abandoned => true,
            Outcome::Waiting | Outcome::Skipped | Outcome::Healthy | Outcome::Changed | Outcome::Deferred => false,
            Outcome::Busy | Outcome::Unknown | Outcome::Unreadable | Outcome::Failed => false,
        }
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str(&humanize(self.name()))
    }
}

/// How many subjects of one kind came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tally {
    /// How many were looked at. What was deferred is not among them, all other numbers are.
    pub scanned: u64,
    /// One wake, or one command to a session, was queued.
    pub continued: u64,
    /// Reported to a person; an issue was blocked as well.
    pub escalated: u64,
    /// The work goes on, or is finished, after sweep had done something about it.
    pub recovered: u64,
    /// It is its host's or a person's now, after sweep had done something about it.
    pub handed_over: u64,
    /// Those whose agent is gone or cannot be woken for long, and of which people were notified now.
    pub abandoned: u64,
    /// Left alone: it declares a wait, is exempt, has a stuck wake, was escalated, or had an attempt too short a time
    /// ago.
    pub waiting: u64,
    /// Something is wrong, but its agent must not be woken.
    pub skipped: u64,
    /// Nothing is wrong.
    pub healthy: u64,
    /// With `--apply`: the decision is another one than was planned, and nothing was done.
    pub changed: u64,
    /// Left to the next sweep: a limit or the deadline was reached, or the guard held it back.
    pub deferred: u64,
    /// Somebody else holds its rows: the next sweep tries again.
    pub busy: u64,
    /// The connection was lost at its commit: the next sweep finds out.
    pub unknown: u64,
    /// Its row cannot be read.
    pub unreadable: u64,
    /// An error; nothing was written.
    pub failed: u64,
}

impl Tally {
    pub fn count(&mut self, outcome: Outcome) {
        // What was put off comes again: it is counted with what was not looked at.
        self.scanned += u64::from(outcome != Outcome::Deferred);
        *self.counter(outcome) += 1;
    }

    /// How many subjects came to this outcome.
    pub fn of(mut self, outcome: Outcome) -> u64 {
        *self.counter(outcome)
    }

    pub fn plus(mut self, other: Tally) -> Tally {
        self.scanned = self.scanned.saturating_add(other.scanned);
        for &outcome in Outcome::ALL {
            *self.counter(outcome) = self.of(outcome).saturating_add(other.of(outcome));
        }
        self
    }

    fn counter(&mut self, outcome: Outcome) -> &mut u64 {
        match outcome {
            Outcome::Continued => &mut self.continued,
            Outcome::Escalated => &mut self.escalated,
            Outcome::Recovered => &mut self.recovered,
            Outcome::HandedOver => &mut self.handed_over,
            Outcome::Abandoned => &mut self.abandoned,
            Outcome::Waiting => &mut self.waiting,
            Outcome::Skipped => &mut self.skipped,
            Outcome::Healthy => &mut self.healthy,
            Outcome::Changed => &mut self.changed,
            Outcome::Deferred => &mut self.deferred,
            Outcome::Busy => &mut self.busy,
            Outcome::Unknown => &mut self.unknown,
            Outcome::Unreadable => &mut self.unreadable,
            Outcome::Failed => &mut self.failed,
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
