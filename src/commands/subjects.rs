//! What a person has done with subjects. `sweep wake`, `sweep session …` and `sweep step …`: with one, by the rules,
//! the locks and the ledger of sweeps. What the host itself blocked, its own API alone sets to work again, which a
//! person has called by `sweep wake`.
//!
//! `sweep exempt`: work that is in progress on purpose, and no business of a sweep's. `sweep quarantine`: what failed
//! in sweep after sweep and is examined no more, and its release.

use std::fmt::Display;
use std::time::Instant;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use diesel::QueryResult;
use owo_colors::OwoColorize;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::open_database::OpenDatabase;
use super::terminal::{Layout, say};
use crate::cli::{
    AskerFlag, ExemptCommand, ExemptName, QuarantineCommand, SessionCommand, SessionFlags, StepCommand, StepFlags,
    WakeFlags, read_subject,
};
use crate::conclusion::{Conclusion, config, some_failed, unavailable, usage};
use crate::notify::{HttpClient, HttpMessage, SendError, Target};
use crate::report::{Answered, ByHost, ask_named, exemption, grid};
use crate::rules::display::{HumanDuration, counted, format_utc};
use crate::rules::request::{Asked, Request};
use crate::rules::{Id, Kind, Whose};
use crate::settings::{Environment, find_database, notify, policy, table};
use crate::store::connect::settle;
use crate::store::hosts::links::{HostStep, HostUrl, plain_path};
use crate::store::work::exemptions::{self, Exempt, Exempted, Given, WantedExemption};
use crate::store::work::find::{self, CalledSo};
use crate::store::work::ledger::record_host_call;
use crate::store::work::quarantine::{self, FailingSubject};
use crate::store::{Abort, Db, IdType, Label, Purpose, Refused, Timeouts};
use crate::sweep::ask::AskOptions;
use crate::text::redact;

pub fn wake(flags: WakeFlags, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    ask(Request::Wake, flags.issue_or_step, None, flags.asker, layout, environment)
}

pub fn session(command: SessionCommand, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let (request, SessionFlags { session, asker }, message) = match command {
        SessionCommand::Nudge { session, message } => (Request::Nudge, session, message),
        SessionCommand::Relaunch(session) => (Request::Relaunch, session, None),
        SessionCommand::Pause(session) => (Request::Pause, session, None),
        SessionCommand::Resume(session) => (Request::Resume, session, None),
        SessionCommand::Heartbeat(session) => (Request::Heartbeat, session, None),
    };
    ask(request, session, message, asker, layout, environment)
}

pub fn step(command: StepCommand, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let (request, StepFlags { step, asker }) = match command {
        StepCommand::Skip(step) => (Request::SkipStep, step),
        StepCommand::Fail(step) => (Request::FailStep, step),
    };
    ask(request, step, None, asker, layout, environment)
}

fn ask(
    request: Request,
    name: String,
    message: Option<String>,
    asker: AskerFlag,
    layout: Layout,
    environment: &Environment,
) -> Result<Conclusion> {
    let asked = Asked { request, by: environment.person(asker.name)? };
    let (mut policy, timeouts) = policy(environment)?;
    policy.nudge_message = message.unwrap_or(policy.nudge_message);
    let database = find_database(environment)?;
    let (subscriptions, host_url) = (notify(environment)?.subscriptions(), table::host_url(environment)?);
    let (its_asked, its_host_url) = (asked.clone(), host_url.clone());
    let key = if request == Request::Wake { environment.secret("SWEEP_HOST_KEY")? } else { None };
    let answered = database.ask(&timeouts, move |database| {
        let mut store = database.open_to(Purpose::Ask(request))?;
        let links = store.host.links(its_host_url.as_ref());
        let options = AskOptions { database: database.clone(), policy, timeouts, subscriptions, links };
        ask_named(&mut store, &name, &its_asked, &options)
    })?;
    if let Some(by_host) = &answered.by_host {
        make_host_calls(&answered, by_host, host_url, key, &timeouts)?;
        let (issue, agent, by) = (answered.label.clone(), answered.agent().cloned(), asked.by.clone());
        database.ask(&timeouts, move |database| {
            let mut db = database.open_to(Purpose::Ask(request))?.db;
            let noted =
                settle::write(database, &mut db, &timeouts, |db| record_host_call(db, &issue, agent.as_ref(), &by));
            let explain = |abort: Abort| database.explain(abort.into());
            noted.map_err(explain).context("its host goes on, but that somebody asked for it could not be recorded")
        })?;
    }
    match layout {
        Layout::Table | Layout::Quiet => {
            let (kind, name, by) = (answered.kind, answered.label.name(), redact(&asked.by));
            let done = if answered.by_host.is_none() { done(request) } else { "Its host goes on" };
            layout.confirm(&format!("{done}: {kind} {name}, asked for by {by}\n"));
        }
        Layout::Json => say(&format!("{:#}\n", answered.json(&asked))),
    }
    Ok(Conclusion::Done)
}

fn done(request: Request) -> &'static str {
    match request {
        Request::Wake => "A wake is queued",
        Request::Nudge => "A nudge is queued",
        Request::Relaunch => "A relaunch is queued",
        Request::Heartbeat => "A sign of life is noted",
        Request::Pause => "Paused",
        Request::Resume => "Resumed",
        Request::FailStep => "Failed",
        Request::SkipStep => "Skipped",
    }
}

/// Makes the host's own calls, in order. The first that fails ends them: each says what was done before it.
fn make_host_calls(
    asked: &Answered,
    by_host: &ByHost,
    url: Option<HostUrl>,
    key: Option<SecretString>,
    timeouts: &Timeouts,
) -> Result<()> {
    let calls = by_host.steps.iter().map(|step| match step {
        HostStep::Call { path, body } => plain_path(path).map(|path| (path, body)),
        // A statement is for the owner of the host's tables.
        HostStep::Statement { .. } => None,
    });
    let Some(calls) = calls.collect::<Option<Vec<_>>>().filter(|calls| !calls.is_empty()) else {
        return Err(asked.refused(by_host, None).into());
    };
    let Some(url) = url else {
        let commands: Vec<String> = by_host.steps.iter().filter_map(|step| step.command(None)).collect();
        let how = format!(
            "sweep makes the host's own call if SWEEP_HOST_URL is set, and SWEEP_HOST_KEY where the host asks for \
                 a key; or make it yourself: {}",
            commands.join(" && ")
        );
        return Err(asked.refused(by_host, Some(how)).into());
    };
    let client = HttpClient::new(timeouts.question());
    let key = key.as_ref().map(|key| key.expose_secret());
    if key.is_some_and(|key| key.is_empty() || !key.chars().all(|c| c.is_ascii_graphic())) {
        return Err(config("SWEEP_HOST_KEY: expected visible characters of ASCII alone, without spaces").into());
    }
    let headers: Vec<_> = key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect();
    let began = Instant::now();
    for (made, (path, body)) in calls.iter().enumerate() {
        let target = Target::parse(&format!("{}{path}", url.as_str()), true);
        let target = target.map_err(|why| config(format!("SWEEP_HOST_URL: {why}")))?;
        let message = HttpMessage { headers: headers.clone(), body: body.to_string() };
        let answer = match began.elapsed() < timeouts.question() || made == 0 {
            true => client.call(&target, &message),
            false => Err(SendError { why: "the calls before it took too long".to_owned(), is_down: true }),
        };
        answer.map_err(|SendError { why, is_down }| {
            let became = if is_down { "it is not known whether the host was told" } else { "the host changed nothing" };
            let before =
                (made != 0).then(|| format!("; {} before it succeeded", counted(made as i64, "call", "calls")));
            let before = before.unwrap_or_default();
            let (kind, name) = (asked.kind, asked.label.name());
            let said = format!("wake: {kind} {name}: its host's call failed, and {became}{before}: {why}");
            if is_down { unavailable(said) } else { some_failed(said) }
        })?;
    }
    Ok(())
}

pub fn exempt(command: ExemptCommand, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    match command {
        ExemptCommand::Add { what: ExemptName { of, name }, reason, until } => {
            let exempted = OpenDatabase::ask(Purpose::Exempt, environment, move |opened| {
                let (name, reason) = (&name, &reason);
                let wanted = WantedExemption { of, name, reason, until, until_is_called: "--until", is_agents: false };
                let exempted = exemptions::exempt(&opened.url, &mut opened.store, &opened.timeouts, &wanted);
                exempted.map_err(|abort| opened.explain(abort))
            });
            let Exempt { label, row, given } = exempted?;
            let given = match given {
                Given::New => "Exempt",
                Given::Again => "Exempt again, with this reason and end",
            };
            let (name, end, reason) = (label.name(), end_of(row.exemption.until), redact(&row.exemption.reason));
            let text = format!("{given}: {of} {name}, until {end}: {reason}\n");
            layout.confirm_done(&text, "exempt add", &[format!("{of} {name}")]);
        }
        ExemptCommand::Remove(ExemptName { of, name }) => {
            let removed = OpenDatabase::ask(Purpose::Exempt, environment, move |opened| {
                if let Some(kind) = of.kind() {
                    opened.store.refuse_unprovided(kind)?;
                }
                let find = |db: &mut Db| exemptions::found(db, of, &name);
                undo(opened, of, &name, "exempt", find, |db, id| exemptions::take_back(db, of, id))
            })?;
            let text = format!("No longer exempt: {of} {removed}\n");
            layout.confirm_done(&text, "exempt remove", &[format!("{of} {removed}")]);
        }
        ExemptCommand::List => {
            let (rows, more, now) = read_list(environment, exemptions::oldest, exempt_label)?;
            let json = |(label, row): &(Label, Exempted)| exemption(label, row, now);
            layout.print_list("exemptions", (&rows, more), json, |rows| exemption_table(rows, now));
        }
    }
    Ok(Conclusion::Done)
}

pub fn quarantine(command: QuarantineCommand, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    match command {
        QuarantineCommand::List => {
            let label =
                |db: &mut Db, kinds: &[Kind], row: &FailingSubject| find::label_of_row(db, kinds, &row.kind, &row.id);
            let (rows, more, now) = read_list(environment, quarantine::longest, label)?;
            layout.print_list("quarantine", (&rows, more), failure_json, |rows| failure_table(rows, now));
        }
        QuarantineCommand::Release { subject, all } => {
            let one = if all { None } else { Some(read_subject(subject, &["quarantine", "release"])?) };
            let released = OpenDatabase::ask(Purpose::Release, environment, move |opened| match one {
                Some((kind, name)) => release_one(opened, kind, &name).map(|released| vec![released]),
                None => {
                    let released = opened.change(|db, _| Ok(quarantine::release_all(db)?))?;
                    Ok(released.iter().map(|(kind, id)| format!("{} {}", redact(kind), redact(&id.0))).collect())
                }
            })?;
            let text = match (all, released.as_slice()) {
                (false, [one]) => format!("Released: {one}; the next sweep examines it again\n"),
                (_, []) => "Nothing is in quarantine.\n".to_owned(),
                (_, [_]) => "Released 1 subject; the next sweep examines it again\n".to_owned(),
                (_, all) => format!("Released {} subjects; the next sweep examines them again\n", all.len()),
            };
            layout.confirm_done(&text, "quarantine release", &released);
        }
    }
    Ok(Conclusion::Done)
}

fn release_one(opened: &mut OpenDatabase, kind: Option<Kind>, name: &str) -> Result<String> {
    let kind = match kind {
        Some(kind) => kind,
        None => opened.change(|db, kinds| kind_of(db, kinds, name))?,
    };
    opened.store.refuse_unprovided(kind)?;
    let find = |db: &mut Db| find::find(db, kind, name);
    let released = undo(opened, kind, name, "in quarantine", find, |db, id| quarantine::release(db, kind.name(), id))?;
    Ok(format!("{kind} {released}"))
}

/// The kind of the subject of this name, which may be gone: then only the quarantine knows it.
fn kind_of(db: &mut Db, kinds: &[Kind], name: &str) -> Result<Kind, Refused> {
    let id = IdType::of(db)?.parse(name);
    match (find::among(db, kinds, name), id) {
        (Ok((kind, _)), _) => Ok(kind),
        (Err(refused), Some(id)) => {
            let held = kinds.iter().copied().map(|kind| Ok(quarantine::of(db, kind, &id)?.map(|_| kind)));
            held.collect::<QueryResult<Vec<_>>>()?.into_iter().flatten().next().ok_or(refused)
        }
        (Err(refused), None) => Err(refused),
    }
}

/// Undoes something about what `find` finds, which may be gone meanwhile, and returns what it is called. `body` says
/// whether there was anything to undo; if not, what was found `is_not` so.
fn undo(
    opened: &mut OpenDatabase,
    kind: impl Display + Copy,
    name: &str,
    is_not: &str,
    find: impl FnOnce(&mut Db) -> QueryResult<CalledSo>,
    body: impl FnOnce(&mut Db, &Id) -> QueryResult<bool>,
) -> Result<String> {
    opened.change(|db, _| {
        let found = find(db)?;
        let label = found.clone().one_or_gone(IdType::of(db)?, kind, name)?;
        if body(db, &label.id)? {
            return Ok(label.name());
        }
        let label = found.one(kind, name)?;
        Err(usage(format!("{kind} {} is not {is_not}", label.name())).into())
    })
}

/// What a list shows: its rows with what their subjects are called, how many more there are, and the database's time.
type ReadList<T> = (Vec<(Label, T)>, i64, DateTime<Utc>);

/// The first rows of a list, and how many more there are.
type FirstRows<T> = (Vec<T>, i64);

fn read_list<T: Send + 'static>(
    environment: &Environment,
    rows: fn(&mut Db) -> QueryResult<FirstRows<T>>,
    label: fn(&mut Db, &[Kind], &T) -> QueryResult<Label>,
) -> Result<ReadList<T>> {
    OpenDatabase::ask(Purpose::Look, environment, move |opened| {
        opened.change(|db, kinds| {
            let (rows, more) = rows(db)?;
            let labelled = rows.into_iter().map(|row| Ok((label(db, kinds, &row)?, row)));
            Ok((labelled.collect::<QueryResult<Vec<_>>>()?, more, db.now()?))
        })
    })
}

/// What an exempt subject is called: by its id when it is gone.
fn exempt_label(db: &mut Db, kinds: &[Kind], row: &Exempted) -> QueryResult<Label> {
    match row.exemption.whose {
        Whose::Subject => find::label_of_row(db, kinds, &row.kind, &row.id),
        Whose::Tenant => Ok(exemptions::label_of_tenant(&row.id)),
        Whose::Agent => Ok(match find::agent(db, &row.id.0)? {
            CalledSo::One(label) => label,
            CalledSo::Nothing | CalledSo::Several(_) => Label::of_id(row.id.clone()),
        }),
    }
}

fn exemption_table(rows: &[(Label, Exempted)], now: DateTime<Utc>) -> String {
    if rows.is_empty() {
        return "Nothing is exempt.\n".to_owned();
    }
    let cells = rows.iter().map(|(label, row)| {
        let [kind, subject, tenant] = first_cells(&row.kind, label);
        let holds = row.exemption.holds(now);
        let state = if holds { "holds".green().to_string() } else { "expired".yellow().to_string() };
        let (until, age) = (end_of(row.exemption.until), HumanDuration(now - row.since).to_string());
        [kind, subject, tenant, state, until, age, redact(&row.exemption.reason)]
    });
    grid::with_header(["kind", "subject", "tenant", "state", "until", "age", "reason"], cells, &[])
}

fn end_of(until: Option<DateTime<Utc>>) -> String {
    until.map_or_else(|| "removed".to_owned(), format_utc)
}

fn failure_table(rows: &[(Label, FailingSubject)], now: DateTime<Utc>) -> String {
    if rows.is_empty() {
        return "Nothing is in quarantine.\n".to_owned();
    }
    let cells = rows.iter().map(|(label, row)| {
        let [kind, subject, tenant] = first_cells(&row.kind, label);
        let held_for = row.quarantined_at.map(|at| HumanDuration(now - at).to_string()).unwrap_or_default();
        [kind, subject, tenant, held_for, row.sweeps.to_string(), redact(&row.reason)]
    });
    grid::with_header(["kind", "subject", "tenant", "for", "failed sweeps", "last failure"], cells, &[])
}

fn first_cells(kind: &str, label: &Label) -> [String; 3] {
    [redact(kind), label.name(), redact(label.tenant.as_deref().unwrap_or_default())]
}

fn failure_json((label, row): &(Label, FailingSubject)) -> Value {
    json!({
        "kind": redact(&row.kind),
        "id": redact(&row.id.0),
        "identifier": label.identifier.as_deref().map(redact),
        "tenant": label.tenant.as_deref().map(redact),
        "failed_sweeps": row.sweeps,
        "reason": redact(&row.reason),
        "last_failure_at": row.last_at,
        "quarantined_at": row.quarantined_at,
    })
}
