//! `sweep wake`, `sweep session …` and `sweep step …`: what a person has done with one subject, by the rules, the locks
//! and the ledger of sweeps.

mod host_call;

use anyhow::{Context, Result};

use super::terminal::{Layout, Printer, say};
use crate::cli::{AskerFlag, NudgeFlags, SessionCommand, SessionFlags, StepCommand, StepFlags, WakeFlags};
use crate::conclusion::Conclusion;
use crate::report::ask_named;
use crate::rules::request::{Asked, Request};
use crate::settings::Environment;
use crate::settings::database::find_database;
use crate::settings::resolve::{notify, policy};
use crate::settings::table;
use crate::store::hosts::rights::Purpose;
use crate::store::work::ledger::record_host_call;
use crate::store::{Abort, Access};
use crate::sweep::ask::AskOptions;
use crate::text::redact;
use host_call::HostApi;

/// What is asked for, of which subject, and by whom.
pub struct Wish {
    request: Request,
    name: String,
    message: Option<String>,
    asker: AskerFlag,
}

impl From<WakeFlags> for Wish {
    fn from(WakeFlags { issue_or_step, asker }: WakeFlags) -> Wish {
        Wish { request: Request::Wake, name: issue_or_step, message: None, asker }
    }
}

impl From<SessionCommand> for Wish {
    fn from(command: SessionCommand) -> Wish {
        let (request, SessionFlags { session, asker }, message) = match command {
            SessionCommand::Nudge(NudgeFlags { session, message }) => (Request::Nudge, session, message),
            SessionCommand::Relaunch(session) => (Request::Relaunch, session, None),
            SessionCommand::Pause(session) => (Request::Pause, session, None),
            SessionCommand::Resume(session) => (Request::Resume, session, None),
            SessionCommand::Heartbeat(session) => (Request::Heartbeat, session, None),
        };
        Wish { request, name: session, message, asker }
    }
}

impl From<StepCommand> for Wish {
    fn from(command: StepCommand) -> Wish {
        let (request, StepFlags { step, asker }) = match command {
            StepCommand::Skip(step) => (Request::SkipStep, step),
            StepCommand::Fail(step) => (Request::FailStep, step),
        };
        Wish { request, name: step, message: None, asker }
    }
}

pub fn run(wish: Wish, printer: Printer, environment: &Environment) -> Result<Conclusion> {
    let Wish { request, name, message, asker } = wish;
    let asked = Asked { request, by: environment.person(asker.name)? };
    let (mut policy, timeouts) = policy(environment)?;
    policy.nudge_message = message.unwrap_or(policy.nudge_message);
    let database = find_database(environment)?;
    let (subscriptions, host_url) = (notify(environment)?.subscriptions(), table::host_url(environment)?);
    let its_asked = asked.clone();
    let key = if request == Request::Wake { environment.secret("SWEEP_HOST_KEY")? } else { None };
    let host = HostApi { url: host_url.clone(), key, timeouts };
    let answered = database.ask(&timeouts, move |database| {
        let mut store = database.open_to(Purpose::Ask(request))?;
        let links = store.host.links(host_url.as_ref());
        let options = AskOptions { database: database.clone(), policy, timeouts, subscriptions, links };
        ask_named(&mut store, &name, &its_asked, &options)
    })?;
    if let Some(by_host) = &answered.by_host {
        host.make_calls(&answered, by_host)?;
        let (issue, agent, by) = (answered.label.clone(), answered.agent().cloned(), asked.by.clone());
        database.ask(&timeouts, move |database| {
            let mut store = database.open_to(Purpose::Ask(request))?;
            let noted = store
                .db
                .in_transaction(Access::Write, &timeouts, |db| record_host_call(db, &issue, agent.as_ref(), &by));
            let explain = |abort: Abort| database.explain(abort.into());
            noted.map_err(explain).context("its host goes on, but that somebody asked for it could not be recorded")
        })?;
    }
    match printer.layout {
        Layout::Table => {
            let (kind, name, by) = (answered.kind, answered.label.name(), redact(&asked.by));
            let done = if answered.by_host.is_none() { done(request) } else { "Its host goes on" };
            printer.confirm(&format!("{done}: {kind} {name}, asked for by {by}\n"));
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
