//! The commands that help, ready for a shell: what others wrote is quoted, and what may not be shown as it is makes
//! none.

use std::collections::HashSet;

use diesel::QueryResult;

use super::items::{Command, Item, Reading};
use crate::rules::{Id, Kind};
use crate::store::db::ids::IdType;
use crate::store::{Db, Nominated, for_kind};
use crate::text::is_plain;

/// The items with the commands that help. `database` is what leads them there, such as
/// ` --database 'sqlite:///srv/acme.db'`; none: nothing that may be shown does.
pub fn with_commands(
    mut items: Vec<Item>,
    db: &mut Db,
    reading: &Reading,
    database: Option<&str>,
) -> QueryResult<Vec<Item>> {
    let ids: Vec<Id> = items.iter().filter_map(|item| item.as_an_id(reading.id_type)).collect();
    let mut existing = HashSet::new();
    if !ids.is_empty() {
        for &kind in reading.kinds {
            existing.extend(for_kind!(kind, S => S::existing(db, &ids))?);
        }
    }
    for item in &mut items {
        let name = item.name(reading.id_type, &existing);
        let commands = item.offers.iter().filter_map(|offer| item.command(*offer, name, database)).collect();
        item.commands = commands;
    }
    Ok(items)
}

impl Item {
    fn command(&self, offer: Command, name: Option<&str>, database: Option<&str>) -> Option<String> {
        let kind = self.kind.map(Kind::name).unwrap_or_default();
        let with = |command: &str, word: &str| Some(format!("{command} {}", quoted(word)?));
        let part = |command: &str| {
            let only = self.kind.map(|kind| format!(" --only {}", kind.plural())).unwrap_or_default();
            let of_tenant = self.tenant.as_deref().map_or(Some(String::new()), |tenant| with(" --tenant", tenant));
            Some(format!("{command}{only}{}", of_tenant?))
        };
        let command = match offer {
            Command::Explain => with(&format!("explain {kind}"), name?),
            Command::Wake => with("wake", name?),
            Command::Pause => with("pause", name?),
            Command::SkipStep => with("skip-step", name?),
            Command::Release => with(&format!("quarantine release {kind}"), &self.id.as_ref()?.0),
            Command::DryRun => part("--dry-run"),
            Command::Unguarded => part("--no-guard"),
            Command::TestNotification => return Some("sweep notify test".to_owned()),
        };
        Some(format!("sweep {}{}", command?, database?))
    }

    /// What its subject is called in a command: as people call it, unless that is another's id, which would be found
    /// first.
    fn name(&self, ids: IdType, existing: &HashSet<Id>) -> Option<&str> {
        let id = self.id.as_ref()?;
        let is_anothers = self.as_an_id(ids).is_some_and(|other| other != *id && existing.contains(&other));
        let name = self.identifier.as_deref().filter(|name| !is_anothers && quoted(name).is_some());
        Some(name.unwrap_or(&id.0))
    }

    /// The id that its name can be.
    fn as_an_id(&self, ids: IdType) -> Option<Id> {
        ids.parse(self.identifier.as_deref()?)
    }
}

fn quoted(word: &str) -> Option<String> {
    (is_plain(word) && !word.starts_with('-')).then(|| shell_words::quote(word).into_owned())
}
