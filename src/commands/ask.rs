//! `sweep wake`, `sweep session …` and `sweep step …`: what a person has done with one subject, by the rules, the locks
//! and the ledger of sweeps. What the host itself blocked, its own API alone sets to work again, which a person has
//! called by `sweep wake`.

use std::time::Instant;

use anyhow::{Context, Result};
use secrecy::{ExposeSecret, SecretString};

use super::terminal::{Layout, say};
use crate::cli::{AskerFlag, SessionCommand, SessionFlags, StepCommand, StepFlags, WakeFlags};
use crate::conclusion::{Conclusion, config, some_failed, unavailable};
use crate::notify::{HttpClient, HttpMessage, SendError, Target};
use crate::report::{Answered, ByHost, ask_named};
use crate::rules::display::counted;
use crate::rules::request::{Asked, Request};
use crate::settings::{Environment, find_database, notify, policy, table};
use crate::store::hosts::links::{HostStep, HostUrl, plain_path};
use crate::store::work::ledger::record_host_call;
use crate::store::{Abort, Access, Purpose, Timeouts};
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
                db.in_transaction(Access::Write, &timeouts, |db| record_host_call(db, &issue, agent.as_ref(), &by));
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
