//! What a person has done with one subject: which one it is, what became of it, and how that is told.

use anyhow::Result;
use serde_json::{Value, json};

use crate::conclusion::{Failure, busy, config, some_failed, unavailable};
use crate::rules::request::{Asked, Refusal, Request};
use crate::rules::{Id, Kind};
use crate::store::find::among;
use crate::store::host_steps::HostStep;
use crate::store::open::Store;
use crate::store::{Access, Label, for_kind};
use crate::sweep::ask::{Answer, AskOptions, ask};
use crate::sweep::{Examined, Fault, Outcome};
use crate::text::redact;

/// The version of the JSON document.
const SCHEMA: u32 = 1;

/// What became of what was asked for, unless it was refused.
pub enum Answered {
    Done(Fulfilled),
    /// The one thing that is wrong is undone by the host, if a person tells it to.
    ByHost(HostCan),
}

/// What its host can do about a subject.
pub struct HostCan {
    pub kind: Kind,
    pub label: Label,
    examined: Examined,
    refusal: Refusal,
    request: Request,
    pub steps: Vec<HostStep>,
}

impl HostCan {
    /// That nobody told the host; and how that is done, if not as the host's own advice says.
    pub fn refused(&self, how: Option<String>) -> Failure {
        let refusal = self.refusal.clone();
        let what_would_change_it = how.unwrap_or(refusal.what_would_change_it);
        refused(self.kind, &self.label, self.request, &Refusal { what_would_change_it, ..refusal })
    }

    /// The agent that goes on.
    pub fn agent(&self) -> Option<&Id> {
        self.examined.agent_id.as_ref()
    }

    /// For programs.
    pub fn json(&self, asked: &Asked) -> Value {
        let mut document = document(asked, &self.examined);
        document["host_calls"] = self.steps.len().into();
        document
    }
}

/// What was asked for was done.
pub struct Fulfilled {
    pub kind: Kind,
    pub label: Label,
    examined: Examined,
}

impl Fulfilled {
    /// For programs.
    pub fn json(&self, asked: &Asked) -> Value {
        document(asked, &self.examined)
    }
}

fn document(asked: &Asked, examined: &Examined) -> Value {
    let (by, request) = (redact(&asked.by), asked.request.name());
    json!({ "schema": SCHEMA, "request": request, "requested_by": by, "subject": examined.redacted() })
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
        Answer::Done(examined) => Ok(Answered::Done(Fulfilled { kind, label, examined })),
        Answer::Refused(refusal, examined) if refusal.host_commands.is_some() => {
            let steps = HostStep::all_of(refusal.host_commands.as_deref());
            Ok(Answered::ByHost(HostCan { kind, label, examined, refusal, request, steps }))
        }
        Answer::Refused(refusal, _) => Err(refused(kind, &label, request, &refusal).into()),
        Answer::Failed(examined) => Err(failed(kind, &label, request, &examined).into()),
    }
}

fn refused(kind: Kind, label: &Label, request: Request, refusal: &Refusal) -> Failure {
    let Refusal { why, what_would_change_it, .. } = refusal;
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
