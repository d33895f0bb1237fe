//! What needs a person: an item of each source, merged with those of the others, the oldest first.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

use crate::rules::board::{BoardState, Need, advice};
use crate::rules::issue::tried;
use crate::rules::{Id, Kind};
use crate::store::db::types::RawInstant;
use crate::store::hosts::host_steps::HostStep;
use crate::store::read::board::BoardRow;
use crate::store::read::request::{Cursor, ItemSource};
use crate::store::read::scope::Inquiry;
use crate::store::read::subject::{Age, SubjectRef};

/// One thing that needs a person.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Item {
    /// Why it needs a person.
    pub what: ItemKind,
    #[serde(flatten)]
    pub subject: SubjectRef,
    #[serde(flatten)]
    pub age: Age,
    /// Why, in words: for people.
    pub why: String,
    /// What its last run said of its failure; those with one cause stand together. Null: it said nothing, or the host
    /// keeps no such words.
    pub cause: Option<String>,
    /// That run's page in the host's own board; null: none is known.
    pub cause_url: Option<String>,
    /// What sweeps tried, in words: for people; null: there was nothing to try.
    pub tried: Option<String>,
    /// What a person can do about it now, in words: for people.
    pub advice: String,
    /// Commands that help, ready for a shell. They name the database if it was named on the command line or is one of
    /// several. None in answers of `sweep mcp`.
    pub commands: Vec<String>,
    /// The commands of sweep's own that help, before they are written for a shell.
    #[serde(skip)]
    pub(super) offers: &'static [Offer],
    /// The host's own commands, which stand behind them.
    #[serde(skip)]
    pub(super) steps: Vec<HostStep>,
    /// How many items of this page have one cause, at the first of them.
    #[serde(skip)]
    pub heads: Option<usize>,
}

/// Why something needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schemars(inline)]
pub enum ItemKind {
    /// People were notified, and nobody has answered.
    Escalated,
    /// Its agent is gone, terminated or paused for long.
    Abandoned,
    /// The host blocked it and notified nobody.
    BlockedByHost,
    /// It is to do, has an agent, and nothing will start it.
    Unstarted,
    /// A wake for it has been queued for too long.
    StuckWake,
    /// It failed so often that sweeps leave it out.
    Quarantined,
    /// A notification was given up, or is late although it was tried.
    Undelivered,
    /// The guard held work back.
    HeldBack,
}

impl ItemKind {
    pub const ALL: &[ItemKind] = <ItemKind as VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A command that may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    Explain,
    Wake,
    Pause,
    SkipStep,
    Release,
    /// A dry run of what is held back.
    DryRun,
    /// A sweep without the guard of what is held back.
    Unguarded,
    TestNotification,
}

/// An item, and its place among all of them.
#[derive(Debug)]
pub struct Placed {
    pub cursor: Cursor,
    pub item: Item,
}

/// The items of one source: those of this page and one more, in their order; and how many there are on all pages.
pub type SourceItems = (Vec<Placed>, i64);

impl Item {
    pub fn new(what: ItemKind, need: Need, subject: SubjectRef, age: Age, why: String) -> Item {
        Item {
            what,
            subject,
            age,
            why,
            cause: None,
            cause_url: None,
            tried: None,
            advice: advice(need),
            commands: Vec::new(),
            offers: &[],
            steps: Vec::new(),
            heads: None,
        }
    }

    /// The item with its place in its source, where `key` orders what is of one moment.
    pub fn placed(self, since: Option<RawInstant>, source: ItemSource, key: Id) -> Placed {
        Placed { cursor: Cursor { since: since.unwrap_or(RawInstant::Beginning), source, key }, item: self }
    }

    /// The item of work that people were notified of.
    pub fn waiting(row: &BoardRow, inquiry: &Inquiry) -> Placed {
        use Offer::{Explain, Pause, SkipStep, Wake};
        let (what, need, offers): (_, _, &[Offer]) = match (row.state, row.source, row.kind) {
            (BoardState::Abandoned, ..) => (ItemKind::Abandoned, Need::Abandoned, &[Explain]),
            (_, ItemSource::Blocked, _) => (ItemKind::Escalated, Need::Blocked(inquiry.resume_advice), &[Explain]),
            (_, _, Kind::Issue) => (ItemKind::Escalated, Need::Escalated(row.kind), &[Explain, Wake]),
            (_, _, Kind::Step) if row.subject.agent_id.is_some() => {
                (ItemKind::Escalated, Need::Escalated(row.kind), &[Explain, Wake, SkipStep])
            }
            (_, _, Kind::Step) => (ItemKind::Escalated, Need::Escalated(row.kind), &[Explain, SkipStep]),
            (_, _, Kind::Session) if row.is_escalated_crash => (ItemKind::Escalated, Need::Crashed, &[Explain, Pause]),
            (_, _, Kind::Session) => (ItemKind::Escalated, Need::Escalated(row.kind), &[Explain]),
        };
        let (age, why) = (Age::at(row.since.as_ref(), inquiry.now), row.detail.clone().unwrap_or_default());
        let tried = (what == ItemKind::Escalated).then(|| tried(row.attempts, row.last_attempt_at));
        let item = Item { tried, offers, ..Item::new(what, need, row.subject.clone(), age, why) };
        item.placed(row.since.clone(), row.source, row.id.clone())
    }
}

/// Sorts the items of all sources by time. Each source comes in its own order, which the sort keeps.
fn sort(placed: &mut [Placed]) {
    placed.sort_by(|one, other| {
        let by_time = one.cursor.since.partial_cmp(&other.cursor.since).unwrap_or(Ordering::Equal);
        by_time.then(one.cursor.source.cmp(&other.cursor.source))
    });
}

/// One page of all items, and where the next page begins.
pub fn one_page(mut placed: Vec<Placed>, limit: usize) -> (Vec<Item>, Option<Cursor>) {
    sort(&mut placed);
    let next = (limit < placed.len()).then(|| placed.get(limit.saturating_sub(1)).map(|last| last.cursor.clone()));
    placed.truncate(limit);
    (placed.into_iter().map(|placed| placed.item).collect(), next.flatten())
}

/// The oldest items for each reason to need a person.
pub fn oldest_of_each(mut placed: Vec<Placed>, limit: usize) -> Vec<Item> {
    sort(&mut placed);
    let mut listed: BTreeMap<ItemKind, usize> = BTreeMap::new();
    let is_listed = |item: &Item| {
        let listed = listed.entry(item.what).or_default();
        *listed += 1;
        *listed <= limit
    };
    placed.into_iter().map(|placed| placed.item).filter(is_listed).collect()
}
