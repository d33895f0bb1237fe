//! `sweep watch`: registers a session, or takes one up, and has its process supervised; and `sweep watch event`, which
//! hooks of agents call.

use std::ffi::OsString;
use std::fs::{hard_link, remove_file};
use std::io::{ErrorKind, Read, Write, stderr, stdin};
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use diesel::result::{DatabaseErrorKind, Error};

use super::open_database::OpenDatabase;
use crate::cli::{EventFlags, WatchCommand, WatchFlags};
use crate::conclusion::{Conclusion, not_found, usage};
use crate::notify::deliver;
use crate::parse::CommandLine;
use crate::rules::display::is_invisible;
use crate::rules::{Id, Kind, Policy};
use crate::screen::{Agents, VARIABLE, shortened};
use crate::settings::database::{is_new, prepare_directory};
use crate::settings::{Environment, find_database, notify, policy, table};
use crate::store::hosts::migrate::{Wanted, migrate};
use crate::store::hosts::rights;
use crate::store::work::find;
use crate::store::work::supervision::{self, Beginning, Lease, Watcher};
use crate::store::{Abort, Access, Db, Purpose, Refused, Url};
use crate::supervisor::hook_socket::send;
use crate::supervisor::{self, AgentCommand, Alerts, Examiner, KeeperOptions, LEFT_AFTER, Pane, Watch, WatchTarget};
use crate::telemetry;
use crate::text::{cut, redact};

/// The size of an event in bytes: agents hand over all that a tool returned.
const EVENT_MAX: u64 = 64 << 20;

/// How long a hook may take to write its event.
const STDIN_LASTS: Duration = Duration::from_secs(5);

/// Watchers that begin in one directory at the same moment, and want its name.
const RIVALS_MAX: u32 = 20;

/// The length of a name in characters.
const NAME_MAX: usize = 100;

/// Characters of a path that are kept for people.
const DIRECTORY_MAX: usize = 1000;

pub fn run(mut flags: WatchFlags, environment: &Environment) -> Result<Conclusion> {
    if let Some(WatchCommand::Event(event)) = &flags.of_agent {
        // A hook that fails or waits may hold its agent up, or change what it does: this one never fails.
        if let Err(why) = hand_over(event, environment) {
            let _ = writeln!(stderr(), "sweep watch event: {}", redact(&why));
        }
        return Ok(Conclusion::Done);
    }
    let (policy, timeouts) = policy(environment)?;
    let host_url = table::host_url(environment)?;
    let notify = notify(environment)?;
    let subscriptions = notify.subscriptions();
    let log = flags.log.take();
    log.as_deref().map_or(Ok(()), refuse_log)?;
    let url = find_database(environment)?;
    if let (true, Url::Sqlite(path)) = (is_new(&url, environment), &url) {
        make_database(path, environment)?;
    }
    let target = target(&mut flags, environment)?;
    let nudges = flags.nudge.take().unwrap_or_default();
    let examiner = if flags.no_examine { Examiner::Sweeps } else { Examiner::Watcher };
    let session = WatchedSession::find(flags, &target, (examiner == Examiner::Watcher).then(|| policy.clone()));
    let (lease, store) = url.ask(&timeouts, move |url| {
        let mut opened = OpenDatabase::of(url, timeouts, Purpose::Sweep)?;
        Ok((session.lease(&mut opened)?, opened.store))
    })?;
    let directory = environment.data_directory().map(|directory| directory.join("sessions"));
    let is_anybody_notified = !notify.destinations().is_empty();
    let its_url = url.clone();
    let deliver = move || Ok(deliver(&its_url, &timeouts, &notify, || false)?.failed);
    let watch = Watch {
        target,
        log: log.or_else(|| Some(directory?.join(log_name(&lease.id)))),
        keeper: KeeperOptions {
            alerts: Alerts::start(is_anybody_notified.then_some(deliver)),
            url,
            interval: KeeperOptions::interval(&policy).to_std().unwrap_or_default(),
            policy,
            timeouts,
            subscriptions,
            links: store.host.links(host_url.as_ref()),
            zone: environment.zone(),
            examiner,
            lease,
        },
        db: store.db,
        nudges,
        hold_logs: telemetry::hold,
        release_logs: telemetry::release,
    };
    let code = supervisor::run(watch)?;
    // The command's code, which may be any, is no `Conclusion` of sweep's own.
    std::process::exit(code.into())
}

/// Makes the embedded database of a user who has none yet. It is made beside its place and then put there whole: when
/// several make one at the same moment, one is kept, and nobody sees half of it.
fn make_database(path: &Path, environment: &Environment) -> Result<()> {
    // This makes its directory as well.
    prepare_directory(&Url::Sqlite(path.to_owned()), environment)?;
    let new = path.with_extension(format!("{}.new", Id::generate()));
    let url = Url::Sqlite(new.clone());
    url.create()?;
    let made = url.connect(Access::Write).and_then(|mut db| migrate(&mut db, &Wanted::default()));
    let placed = made.map_err(|error| url.explain(error)).and_then(|_| match hard_link(&new, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error).context(path.display().to_string()),
        Ok(()) | Err(_) => Ok(()),
    });
    let _ = remove_file(&new);
    placed
}

/// Refuses a log that was given. Only the default directory is made: one that is missing in a path that was given is
/// more likely a mistake.
fn refuse_log(path: &Path) -> Result<()> {
    let directory = path.parent().filter(|directory| *directory != Path::new("")).unwrap_or(Path::new("."));
    // A log overwrites and removes what is there: a regular file or nothing, but no device, link or pipe.
    let why = match path.symlink_metadata().map_or(true, |metadata| metadata.is_file()) {
        false => "no regular file".to_owned(),
        true if !directory.is_dir() => format!("there is no directory {}", directory.display()),
        true => return Ok(()),
    };
    Err(usage(format!("--log: {}: {why}", redact(&path.to_string_lossy()))).into())
}

fn target(flags: &mut WatchFlags, environment: &Environment) -> Result<WatchTarget> {
    if let Some(pane) = &flags.tmux {
        let refuse = |why: String| usage(format!("--tmux: “{}”: {}", redact(pane), redact(&why)));
        return Ok(WatchTarget::Pane(Pane::find(pane, environment.own_variables()).map_err(refuse)?));
    }
    let directory = std::env::current_dir().context("finding the working directory")?;
    let words = std::mem::take(&mut flags.command);
    let command = AgentCommand {
        hooks: if flags.hooks { hooks(&words)? } else { Vec::new() },
        relaunch: flags.relaunch_command.take().map(|CommandLine(words)| words),
        words,
        directory,
        search_path: environment.search_path().to_owned(),
        withheld: if flags.inherit_env { Vec::new() } else { environment.own_variables() },
        hook_socket: None,
        shows_sequences: environment.shows_sequences(),
    };
    match command.exists() {
        true => Ok(WatchTarget::Command(command)),
        false => Err(not_found(format!("{}: command not found", redact(&command.title()))).into()),
    }
}

/// The arguments by which this agent reports its state; refused where the operator's own would be overridden.
fn hooks(words: &[OsString]) -> Result<Vec<OsString>> {
    let refuse = |why: &str| usage(format!("--hooks: {why}"));
    let agent = Agents::get().find_by_command(words).filter(|agent| !agent.hook_arguments.is_empty());
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

/// The name of a session's log. On SQLite an id may be any text, a path as well. A watcher that takes a session up
/// leaves its earlier logs as they are.
fn log_name(id: &Id) -> String {
    let watch = Id::generate().0;
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    format!("{}.{watch}.log", id.0.chars().map(plain).take(100).collect::<String>())
}

/// The session that is to be watched.
struct WatchedSession {
    flags: WatchFlags,
    /// What runs in it. Without a name of its own it also says which agent it is, and where.
    title: String,
    /// The name of a session that is given none: that of its directory, as `api` for `/srv/api`.
    place_name: String,
    /// The end of a title, by which another session of the same place is known: `in /srv/api on web-1`.
    place: String,
    directory: String,
    /// The rules by which the watcher examines the session; none: the watcher leaves that to sweeps.
    policy: Option<Policy>,
}

impl WatchedSession {
    fn find(flags: WatchFlags, target: &WatchTarget, policy: Option<Policy>) -> WatchedSession {
        let title = match target {
            WatchTarget::Command(command) => redact(&command.title()),
            WatchTarget::Pane(pane) => pane.title(),
        };
        let directory = target.directory();
        let host = redact(&whoami::hostname().unwrap_or_default());
        let path = redact(&directory.to_string_lossy());
        let place = format!("in {path} on {host}");
        let name = directory.file_name().map(|name| redact(&name.to_string_lossy())).unwrap_or_default();
        let visible = name.chars().filter(|c| !is_invisible(*c)).take(NAME_MAX).collect::<String>();
        let place_name = Some(visible.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or(host);
        let agent = || Agents::get().find_by_command(&target.foreground()).map(|agent| format!("{} ", agent.name));
        let title = match flags.name {
            Some(_) => title,
            None => format!("{title}, {}{place}", agent().unwrap_or_default()),
        };
        WatchedSession { flags, title, place_name, place, directory: cut(&path, DIRECTORY_MAX), policy }
    }

    /// Registers the session, or acquires one that is there.
    fn lease(&self, opened: &mut OpenDatabase) -> Result<Lease> {
        opened.store.refuse_unprovided(Kind::Session)?;
        if !opened.change(|db, _| Ok(supervision::is_provided(db)?))? {
            return Err(usage("sessions that take commands: not provided by this database").into());
        }
        opened.store.db.look(|db| rights::check_also(db, Purpose::Watch))?;
        let left_after_seconds = LEFT_AFTER.num_seconds();
        let watcher = self.policy.clone().map(|policy| Watcher { policy, left_after_seconds });
        for _ in 0..RIVALS_MAX {
            let leased = opened.transact(|db, _| {
                let lease = match &self.flags.session {
                    Some(session) => self.acquire(db, session)?,
                    None => self.begin(db)?,
                };
                supervision::examined_by(db, &lease, watcher.as_ref())?;
                Ok(lease)
            });
            // Another session, which has not ended, has the name.
            let Err(Abort::RolledBack(Refused::Query(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _)))) =
                leased
            else {
                return leased.map_err(|abort| opened.explain(abort));
            };
            if let Some(name) = self.flags.name.as_deref().map(redact) {
                let why = format!("a session that has not ended is called {name}; take it up with --session {name}");
                return Err(usage(format!("--name: {why}")).into());
            }
        }
        Err(usage("--name: too many sessions begin in this directory at this moment").into())
    }

    fn acquire(&self, db: &mut Db, session: &str) -> Result<Lease, Refused> {
        let label = find::find(db, Kind::Session, session)?.one(Kind::Session, session)?;
        let lease =
            supervision::acquire(db, &label.id, (&self.title, &self.directory), self.silent_after(), LEFT_AFTER)?;
        lease.ok_or_else(|| usage(format!("--session: another watcher keeps {}", label.name())).into())
    }

    /// Registers the session; without a name of its own under that of its directory, with the first number that no
    /// other session has.
    fn begin(&self, db: &mut Db) -> Result<Lease, Refused> {
        let WatchedSession { flags, title, place_name, place, directory, .. } = self;
        let tenant = flags.tenant.as_deref();
        let agent = match &flags.agent {
            Some(name) => {
                Some(find::agent(db, name)?.one("agent", name).map_err(|why| usage(format!("--agent: {why}")))?)
            }
            None => None,
        };
        // The issue on which the session works must be of the session's tenant.
        let issue = match &flags.issue {
            Some(name) => {
                Some(find::find(db, Kind::Issue, name)?.one(Kind::Issue, name)?.of_tenant(Kind::Issue, tenant)?)
            }
            None => None,
        };
        let its_tenant = issue.as_ref().and_then(|issue| issue.tenant.as_deref());
        let beginning = Beginning {
            tenant: tenant.or(its_tenant).unwrap_or("default"),
            identifier: flags.name.as_deref(),
            title,
            directory,
            agent_id: agent.as_ref().map(|agent| &agent.id),
            issue_id: issue.as_ref().map(|issue| &issue.id),
            silent_after_seconds: self.silent_after(),
        };
        if flags.name.is_some() {
            return Ok(supervision::begin(db, &beginning)?);
        }
        let (mut name, mut number) = (place_name.clone(), 1);
        loop {
            let beginning = Beginning { identifier: Some(&name), ..beginning };
            if let Some(lease) = supervision::begin_at(db, &beginning, place, LEFT_AFTER)? {
                return Ok(lease);
            }
            number += 1;
            name = format!("{place_name}-{number}");
        }
    }

    fn silent_after(&self) -> Option<i32> {
        self.flags.silent_after.map(|after| i32::try_from(after.num_seconds()).unwrap_or(i32::MAX))
    }
}

/// `sweep watch event`: hands an event of an agent's hook over to the watcher that started the agent.
fn hand_over(flags: &EventFlags, environment: &Environment) -> Result<(), String> {
    let watcher = environment.watcher();
    let watcher = watcher.ok_or_else(|| format!("no watcher started this process: {VARIABLE} is not set"))?;
    let event = match flags.event.last() {
        Some(event) => event.to_string_lossy().into_owned(),
        None => from_stdin()?,
    };
    let event = shortened(&event).ok_or("expected a JSON object")?;
    send(&watcher, &event).map_err(|error| format!("the watcher cannot be reached: {error}"))
}

/// Reads the event that a hook writes to stdin.
fn from_stdin() -> Result<String, String> {
    let (event, read) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let result = stdin().lock().take(EVENT_MAX).read_to_end(&mut bytes);
        event.send(result.map(|_| String::from_utf8_lossy(&bytes).into_owned()))
    });
    let read = read.recv_timeout(STDIN_LASTS).map_err(|_| "nobody has written the event to stdin".to_owned())?;
    read.map_err(|error| format!("stdin: {error}"))
}
