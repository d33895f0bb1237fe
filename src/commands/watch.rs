//! `sweep watch`: begins a session, or takes one up, and has its process supervised; and `sweep watch event`, which
//! hooks of agents call.

mod lease;

use std::ffi::OsString;
use std::fs::{hard_link, remove_file};
use std::io::{ErrorKind, Read, Write, stderr, stdin};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::open_database::OpenDatabase;
use crate::cli::{EventFlags, WatchCommand, WatchFlags};
use crate::conclusion::{Conclusion, not_found, usage};
use crate::notify::{Notify, deliver};
use crate::parse::CommandLine;
use crate::rules::Id;
use crate::screen::Agents;
use crate::screen::report::{VARIABLE, shortened};
use crate::settings::Environment;
use crate::settings::database::{find_database, is_new, prepare_directory};
use crate::settings::resolve::{notify, policy};
use crate::settings::table;
use crate::store::connect::open::Url;
use crate::store::hosts::migrate::{Wanted, migrate};
use crate::store::hosts::rights::Purpose;
use crate::store::{Access, Timeouts};
use crate::supervisor::alerts::{Alerts, Deliver};
use crate::supervisor::hook_socket::send;
use crate::supervisor::keeper::{Examiner, KeeperOptions};
use crate::supervisor::log::may_be_log;
use crate::supervisor::terminal::AgentCommand;
use crate::supervisor::tmux::Pane;
use crate::supervisor::{self, Watch, WatchTarget};
use crate::telemetry;
use crate::text::redact;
use lease::{WatchedSession, WorkingPlace};

/// The size of an event in bytes: agents hand over all that a tool returned.
const EVENT_MAX: u64 = 64 << 20;

/// How long a hook may take to write its event.
const STDIN_LASTS: Duration = Duration::from_secs(5);

pub fn run(mut flags: WatchFlags, environment: &Environment) -> Result<Conclusion> {
    if let Some(WatchCommand::Event(event)) = &flags.of_agent {
        report_event(event, environment);
        return Ok(Conclusion::Done);
    }
    let (policy, timeouts) = policy(environment)?;
    let interval = KeeperOptions::interval(&policy);
    let tenant = flags.tenant.take();
    let host_url = table::host_url(environment)?;
    let notify = notify(environment)?;
    let subscriptions = notify.subscriptions();
    if let Some(path) = flags.log.as_deref() {
        refuse_log(path).map_err(|why| usage(format!("--log: {}: {why}", redact(&path.to_string_lossy()))))?;
    }
    let url = find_database(environment)?;
    if let (true, Url::Sqlite(path)) = (is_new(&url, environment), &url) {
        make_database(path, environment)?;
    }
    let target = target(&mut flags, environment)?;
    let place = WorkingPlace::find(&target);
    let title = title(&target, &place, flags.name.as_deref());
    let examiner = if flags.no_examine { Examiner::Sweeps } else { Examiner::Watcher };
    let (log, nudges) = (flags.log.take(), flags.nudge.take().unwrap_or_default());
    let its_policy = (examiner == Examiner::Watcher).then(|| policy.clone());
    let wanted = WatchedSession { flags, title, place, tenant, policy: its_policy };
    let (lease, store) = url.ask(&timeouts, move |url| {
        let mut opened = OpenDatabase::of(url, timeouts, Purpose::Sweep)?;
        Ok((wanted.lease(&mut opened)?, opened.store))
    })?;
    let directory = environment.data_directory().map(|directory| directory.join("sessions"));
    let watch = Watch {
        target,
        log: log.or_else(|| Some(directory?.join(log_name(&lease.id)))),
        keeper: KeeperOptions {
            alerts: alerts(url.clone(), timeouts, notify),
            url,
            policy,
            timeouts,
            subscriptions,
            links: store.host.links(host_url.as_ref()),
            zone: environment.zone(),
            interval: interval.to_std().unwrap_or_default(),
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

/// Has the watcher deliver what it queues, if anybody is notified.
fn alerts(url: Url, timeouts: Timeouts, notify: Notify) -> Alerts {
    let is_anybody_notified = !notify.destinations().is_empty();
    let deliver = move || Ok(deliver(&url, &timeouts, &notify, || false)?.failed);
    Alerts::start(is_anybody_notified.then(|| Box::new(deliver) as Box<Deliver>))
}

/// Refuses a log that was given. Only the default directory is made: one that is missing in a path that was given is
/// more likely a mistake.
fn refuse_log(path: &Path) -> Result<(), String> {
    let directory = path.parent().filter(|directory| *directory != Path::new("")).unwrap_or(Path::new("."));
    match may_be_log(path) {
        false => Err("no regular file".to_owned()),
        true if !directory.is_dir() => Err(format!("there is no directory {}", directory.display())),
        true => Ok(()),
    }
}

fn target(flags: &mut WatchFlags, environment: &Environment) -> Result<WatchTarget> {
    if let Some(pane) = &flags.tmux {
        let refuse = |why: String| usage(format!("--tmux: “{}”: {}", redact(pane), redact(&why)));
        return Ok(WatchTarget::Pane(Pane::find(pane, environment.own_variables()).map_err(refuse)?));
    }
    let directory: PathBuf = std::env::current_dir().context("finding the working directory")?;
    let search_path = environment.search_path().to_owned();
    let withheld = if flags.inherit_env { Vec::new() } else { environment.own_variables() };
    let words = std::mem::take(&mut flags.command);
    let command = AgentCommand {
        hooks: if flags.hooks { hooks(&words)? } else { Vec::new() },
        relaunch: flags.relaunch_command.take().map(|CommandLine(words)| words),
        words,
        directory,
        search_path,
        withheld,
        hook_socket: None,
        shows_sequences: environment.shows_sequences(),
    };
    match command.exists() {
        true => Ok(WatchTarget::Command(command)),
        false => Err(not_found(format!("{}: command not found", redact(&title_of(&command)))).into()),
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

/// The title of a session: what runs in it. Without a name of its own it also says which agent it is, and where.
fn title(target: &WatchTarget, place: &WorkingPlace, name: Option<&str>) -> String {
    let (title, words) = match target {
        WatchTarget::Command(command) => (redact(&title_of(command)), command.words.clone()),
        WatchTarget::Pane(pane) => (pane.title(), pane.foreground()),
    };
    if name.is_some() { title } else { format!("{title}, {}", place.with_agent(&words)) }
}

fn title_of(command: &AgentCommand) -> String {
    command.words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// `sweep watch event`: hands an event of an agent's hook over to the watcher that started the agent. A hook that fails
/// or waits may hold its agent up, or change what it does: this one never fails.
fn report_event(flags: &EventFlags, environment: &Environment) {
    if let Err(why) = hand_over(flags, environment) {
        let _ = writeln!(stderr(), "sweep watch event: {}", redact(&why));
    }
}

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
