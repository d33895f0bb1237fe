//! `sweep watch`: begins a session, or takes one up, and has its process supervised.

mod event;
mod first_use;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use chrono::TimeDelta;
use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};

use super::opened::Opened;
use crate::cli::{WatchCommand, WatchFlags};
use crate::exit::{Exit, Refusal, not_found, usage};
use crate::notify::{Notify, deliver};
use crate::parse::Words;
use crate::rules::{Id, Kind};
use crate::screen::Agents;
use crate::settings::Environment;
use crate::store::find::{Label, find};
use crate::store::open::Url;
use crate::store::rights::Purpose;
use crate::store::supervision::{self, Beginning, Held};
use crate::store::{Abort, Db, Timeouts};
use crate::supervisor::alerts::{Alerts, Deliver};
use crate::supervisor::keeper::{Examiner, Keeping, LEFT_AFTER};
use crate::supervisor::log::may_be_log;
use crate::supervisor::terminal::Command;
use crate::supervisor::tmux::Pane;
use crate::supervisor::{self, Watch, Work};
use crate::text::shown;

pub fn run(mut flags: WatchFlags, environment: &Environment) -> Result<Exit> {
    if let Some(WatchCommand::Event(event)) = &flags.of_agent {
        event::run(event, environment);
        return Ok(Exit::Done);
    }
    let (policy, timeouts) = environment.policy(std::mem::take(&mut flags.policy))?;
    let (interval, tenant) = environment.watch(flags.interval, flags.tenant.take())?;
    let notify = environment.notify()?;
    let queueing = notify.queueing();
    if let Some(path) = flags.log.as_deref() {
        refuse_log(path).map_err(|why| usage(format!("--log: {}: {why}", shown(&path.to_string_lossy()))))?;
    }
    let url = environment.database(&flags.database)?;
    if let (true, Url::Sqlite(path)) = (environment.is_new(&url), &url) {
        first_use::make(path, environment)?;
    }
    let mut opened = Opened::within(timeouts, Purpose::Sweep, &flags.database, environment)?;
    opened.store.refuse_unprovided(Kind::Session)?;
    if !opened.change(|db, _| supervision::is_provided(db))? {
        return Err(usage("sessions that take commands: not provided by this database").into());
    }
    let work = work(&mut flags, environment)?;
    let held = hold(&mut opened, &flags, &title(&work), tenant.as_deref(), interval)?;
    let directory = environment.data_directory().map(|directory| directory.join("sessions"));
    let watch = Watch {
        work,
        log: flags.log.or_else(|| Some(directory?.join(log_name(&held.id)))),
        keeping: Keeping {
            alerts: alerts(url.clone(), timeouts, notify),
            url,
            policy,
            timeouts,
            queueing,
            zone: environment.zone(),
            interval: interval.to_std().unwrap_or_default(),
            examiner: if flags.no_examine { Examiner::Sweeps } else { Examiner::Watcher },
            held,
        },
        db: opened.store.db,
        nudges: flags.nudge.unwrap_or_default(),
    };
    let code = supervisor::run(watch)?;
    // The command's code, which may be any, is no `Exit` of sweep's own.
    std::process::exit(code.into())
}

/// The watcher delivers what it queues.
fn alerts(url: Url, timeouts: Timeouts, notify: Notify) -> Alerts {
    let is_anybody_notified = !notify.destinations().is_empty();
    let deliver = move || Ok(deliver(&url, &timeouts, &notify, || false)?.failed);
    Alerts::new(is_anybody_notified.then(|| Arc::new(deliver) as Arc<Deliver>))
}

/// Only the default directory is made: in a path that was given, one that is missing is more likely a mistake.
fn refuse_log(path: &Path) -> Result<(), String> {
    let directory = path.parent().filter(|directory| *directory != Path::new("")).unwrap_or(Path::new("."));
    match may_be_log(path) {
        false => Err("no regular file".to_owned()),
        true if !directory.is_dir() => Err(format!("there is no directory {}", directory.display())),
        true => Ok(()),
    }
}

fn work(flags: &mut WatchFlags, environment: &Environment) -> Result<Work> {
    if let Some(pane) = &flags.tmux {
        return Ok(Work::Pane(Pane::find(pane, environment.own_variables())?));
    }
    let directory: PathBuf = std::env::current_dir().context("finding the working directory")?;
    let search_path = environment.search_path().to_owned();
    let withheld = if flags.inherit_env { Vec::new() } else { environment.own_variables() };
    let words = std::mem::take(&mut flags.command);
    let command = Command {
        hooks: if flags.hooks { hooks(&words)? } else { Vec::new() },
        relaunch: flags.relaunch_command.take().map(|Words(words)| words),
        words,
        directory,
        search_path,
        withheld,
        events: None,
        shows_sequences: environment.shows_sequences(),
    };
    match command.exists() {
        true => Ok(Work::Command(command)),
        false => Err(not_found(format!("{}: command not found", shown(&title_of(&command)))).into()),
    }
}

/// The arguments by which this agent tells of itself; refused where the operator's own would be overridden.
fn hooks(words: &[OsString]) -> Result<Vec<OsString>> {
    let refuse = |why: &str| usage(format!("--hooks: {why}"));
    let agent = Agents::get().of_command(words).filter(|agent| !agent.hook_arguments.is_empty());
    let agent = agent.ok_or_else(|| {
        refuse("the command is no agent whose hooks can be set up by arguments, such as claude or codex")
    })?;
    let program = std::env::current_exe().context("finding the program itself")?;
    let arguments = agent.hooks(&program.to_string_lossy());
    if let Some(taken) =
        arguments.iter().find(|argument| argument.starts_with("--") && words.iter().any(|word| **word == ***argument))
    {
        return Err(refuse(&format!("the command has {taken} of its own, which would no longer hold")).into());
    }
    Ok(arguments.into_iter().map(OsString::from).collect())
}

/// On SQLite an id may be any text, a path as well. Whoever takes up a session leaves its earlier logs as they are.
fn log_name(id: &Id) -> String {
    let watch = Id::generate().0;
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    format!("{}.{watch}.log", id.0.chars().map(plain).take(100).collect::<String>())
}

/// What people read of what runs in the session.
fn title(work: &Work) -> String {
    match work {
        Work::Command(command) => shown(&title_of(command)),
        Work::Pane(pane) => pane.title(),
    }
}

fn title_of(command: &Command) -> String {
    command.words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Registers the session, or takes it up.
fn hold(
    opened: &mut Opened,
    flags: &WatchFlags,
    title: &str,
    tenant: Option<&str>,
    interval: TimeDelta,
) -> Result<Held> {
    let held = opened.transact(|db, _| match &flags.session {
        Some(session) => take_up(db, session, title, silent_after(flags), interval),
        None => begin(db, flags, title, tenant),
    });
    match (held, &flags.name) {
        (Err(Abort::RolledBack(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _))), Some(name)) => {
            let name = shown(name);
            Err(usage(format!(
                "--name: a session that has not ended is called {name}; take it up with --session {name}"
            ))
            .into())
        }
        (held, _) => Ok(held.map_err(|abort| opened.explain(abort))??),
    }
}

fn silent_after(flags: &WatchFlags) -> Option<i32> {
    flags.silent_after.map(|after| i32::try_from(after.num_seconds()).unwrap_or(i32::MAX))
}

fn take_up(
    db: &mut Db,
    session: &str,
    title: &str,
    silent_after: Option<i32>,
    interval: TimeDelta,
) -> QueryResult<Result<Held, Refusal>> {
    let label = match find(db, Kind::Session, session)?.one(Kind::Session, session) {
        Ok(label) => label,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let held = supervision::take_up(db, &label.id, title, silent_after, interval * LEFT_AFTER as i32)?;
    Ok(held.ok_or_else(|| usage(format!("--session: another watcher keeps {}", label.name()))))
}

fn begin(db: &mut Db, flags: &WatchFlags, title: &str, tenant: Option<&str>) -> QueryResult<Result<Held, Refusal>> {
    let agent = match flags.agent.as_deref().map(|name| agent(db, name)).transpose()?.transpose() {
        Ok(agent) => agent,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let issue = match flags.issue.as_deref().map(|name| issue(db, name, tenant)).transpose()?.transpose() {
        Ok(issue) => issue,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let its_tenant = issue.as_ref().and_then(|issue| issue.tenant.as_deref());
    let beginning = Beginning {
        tenant: tenant.or(its_tenant).unwrap_or("default"),
        identifier: flags.name.as_deref(),
        title,
        agent_id: agent.as_ref(),
        issue_id: issue.as_ref().map(|issue| &issue.id),
        silent_after_seconds: silent_after(flags),
    };
    supervision::begin(db, &beginning).map(Ok)
}

fn agent(db: &mut Db, name: &str) -> QueryResult<Result<Id, Refusal>> {
    let mut agents = supervision::agents_called(db, name)?;
    let name = shown(name);
    Ok(match (agents.pop(), agents.pop()) {
        (Some(agent), None) => Ok(agent),
        (Some(one), Some(other)) => {
            let ids = format!("{}, {}", shown(&other.0), shown(&one.0));
            Err(usage(format!("--agent: more than one agent is called {name}; give the id: {ids}")))
        }
        (None, _) => Err(usage(format!("--agent: there is no agent {name} in this database"))),
    })
}

/// A session has nothing to do with another tenant's issue.
fn issue(db: &mut Db, name: &str, tenant: Option<&str>) -> QueryResult<Result<Label, Refusal>> {
    let found = find(db, Kind::Issue, name)?.one(Kind::Issue, name);
    Ok(found.and_then(|label| label.of_tenant(Kind::Issue, tenant)))
}
