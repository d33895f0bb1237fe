//! What needs a person: all of it merged from its sources, the oldest first.

use std::cmp::Ordering;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::owner::Owner;
use super::request::{Cursor, PageRequest, Source};
use crate::rules::board::{Need, advice};
use crate::rules::{Id, Kind};
use crate::store::db::ids::IdType;
use crate::store::db::types::RawInstant;
use crate::store::hosts::host_steps::HostStep;
use crate::store::read::status::Limits;

/// One thing that needs a person; the fields are those of the JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Item {
    pub what: What,
    /// Of the subject that it is about; null: it is about none.
    pub kind: Option<Kind>,
    pub id: Option<Id>,
    pub tenant: Option<String>,
    pub identifier: Option<String>,
    /// Its page in the host's own board.
    pub url: Option<String>,
    pub title: Option<String>,
    pub agent_id: Option<Id>,
    pub agent: Option<String>,
    /// Null when the row holds no time that can be read.
    pub since: Option<DateTime<Utc>>,
    pub age_seconds: Option<i64>,
    /// In words.
    pub why: String,
    /// What its last run said of its failure; null: nothing, or the host keeps no such words.
    pub cause: Option<String>,
    /// That run's page in the host's own board.
    pub cause_url: Option<String>,
    /// What was tried, in words; null: nothing could be.
    pub tried: Option<String>,
    /// What a person can do about it now, in words, and the commands that help.
    pub advice: String,
    pub commands: Vec<String>,
    /// Which commands these are to be; and the host's own, behind them.
    #[serde(skip)]
    pub(super) offers: &'static [Command],
    #[serde(skip)]
    pub(super) steps: Vec<HostStep>,
    /// The run that said the cause, and its agent.
    #[serde(skip)]
    pub(super) last_run: Option<(Id, Id)>,
    /// How many items of this page have one cause, at the first of them.
    #[serde(skip)]
    pub heads: Option<usize>,
}

impl Item {
    /// Of which nothing is known but what it is.
    pub fn new(what: What, need: Need, why: String) -> Item {
        Item {
            what,
            kind: None,
            id: None,
            tenant: None,
            identifier: None,
            url: None,
            title: None,
            agent_id: None,
            agent: None,
            since: None,
            age_seconds: None,
            why,
            cause: None,
            cause_url: None,
            tried: None,
            advice: advice(need),
            commands: Vec::new(),
            offers: &[],
            steps: Vec::new(),
            last_run: None,
            heads: None,
        }
    }

    pub fn subject(&self) -> Option<(Kind, &Id)> {
        Some((self.kind?, self.id.as_ref()?))
    }
}

/// A command that may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Explain,
    Wake,
    Pause,
    SkipStep,
    Release,
    /// A dry run of what is held back.
    DryRun,
    /// A sweep of that without the guard.
    Unguarded,
    TestNotification,
}

/// Why it needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum What {
    /// People were notified, and nobody has answered.
    Escalated,
    /// Its agent is gone, terminated or paused for long.
    Abandoned,
    /// The host blocked it itself, and notified nobody.
    BlockedByHost,
    /// An issue is to do, has an agent, and nothing will start it.
    Unstarted,
    /// A wake has been queued for too long.
    StuckWake,
    /// It failed so often that sweeps leave it out.
    Quarantined,
    /// A notification was given up, or is late although it was tried.
    Undelivered,
    /// The guard held work back.
    HeldBack,
}

impl What {
    pub const ALL: &[What] = <What as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An item, and its place among all of them.
#[derive(Debug)]
pub struct Placed {
    pub cursor: Cursor,
    pub item: Item,
}

/// The items of one source: this page and one more, in their order; and how many there are on all pages.
pub type OfSource = (Vec<Placed>, i64);

/// What all sources are read with.
pub struct Reading<'a> {
    pub kinds: &'a [Kind],
    pub owner: &'a Owner,
    pub page: &'a PageRequest,
    pub limits: &'a Limits,
    /// How a person has the agent of a blocked issue go on, on this host.
    pub resume_advice: &'a str,
    /// Of the host's ids.
    pub id_type: IdType,
    pub now: DateTime<Utc>,
}

/// One page of all items, and where the next page begins.
pub fn merged(mut placed: Vec<Placed>, limit: usize) -> (Vec<Item>, Option<Cursor>) {
    // Each source comes in its own order, which this sort keeps.
    placed.sort_by(|one, other| {
        let by_time = one.cursor.since.partial_cmp(&other.cursor.since).unwrap_or(Ordering::Equal);
        by_time.then(one.cursor.source.cmp(&other.cursor.source))
    });
    let next = (limit < placed.len()).then(|| placed.get(limit.saturating_sub(1)).map(|last| last.cursor.clone()));
    placed.truncate(limit);
    (placed.into_iter().map(|placed| placed.item).collect(), next.flatten())
}

/// The place of a row in its source.
pub fn place(since: Option<RawInstant>, source: Source, key: Id) -> Cursor {
    Cursor { since: since.unwrap_or(RawInstant::Beginning), source, key }
}
