//! What a person has done with one subject: which one it is, what became of it, and how that is told.

use anyhow::Result;
use serde_json::{Value, json};

use crate::conclusion::{Failure, busy, config, some_failed, unavailable};
use crate::rules::request::{Asked, Request, RequestRefusal};
use crate::rules::{Id, Kind};
use crate::store::connect::open::Store;
use crate::store::hosts::links::HostStep;
use crate::store::work::find::among;
use crate::store::{Access, Label, for_kind};
use crate::sweep::ask::{Answer, AskOptions, ask};
use crate::sweep::{Examined, Fault, Outcome};
use crate::text::redact;

/// The version of the JSON document.
const SCHEMA: u32 = 1;

/// A subject with which a request was fulfilled, or can be by its host.
pub struct Answered {
    pub kind: Kind,
    pub label: Label,
    examined: Examined,
    /// What is wrong is undone by the host, if a person tells the host to. None: the request is fulfilled.
    pub by_host: Option<ByHost>,
}

/// What a subject's host can be told to do, and why sweep itself refused the request.
pub struct ByHost {
    request: Request,
    refusal: RequestRefusal,
    pub steps: Vec<HostStep>,
}

impl Answered {
    /// The refusal, where nobody tells the host. `how`: instead of the advice of the refusal.
    pub fn refused(&self, by_host: &ByHost, how: Option<String>) -> Failure {
        let refusal = by_host.refusal.clone();
        let what_would_change_it = how.unwrap_or(refusal.what_would_change_it);
        refused(self.kind, &self.label, by_host.request, &RequestRefusal { what_would_change_it, ..refusal })
    }

    /// The agent that goes on.
    pub fn agent(&self) -> Option<&Id> {
        self.examined.agent_id.as_ref()
    }

    /// For programs.
    pub fn json(&self, asked: &Asked) -> Value {
        let (by, request) = (redact(&asked.by), asked.request.name());
        let subject = self.examined.redacted();
        let mut document = json!({ "schema": SCHEMA, "request": request, "requested_by": by, "subject": subject });
        if let Some(ByHost { steps, .. }) = &self.by_host {
            document["host_calls"] = steps.len().into();
        }
        document
    }
}

/// Does what was asked for with the one subject of this name, or says why not. `store` was opened for it.
pub fn ask_named(store: &mut Store, name: &str, asked: &Asked, options: &AskOptions) -> Result<Answered> {
    let request = asked.request;
    store.refuse_request(request)?;
    let Store { db, kinds, .. } = store;
    let provided: Vec<Kind> = request.kinds().iter().copied().filter(|kind| kinds.contains(kind)).collect();
    let found = db.in_transaction(Access::ReadOnly, &options.timeouts, |db| among(db, &provided, name));
    let (kind, label) = found.map_err(|abort| options.database.explain(abort.into()))?;
    match for_kind!(kind, S => ask::<S>(store, &label.id, asked, options)) {
        Answer::Done(examined) => Ok(Answered { kind, label, examined, by_host: None }),
        Answer::Refused(refusal, examined) if refusal.host_commands.is_some() => {
            let steps = HostStep::all_of(refusal.host_commands.as_deref());
            Ok(Answered { kind, label, examined, by_host: Some(ByHost { request, refusal, steps }) })
        }
        Answer::Refused(refusal, _) => Err(refused(kind, &label, request, &refusal).into()),
        Answer::Failed(examined) => Err(failed(kind, &label, request, &examined).into()),
    }
}

fn refused(kind: Kind, label: &Label, request: Request, refusal: &RequestRefusal) -> Failure {
    let RequestRefusal { why, what_would_change_it, .. } = refusal;
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
