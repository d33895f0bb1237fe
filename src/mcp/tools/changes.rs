//! The tools that change something: `heartbeat`, `pause`, `resume` and `exempt`. Each does what the command of its name
//! does, and answers with that command's JSON.

use anyhow::Result;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::conclusion::usage;
use crate::mcp::answer::small;
use crate::mcp::arguments::kinds;
use crate::mcp::call::Call;
use crate::parse;
use crate::report::{ask_named, exemption};
use crate::rules::Kind;
use crate::rules::request::{Asked, Request};
use crate::store::hosts::rights::Purpose;
use crate::store::work::exemptions::{self, Exempt, Wanted};
use crate::sweep::ask::AskOptions;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionArguments {
    /// Which session: its id, or what people call it.
    #[schemars(length(min = 1, max = 1000))]
    session: String,
}

/// Asks for something that concerns a session.
pub fn ask(call: &Call, SessionArguments { session }: SessionArguments, request: Request) -> Result<Value> {
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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExemptArguments {
    /// What it is.
    #[schemars(with = "String", extend("enum" = kinds()))]
    kind: Kind,
    /// Which one: its id, or what people call it, such as ACM-12, or 'Release 2.4 #2' for a step.
    #[schemars(length(min = 1, max = 1000))]
    subject: String,
    /// Why it is in progress on purpose, in a sentence for people.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
    /// When the exemption ends, within 7 days: a duration such as 2d or 12h, or a time such as 2026-12-24T18:00:00Z.
    #[schemars(length(min = 1, max = 100))]
    until: String,
}

/// Does what `sweep exempt add` does, but for two things: an exemption lasts a week at most, and a longer one, such as
/// a person's, stays. Answers as `sweep exempt list --output json` prints, with this one alone.
pub fn exempt(call: &Call, arguments: ExemptArguments) -> Result<Value> {
    let ExemptArguments { kind, subject, reason, until } = arguments;
    let until = parse::until(&until).map_err(|why| usage(format!("until: {until}: {why}")))?;
    if reason.trim().is_empty() {
        return Err(usage("reason: expected a sentence, not spaces alone").into());
    }
    // The table has no column for who asked: the reason, which people read, says it.
    let reason = format!("{} ({})", reason.trim(), call.asker());
    let timeouts = call.options.sweep.timeouts;
    let exempted = call.options.sweep.database.ask(&timeouts, move |database| {
        let wanted = Wanted {
            of: kind.into(),
            name: &subject,
            reason: &reason,
            until: Some(until),
            until_is_called: "until:",
            is_agents: true,
        };
        let exempted = exemptions::exempt(&mut database.open_to(Purpose::Exempt)?, &timeouts, &wanted);
        exempted.map_err(|abort| database.explain_refusal(abort))
    });
    let Exempt { label, row, given: _ } = exempted?;
    let exemptions = [exemption(&label, &row, row.since)];
    Ok(small(json!({ "schema": 1, "exemptions": exemptions }), &[]))
}
