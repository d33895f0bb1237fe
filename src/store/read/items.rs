//! What needs a person: an item of each source, merged with those of the others, the oldest first; and what a person
//! can do about each: what the host's own facts say of it, and commands ready for a shell. What others wrote is quoted,
//! and what may not be shown as it is makes no command.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use diesel::QueryResult;
use schemars::JsonSchema;
use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

use crate::rules::board::{BoardState, Need, advice};
use crate::rules::display::humanize;
use crate::rules::issue::tried;
use crate::rules::{Id, Kind};
use crate::store::db::columns::read_many;
use crate::store::db::types::{IdType, RawInstant};
use crate::store::hosts::links::{HostStep, LinkTarget, Remedy};
use crate::store::read::board::BoardRow;
use crate::store::read::request::{Cursor, Inquiry, ItemSource};
use crate::store::read::subject::{Age, SubjectRef};
use crate::store::work::outbox::UNHEARD_RUN;
use crate::store::{Db, Nominated, for_kind};
use crate::text::is_plain;

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
    pub(super) offers: &'static [OfferedCommand],
    /// The run that it is about, if that is one.
    #[serde(skip)]
    pub(super) run: Option<Id>,
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
    /// Its agent is gone or cannot be woken for long.
    Abandoned,
    /// The host blocked it and notified nobody.
    BlockedByHost,
    /// It is to do, has an agent, and nothing will start it.
    Unstarted,
    /// A run of it has never shown a sign of life, and has been at work for long.
    UnheardRun,
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

    /// As people read it.
    pub fn in_words(self) -> String {
        if self == ItemKind::UnheardRun { UNHEARD_RUN.to_owned() } else { humanize(self.name()) }
    }
}

/// A command that may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferedCommand {
    Explain,
    Wake,
    Pause,
    SkipStep,
    Release,
    EndRun,
    /// A dry run of what is held back.
    DryRun,
    /// A sweep without the guard of what is held back.
    Unguarded,
    TestNotification,
}

/// An item, or another row, and its place among all of them.
#[derive(Debug)]
pub struct Placed<T = Item> {
    pub cursor: Cursor,
    pub item: T,
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
            run: None,
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
        use OfferedCommand::{Explain, Pause, SkipStep, Wake};
        let (what, need, offers): (_, _, &[OfferedCommand]) = match (row.state, row.source, row.kind) {
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

    fn add_remedy(&mut self, remedy: &Remedy, inquiry: &Inquiry) {
        self.cause.clone_from(&remedy.last_error);
        self.cause_url = self.cause.as_ref().and(remedy.last_run.as_ref()).and_then(|(run, agent)| {
            let issue = self.subject.page()?;
            inquiry.links.to_run(&LinkTarget { id: run, agent: Some(agent), ..issue })
        });
        if self.is_advised_by_its_host() && remedy.advice != inquiry.resume_advice {
            self.advice = advice(Need::Blocked(&remedy.advice));
            self.steps.clone_from(&remedy.steps);
            let has_calls =
                !self.steps.is_empty() && self.steps.iter().all(|step| matches!(step, HostStep::Call { .. }));
            self.offers =
                if has_calls { &[OfferedCommand::Explain, OfferedCommand::Wake] } else { &[OfferedCommand::Explain] };
        }
    }

    /// Whether its advice says how the agent is made to go on.
    fn is_advised_by_its_host(&self) -> bool {
        match self.what {
            ItemKind::Escalated | ItemKind::BlockedByHost | ItemKind::Unstarted | ItemKind::StuckWake => true,
            ItemKind::Abandoned
            | ItemKind::UnheardRun
            | ItemKind::Quarantined
            | ItemKind::Undelivered
            | ItemKind::HeldBack => false,
        }
    }

    fn command(&self, offer: OfferedCommand, name: Option<&str>, database: Option<&str>) -> Option<String> {
        let kind = self.subject.kind.map(Kind::name).unwrap_or_default();
        let with = |command: &str, word: &str| Some(format!("{command} {}", quoted(word)?));
        let part = |command: &str| {
            let only = self.subject.kind.map(|kind| format!(" --only {}", kind.plural())).unwrap_or_default();
            let tenant = self.subject.tenant.as_deref().map_or(Some(String::new()), |name| with(" --tenant", name));
            Some(format!("{command}{only}{}", tenant?))
        };
        let command = match offer {
            OfferedCommand::Explain => with(&format!("explain {kind}"), name?),
            OfferedCommand::Wake => with("wake", name?),
            OfferedCommand::Pause => with("session pause", name?),
            OfferedCommand::SkipStep => with("step skip", name?),
            OfferedCommand::Release => with(&format!("quarantine release {kind}"), &self.subject.id.as_ref()?.0),
            OfferedCommand::EndRun => with("run end", &self.run.as_ref()?.0).map(|end| format!("{end} interrupted")),
            OfferedCommand::DryRun => part("--dry-run"),
            OfferedCommand::Unguarded => part("--no-guard"),
            OfferedCommand::TestNotification => return Some("sweep notify test".to_owned()),
        };
        Some(format!("sweep {}{}", command?, database?))
    }

    /// What its subject is called in a command: as people call it, unless that is another subject's id, which would be
    /// found first.
    fn name_for_commands(&self, ids: IdType, existing: &HashSet<Id>) -> Option<&str> {
        let id = self.subject.id.as_ref()?;
        let is_anothers = self.parsed_name(ids).is_some_and(|other| other != *id && existing.contains(&other));
        let name = self.subject.identifier.as_deref().filter(|name| !is_anothers && quoted(name).is_some());
        Some(name.unwrap_or(&id.0))
    }

    /// The id that its name can be.
    fn parsed_name(&self, ids: IdType) -> Option<Id> {
        ids.parse(self.subject.identifier.as_deref()?)
    }
}

/// Sorts the items of all sources by time. Each source comes in its own order, which the sort keeps.
pub fn sort<T>(placed: &mut [Placed<T>]) {
    placed.sort_by(|one, other| {
        let by_time = one.cursor.since.partial_cmp(&other.cursor.since).unwrap_or(Ordering::Equal);
        by_time.then(one.cursor.source.cmp(&other.cursor.source))
    });
}

/// One page of all items, and where the next page begins.
pub fn one_page<T>(mut placed: Vec<Placed<T>>, limit: usize) -> (Vec<T>, Option<Cursor>) {
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

/// Adds to each item what its host advises, what its last run said, and the commands that help. `database` is what
/// leads a command there, such as ` --database 'sqlite:///srv/acme.db'`; none: nothing that may be shown does.
pub fn add_help(items: &mut [Item], db: &mut Db, inquiry: &Inquiry, database: Option<&str>) -> QueryResult<()> {
    add_remedies(items, db, inquiry)?;
    let ids: Vec<Id> = items.iter().filter_map(|item| item.parsed_name(inquiry.id_type)).collect();
    let mut existing = HashSet::new();
    if !ids.is_empty() {
        for &kind in inquiry.kinds {
            existing.extend(for_kind!(kind, S => S::existing(db, &ids))?);
        }
    }
    for item in items {
        let name = item.name_for_commands(inquiry.id_type, &existing);
        let own = item.offers.iter().filter_map(|offer| item.command(*offer, name, database));
        let hosts = item.steps.iter().filter_map(|step| step.command(inquiry.links.base.as_ref()));
        let commands = own.chain(hosts).collect();
        item.commands = commands;
    }
    Ok(())
}

fn add_remedies(items: &mut [Item], db: &mut Db, inquiry: &Inquiry) -> QueryResult<()> {
    let issues = || items.iter().filter(|item| item.subject.kind == Some(Kind::Issue));
    let ids: Vec<Id> = issues().filter_map(|item| item.subject.id.clone()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let known = read_many::<Remedy>(db, Kind::Issue, &ids)?.into_iter().map(|remedy| (remedy.issue.clone(), remedy));
    let known: HashMap<Id, Remedy> = known.collect();
    for item in items.iter_mut().filter(|item| item.subject.kind == Some(Kind::Issue)) {
        if let Some(remedy) = item.subject.id.as_ref().and_then(|id| known.get(id)) {
            item.add_remedy(remedy, inquiry);
        }
    }
    Ok(())
}

/// Puts items with one cause together, where the oldest of them stood; the first of them says how many they are.
pub fn together(items: Vec<Item>) -> Vec<Item> {
    let mut groups: Vec<Vec<Item>> = Vec::new();
    for item in items {
        match groups.iter_mut().find(|group| item.cause.is_some() && group[0].cause == item.cause) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    for group in &mut groups {
        group[0].heads = Some(group.len()).filter(|n| 1 < *n);
    }
    groups.into_iter().flatten().collect()
}

fn quoted(word: &str) -> Option<String> {
    (is_plain(word) && !word.starts_with('-')).then(|| shell_words::quote(word).into_owned())
}
