//! What the guard remembers: one that stands for hours is not decided in every sweep.
//!
//! What was held back is taken over for an hour at most, by whoever sweeps by the same settings, and as long as the
//! numbers that cost nothing still speak for it. Memory only ever holds back: what is let through is judged by the
//! sweep that touches it.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::rules::{Guard, Kind};
use crate::store::db::types::WrittenDocument;
use crate::store::work::candidates::Portion;
use crate::store::work::counts::{Guarded, HeldBack};
use crate::store::work::guarded::Remembered;
use crate::sweep::options::Options;

/// For so long what was decided is believed.
const BELIEVED_FOR: TimeDelta = TimeDelta::hours(1);

/// Bytes that are remembered, as the table takes them in characters, of which the database may add some between the
/// parts. What tenants and agents are called is long then: all of it is decided anew in each sweep.
const KEPT_MAX: usize = 50_000;

/// What must be held back of a kind.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Found {
    pub parts: Vec<HeldPart>,
    /// All else as well.
    pub rest: Option<Guarded>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HeldPart {
    pub portion: Portion,
    /// The name of the agent whose part it is.
    pub agent: Option<String>,
    pub guarded: Guarded,
}

impl HeldPart {
    pub fn into_held_back(self) -> HeldBack {
        HeldBack::new(self.portion, self.agent.as_deref(), self.guarded)
    }
}

/// What is written of one sweep.
#[derive(Debug, Deserialize, Serialize)]
struct Document {
    /// Those that it judged by, beside its policy.
    settings: Value,
    kinds: BTreeMap<Kind, Found>,
}

/// The guard of a sweep, with what the latest sweeps held back, and what this one does.
pub struct Memory {
    pub guard: Guard,
    settings: Value,
    /// When this sweep began, by the database's clock.
    now: DateTime<Utc>,
    /// Of the kind that is judged: when it was decided, and what.
    before: Option<(DateTime<Utc>, Found)>,
    kinds: BTreeMap<Kind, Found>,
    /// When what was taken over of this kind was decided.
    taken_over: Option<DateTime<Utc>>,
    /// The same of all kinds: the oldest.
    oldest: Option<DateTime<Utc>>,
}

impl Memory {
    /// None, if there is no guard.
    pub fn new(options: &Options, now: DateTime<Utc>) -> Option<Memory> {
        let guard = options.guard?;
        let settings = json!({"guard": guard, "tenant": options.tenant});
        Some(Memory { guard, settings, now, before: None, kinds: BTreeMap::new(), taken_over: None, oldest: None })
    }

    /// When sweeps may have begun whose decisions are believed: after the one time, and not after the other.
    pub fn span(&self) -> (DateTime<Utc>, DateTime<Utc>) {
        (self.now - BELIEVED_FOR, self.now)
    }

    /// Goes by the latest sweep that judged this kind by the same settings. What cannot be read is decided anew.
    pub fn recall(&mut self, kind: Kind, rows: Vec<(DateTime<Utc>, WrittenDocument)>) {
        let (from, until) = self.span();
        let of_kind = rows.into_iter().find_map(|(at, held)| {
            let Document { settings, mut kinds } = held.read()?;
            let found = kinds.remove(&kind)?;
            (settings == self.settings).then_some((at, found))
        });
        self.before = of_kind.filter(|(at, _)| from < *at && *at <= until);
    }

    /// This portion, if it was held back by itself.
    pub fn part(&self, portion: &Portion) -> Option<HeldPart> {
        let (_, found) = self.before.as_ref()?;
        found.parts.iter().find(|part| part.portion == *portion).cloned()
    }

    /// All parts and the rest, if all of the kind was held back since the rest was implausible as well.
    pub fn with_rest(&self) -> Option<(Vec<HeldPart>, Guarded)> {
        let (_, found) = self.before.as_ref()?;
        Some((found.parts.clone(), found.rest?))
    }

    /// Something that was held back before still is.
    pub fn take_over(&mut self) {
        self.taken_over = self.before.as_ref().map(|(at, _)| *at);
    }

    /// What is held back of this kind now; nothing as well, so that nobody goes by an earlier sweep. What there was no
    /// time to decide is not remembered. Returns when it was decided, if any of it was taken over.
    pub fn note(&mut self, kind: Kind, found: &Found) -> Option<DateTime<Utc>> {
        let decided = found.parts.iter().filter(|part| !part.guarded.undecided).cloned().collect();
        let rest = found.rest.filter(|rest| !rest.undecided);
        self.kinds.insert(kind, Found { parts: decided, rest });
        let taken_over = self.taken_over.take();
        self.oldest = self.oldest.into_iter().chain(taken_over).min();
        taken_over
    }

    /// There is nothing of this kind to judge.
    pub fn note_nothing(&mut self, kind: Kind) {
        self.note(kind, &Found::default());
    }

    /// For the next sweeps. All of it is as old as its oldest part: taken over again and again, nothing becomes
    /// younger.
    pub fn remembered(&self) -> Option<Remembered> {
        let stands = self.kinds.values().any(|found| !found.parts.is_empty() || found.rest.is_some());
        let held = json!(Document { settings: self.settings.clone(), kinds: self.kinds.clone() });
        let decided_at = self.oldest.unwrap_or(self.now);
        let is_kept = !self.kinds.is_empty() && held.to_string().len() <= KEPT_MAX;
        is_kept.then_some(Remembered { decided_at, held, stands })
    }
}
