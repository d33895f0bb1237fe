//! `heartbeat`, `pause` and `resume`: what the commands of these names do with a session, and print as JSON.

use anyhow::Result;
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::Value;

use crate::mcp::answer::small;
use crate::mcp::arguments::read;
use crate::mcp::call::Call;
use crate::report::ask_named;
use crate::rules::request::{Asked, Request};
use crate::store::hosts::rights::Purpose;
use crate::sweep::ask::AskOptions;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Which session: its id, or what people call it.
    #[schemars(length(min = 1, max = 1000))]
    session: String,
}

pub fn heartbeat(call: &Call, arguments: JsonObject) -> Result<Value> {
    request(call, arguments, Request::Heartbeat)
}

pub fn pause(call: &Call, arguments: JsonObject) -> Result<Value> {
    request(call, arguments, Request::Pause)
}

pub fn resume(call: &Call, arguments: JsonObject) -> Result<Value> {
    request(call, arguments, Request::Resume)
}

fn request(call: &Call, arguments: JsonObject, request: Request) -> Result<Value> {
    let Arguments { session } = read(arguments)?;
    let sweep = call.options.sweep.clone();
    let asked = Asked { request, by: call.asker() };
    sweep.database.clone().ask(&sweep.timeouts.clone(), move |database| {
        let mut store = database.open_to(Purpose::Ask(request))?;
        let options = AskOptions {
            database: database.clone(),
            policy: sweep.policy,
            timeouts: sweep.timeouts,
            subscriptions: sweep.subscriptions,
            links: store.host.links(sweep.host_url.as_ref()),
        };
        let answered = ask_named(&mut store, &session, &asked, &options)?;
        match &answered.by_host {
            None => Ok(small(answered.json(&asked), &[])),
            Some(by_host) => Err(answered.refused(by_host, None).into()),
        }
    })
}
