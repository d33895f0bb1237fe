//! What a person can do about each item: what the host's own facts say of it, and commands ready for a shell. What
//! others wrote is quoted, and what may not be shown as it is makes no command.

use std::collections::{HashMap, HashSet};

use diesel::QueryResult;

use crate::rules::board::{Need, advice};
use crate::rules::{Id, Kind};
use crate::store::db::types::IdType;
use crate::store::hosts::host_steps::{HostStep, Remedy, remedies};
use crate::store::hosts::links::SubjectPage;
use crate::store::read::items::{Item, ItemKind, Offer};
use crate::store::read::scope::Inquiry;
use crate::store::{Db, Nominated, for_kind};
use crate::text::is_plain;

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
    let known = remedies(db, &ids)?.into_iter().map(|remedy| (remedy.issue.clone(), remedy));
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

impl Item {
    fn add_remedy(&mut self, remedy: &Remedy, inquiry: &Inquiry) {
        self.cause.clone_from(&remedy.last_error);
        self.cause_url = self.cause.as_ref().and(remedy.last_run.as_ref()).and_then(|(run, agent)| {
            let issue = self.subject.page()?;
            inquiry.links.to_run(&SubjectPage { id: run, agent: Some(agent), ..issue })
        });
        if self.is_advised_by_its_host() && remedy.advice != inquiry.resume_advice {
            self.advice = advice(Need::Blocked(&remedy.advice));
            self.steps.clone_from(&remedy.steps);
            let has_calls =
                !self.steps.is_empty() && self.steps.iter().all(|step| matches!(step, HostStep::Call { .. }));
            self.offers = if has_calls { &[Offer::Explain, Offer::Wake] } else { &[Offer::Explain] };
        }
    }

    /// Whether its advice says how the agent is made to go on.
    fn is_advised_by_its_host(&self) -> bool {
        match self.what {
            ItemKind::Escalated | ItemKind::BlockedByHost | ItemKind::Unstarted | ItemKind::StuckWake => true,
            ItemKind::Abandoned | ItemKind::Quarantined | ItemKind::Undelivered | ItemKind::HeldBack => false,
        }
    }

    fn command(&self, offer: Offer, name: Option<&str>, database: Option<&str>) -> Option<String> {
        let kind = self.subject.kind.map(Kind::name).unwrap_or_default();
        let with = |command: &str, word: &str| Some(format!("{command} {}", quoted(word)?));
        let part = |command: &str| {
            let only = self.subject.kind.map(|kind| format!(" --only {}", kind.plural())).unwrap_or_default();
            let tenant = self.subject.tenant.as_deref().map_or(Some(String::new()), |name| with(" --tenant", name));
            Some(format!("{command}{only}{}", tenant?))
        };
        let command = match offer {
            Offer::Explain => with(&format!("explain {kind}"), name?),
            Offer::Wake => with("wake", name?),
            Offer::Pause => with("session pause", name?),
            Offer::SkipStep => with("step skip", name?),
            Offer::Release => with(&format!("quarantine release {kind}"), &self.subject.id.as_ref()?.0),
            Offer::DryRun => part("--dry-run"),
            Offer::Unguarded => part("--no-guard"),
            Offer::TestNotification => return Some("sweep notify test".to_owned()),
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

fn quoted(word: &str) -> Option<String> {
    (is_plain(word) && !word.starts_with('-')).then(|| shell_words::quote(word).into_owned())
}
