//! `sweep wake`, `nudge`, `relaunch`, `heartbeat`, `pause`, `resume`, `fail-step` and `skip-step`: what a person has
//! done with one subject, by the rules, the locks and the ledger of sweeps.

mod host_call;

use anyhow::{Context, Result};

use super::terminal::{confirm, say};
use crate::cli::{AskCommand, Layout, Wish};
use crate::conclusion::Conclusion;
use crate::report::ask_named;
use crate::rules::request::{Asked, Request};
use crate::settings::Environment;
use crate::settings::flags::{LinkFlag, PolicyFlags};
use crate::store::hosts::rights::Purpose;
use crate::store::work::ledger::record_host_call;
use crate::store::{Abort, Access};
use crate::sweep::ask::AskOptions;
use crate::text::redact;
use host_call::HostApi;

pub fn run(command: AskCommand, quiet: bool, environment: &Environment) -> Result<Conclusion> {
    let Wish { request, name, message, flags } = command.wish();
    let asked = Asked { request, by: environment.person(flags.by)? };
    let (mut policy, timeouts) = environment.policy(PolicyFlags::default())?;
    policy.nudge_message = message.unwrap_or(policy.nudge_message);
    let database = environment.database(&flags.database)?;
    let (subscriptions, host_url) = (environment.notify()?.subscriptions(), environment.host_url(LinkFlag::default())?);
    let its_asked = asked.clone();
    let key = if request == Request::Wake { environment.host_key()? } else { None };
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
    match flags.layout.get() {
        Layout::Table => {
            let (kind, name, by) = (answered.kind, answered.label.name(), redact(&asked.by));
            let done = if answered.by_host.is_none() { done(request) } else { "Its host goes on" };
            confirm(quiet, &format!("{done}: {kind} {name}, asked for by {by}\n"));
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
