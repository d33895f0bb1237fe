//! `sweep wake`, `nudge`, `relaunch`, `heartbeat`, `pause`, `resume`, `fail-step` and `skip-step`: what a person has
//! done with one subject, by the rules, the locks and the ledger of sweeps.

use anyhow::Result;
use serde_json::json;

use super::open_database::OpenDatabase;
use super::terminal::{confirm, say};
use crate::cli::{AskCommand, Layout, Wish};
use crate::conclusion::{Conclusion, Failure, busy, config, some_failed, unavailable, usage};
use crate::rules::Kind;
use crate::rules::request::{Asked, Refusal, Request};
use crate::settings::Environment;
use crate::settings::flags::{LinkFlag, PolicyFlags};
use crate::store::errors::Refused;
use crate::store::find::{Found, find};
use crate::store::rights::Purpose;
use crate::store::{Db, Label, for_kind};
use crate::sweep::ask::{Answer, AskOptions, ask};
use crate::sweep::{Examined, Fault, Outcome};
use crate::text::redact;

/// The version of the JSON document.
const SCHEMA: u32 = 1;

pub fn run(command: AskCommand, quiet: bool, environment: &Environment) -> Result<Conclusion> {
    let Wish { request, name, message, flags } = command.wish();
    let asked = Asked { request, by: environment.person(flags.by)? };
    let (mut policy, timeouts) = environment.policy(PolicyFlags::default())?;
    policy.nudge_message = message.unwrap_or(policy.nudge_message);
    let mut opened = OpenDatabase::within(timeouts, Purpose::Ask(request), &flags.database, environment)?;
    opened.store.refuse_request(request)?;
    let (kind, label) = opened.change(|db, kinds| subject(db, kinds, request, &name))?;
    let options = AskOptions {
        database: opened.url.clone(),
        policy,
        timeouts,
        subscriptions: environment.notify()?.subscriptions(),
        links: opened.store.host.links(environment.host_url(LinkFlag::default())?.as_ref()),
    };
    let answer = for_kind!(kind, S => ask::<S>(&mut opened.store, &label.id, &asked, &options));
    let examined = match answer {
        Answer::Done(examined) => examined,
        Answer::Refused(refusal) => return Err(refused(kind, &label, request, &refusal).into()),
        Answer::Failed(examined) => return Err(failed(kind, &label, request, &examined).into()),
    };
    let by = redact(&asked.by);
    match flags.layout.get() {
        Layout::Table => confirm(quiet, &format!("{}: {kind} {}, asked for by {by}\n", done(request), label.name())),
        Layout::Json => {
            let (subject, request) = (examined.redacted(), request.name());
            say(&format!(
                "{:#}\n",
                json!({ "schema": SCHEMA, "request": request, "requested_by": by, "subject": subject })
            ));
        }
    }
    Ok(Conclusion::Done)
}

/// The one subject of this name, of the kinds of which it can be asked.
fn subject(db: &mut Db, kinds: &[Kind], request: Request, name: &str) -> Result<(Kind, Label), Refused> {
    let mut found = Vec::new();
    let provided: Vec<Kind> = request.kinds().iter().copied().filter(|kind| kinds.contains(kind)).collect();
    for kind in &provided {
        match find(db, *kind, name)? {
            Found::Nothing => {}
            several_or_one => found.push((*kind, several_or_one.one(kind, name)?)),
        }
    }
    match (found.pop(), found.pop()) {
        (Some(one), None) => Ok(one),
        (Some(last), Some(first)) => {
            let name = redact(name);
            let ids = format!("{} ({}) or {} ({})", first.1.redact_id(), first.0, last.1.redact_id(), last.0);
            Err(usage(format!("both an {} and a {} are called {name}; give the id: {ids}", first.0, last.0)).into())
        }
        (None, _) => {
            let kinds: Vec<&str> = provided.iter().map(|kind| kind.name()).collect();
            Err(usage(format!("there is no {} {} in this database", kinds.join(" or "), redact(name))).into())
        }
    }
}

fn refused(kind: Kind, label: &Label, request: Request, refusal: &Refusal) -> Failure {
    let Refusal { why, what_would_change_it } = refusal;
    let (what, name, why, change) = (request.name(), label.name(), redact(why), redact(what_would_change_it));
    some_failed(format!("{what}: {kind} {name} is left as it is: {why}. What would change that: {change}"))
}

/// Why nothing was done, or is not known to be.
fn failed(kind: Kind, label: &Label, request: Request, examined: &Examined) -> Failure {
    let (what, name, why) = (request.name(), label.name(), redact(&examined.reason));
    let said = format!("{what}: not done with {kind} {name}: {why}");
    match (examined.outcome, examined.fault) {
        (Outcome::Busy, _) => busy(format!("{said}; try again")),
        (Outcome::Unknown, _) => {
            unavailable(format!("{what}: what became of it for {kind} {name} is not known: {why}; see sweep explain"))
        }
        (_, Fault::Rights) => config(said),
        (_, Fault::Outage) => unavailable(said),
        (_, Fault::Own) => some_failed(said),
    }
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
