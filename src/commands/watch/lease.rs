//! How a session is registered, or taken up; and where it runs, by which it is called if it is given no name.

use std::ffi::OsString;
use std::fmt::{Display, Formatter, Result as FormatResult};
use std::path::{Path, PathBuf};

use anyhow::Result;
use diesel::result::{DatabaseErrorKind, Error};

use crate::cli::WatchFlags;
use crate::commands::open_database::OpenDatabase;
use crate::conclusion::usage;
use crate::rules::display::is_invisible;
use crate::rules::{Id, Kind, Policy};
use crate::screen::Agents;
use crate::store::db::errors::Refused;
use crate::store::hosts::rights::{self, Purpose};
use crate::store::work::find;
use crate::store::work::supervision::{self, Beginning, Lease, Watcher};
use crate::store::{Abort, Db, Label};
use crate::supervisor::WatchTarget;
use crate::supervisor::keeper::LEFT_AFTER;
use crate::text::redact;

/// Watchers that begin in one directory at the same moment, and want its name.
const RIVALS_MAX: u32 = 20;

/// The session that is to be watched.
pub struct WatchedSession {
    pub flags: WatchFlags,
    pub title: String,
    pub place: WorkingPlace,
    pub tenant: Option<String>,
    /// The rules by which the watcher examines the session; none: the watcher leaves that to sweeps.
    pub policy: Option<Policy>,
}

impl WatchedSession {
    /// Registers the session, or acquires one that is there.
    pub fn lease(&self, opened: &mut OpenDatabase) -> Result<Lease> {
        opened.store.refuse_unprovided(Kind::Session)?;
        if !opened.change(|db, _| Ok(supervision::is_provided(db)?))? {
            return Err(usage("sessions that take commands: not provided by this database").into());
        }
        opened.store.db.look(|db| rights::check_also(db, Purpose::Watch))?;
        for _ in 0..RIVALS_MAX {
            let leased = opened.transact(|db, _| {
                let lease = match &self.flags.session {
                    Some(session) => self.acquire(db, session)?,
                    None => self.begin(db)?,
                };
                supervision::examined_by(db, &lease, self.watcher().as_ref())?;
                Ok(lease)
            });
            match (leased, &self.flags.name) {
                (Err(Abort::RolledBack(Refused::Query(error))), Some(name)) if is_taken(&error) => {
                    let name = redact(name);
                    return Err(usage(format!(
                        "--name: a session that has not ended is called {name}; take it up with --session {name}"
                    ))
                    .into());
                }
                (Err(Abort::RolledBack(Refused::Query(error))), None) if is_taken(&error) => {}
                (leased, _) => return leased.map_err(|abort| opened.explain(abort)),
            }
        }
        Err(usage("--name: too many sessions begin in this directory at this moment").into())
    }

    fn acquire(&self, db: &mut Db, session: &str) -> Result<Lease, Refused> {
        let label = find::find(db, Kind::Session, session)?.one(Kind::Session, session)?;
        let lease = supervision::acquire(db, &label.id, &self.title, self.silent_after(), LEFT_AFTER)?;
        lease.ok_or_else(|| usage(format!("--session: another watcher keeps {}", label.name())).into())
    }

    fn begin(&self, db: &mut Db) -> Result<Lease, Refused> {
        let WatchedSession { flags, title, .. } = self;
        let tenant = self.tenant.as_deref();
        let agent = flags.agent.as_deref().map(|name| agent(db, name)).transpose()?;
        let issue = flags.issue.as_deref().map(|name| issue(db, name, tenant)).transpose()?;
        let its_tenant = issue.as_ref().and_then(|issue| issue.tenant.as_deref());
        let beginning = Beginning {
            tenant: tenant.or(its_tenant).unwrap_or("default"),
            identifier: flags.name.as_deref(),
            title,
            agent_id: agent.as_ref(),
            issue_id: issue.as_ref().map(|issue| &issue.id),
            silent_after_seconds: self.silent_after(),
        };
        match flags.name {
            Some(_) => Ok(supervision::begin(db, &beginning)?),
            None => self.begin_without_name(db, beginning),
        }
    }

    /// Registers the session under the name of its directory, with the first number that no other session has.
    fn begin_without_name(&self, db: &mut Db, beginning: Beginning) -> Result<Lease, Refused> {
        let (directory, place) = (self.place.name(), self.place.to_string());
        let mut name = directory.clone();
        let mut number = 1;
        loop {
            let beginning = Beginning { identifier: Some(&name), ..beginning };
            if let Some(lease) = supervision::begin_at(db, &beginning, &place, LEFT_AFTER)? {
                return Ok(lease);
            }
            number += 1;
            name = format!("{directory}-{number}");
        }
    }

    fn watcher(&self) -> Option<Watcher> {
        let left_after_seconds = LEFT_AFTER.num_seconds();
        Some(Watcher { policy: self.policy.clone()?, left_after_seconds })
    }

    fn silent_after(&self) -> Option<i32> {
        self.flags.silent_after.map(|after| i32::try_from(after.num_seconds()).unwrap_or(i32::MAX))
    }
}

/// True if another session, which has not ended, has the name.
fn is_taken(error: &Error) -> bool {
    matches!(error, Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _))
}

fn agent(db: &mut Db, name: &str) -> Result<Id, Refused> {
    let found = find::agent(db, name)?.one("agent", name);
    Ok(found.map_err(|failure| usage(format!("--agent: {failure}")))?.id)
}

/// Finds the issue on which the session works; it must be of the session's tenant.
fn issue(db: &mut Db, name: &str, tenant: Option<&str>) -> Result<Label, Refused> {
    Ok(find::find(db, Kind::Issue, name)?.one(Kind::Issue, name)?.of_tenant(Kind::Issue, tenant)?)
}

/// The length of a name in characters.
const NAME_MAX: usize = 100;

/// A directory of a machine. In words it is the end of a title, by which another session of the same place is known.
pub struct WorkingPlace {
    directory: PathBuf,
    host: String,
}

impl Display for WorkingPlace {
    fn fmt(&self, f: &mut Formatter) -> FormatResult {
        write!(f, "in {} on {}", redact(&self.directory.to_string_lossy()), redact(&self.host))
    }
}

impl WorkingPlace {
    pub fn find(target: &WatchTarget) -> WorkingPlace {
        let directory = match target {
            WatchTarget::Command(command) => command.directory.clone(),
            WatchTarget::Pane(pane) => pane.directory(),
        };
        WorkingPlace { directory, host: whoami::hostname().unwrap_or_default() }
    }

    /// The name of a session that runs here: `api` for `/srv/api`.
    pub fn name(&self) -> String {
        let name = self.directory.file_name().map(Path::new).map(|name| redact(&name.to_string_lossy()));
        let visible = name.unwrap_or_default().chars().filter(|c| !is_invisible(*c)).take(NAME_MAX).collect::<String>();
        Some(visible.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| redact(&self.host))
    }

    /// The agent's name, if it is known, and the place: `Claude Code in /srv/api on web-1`.
    pub fn with_agent(&self, words: &[OsString]) -> String {
        let agent = Agents::get().find_by_command(words).map(|agent| format!("{} ", agent.name));
        format!("{}{self}", agent.unwrap_or_default())
    }
}
