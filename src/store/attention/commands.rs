//! The commands that help, ready for a shell: what others wrote is quoted, and what may not be shown as it is makes
//! none.

use diesel::QueryResult;

use super::items::{Command, Item, Reading};
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::find::label;
use crate::text::is_plain;

impl Item {
    /// With the commands that help. `database` is what leads them there, such as ` --database 'sqlite:///srv/acme.db'`;
    /// none: nothing that may be shown does.
    pub fn with_commands(mut self, db: &mut Db, reading: &Reading, database: Option<&str>) -> QueryResult<Item> {
        let name = self.name(db, reading)?;
        let (id, tenant) = (self.id.as_ref().map(|id| id.0.as_str()), self.tenant.as_deref());
        let kind = self.kind.map(Kind::name).unwrap_or_default();
        let with = |command: &str, word: Option<&str>| Some(format!("{command} {}", quoted(word?)?));
        let part = |command: &str| {
            let only = self.kind.map(|kind| format!(" --only {}", kind.plural())).unwrap_or_default();
            let of_tenant = tenant.map_or(Some(String::new()), |tenant| with(" --tenant", Some(tenant)));
            Some(format!("{command}{only}{}", of_tenant?))
        };
        let command = |offer: &Command| {
            let command = match offer {
                Command::Explain => with(&format!("explain {kind}"), name.as_deref()),
                Command::Wake => with("wake", name.as_deref()),
                Command::SkipStep => with("skip-step", name.as_deref()),
                Command::Release => with(&format!("quarantine release {kind}"), id),
                Command::DryRun => part("--dry-run"),
                Command::Unguarded => part("--no-guard"),
                Command::TestNotification => return Some("sweep notify test".to_owned()),
            };
            Some(format!("sweep {}{}", command?, database?))
        };
        self.commands = self.offers.iter().filter_map(command).collect();
        Ok(self)
    }

    /// What its subject is called in a command: as people call it, unless that is another's id, which would be found
    /// first.
    fn name(&self, db: &mut Db, reading: &Reading) -> QueryResult<Option<String>> {
        let Some(Id(id)) = &self.id else { return Ok(None) };
        let Some(name) = self.identifier.as_deref().filter(|name| quoted(name).is_some()) else {
            return Ok(Some(id.clone()));
        };
        if let Some(other) = reading.id_type.parse(name).filter(|other| other.0 != *id) {
            for kind in reading.kinds {
                if label(db, *kind, &other)?.is_some() {
                    return Ok(Some(id.clone()));
                }
            }
        }
        Ok(Some(name.to_owned()))
    }
}

fn quoted(word: &str) -> Option<String> {
    (is_plain(word) && !word.starts_with('-')).then(|| shell_words::quote(word).into_owned())
}
