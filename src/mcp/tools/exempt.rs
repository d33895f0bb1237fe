//! `exempt`: what `sweep exempt add` does, but for two things: it lasts a week at most, and a longer exemption, such as
//! a person's, stays. It answers as `sweep exempt list --output json` prints, with this one alone.

use anyhow::Result;
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::conclusion::usage;
use crate::mcp::answer::small;
use crate::mcp::arguments::{kinds, read};
use crate::mcp::call::Call;
use crate::parse;
use crate::report::exemption;
use crate::rules::Kind;
use crate::store::hosts::rights::Purpose;
use crate::store::work::exemptions::{Exempt, Wanted, exempt};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
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

pub fn call(call: &Call, arguments: JsonObject) -> Result<Value> {
    let Arguments { kind, subject, reason, until } = read(arguments)?;
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
        let exempted = exempt(&mut database.open_to(Purpose::Exempt)?, &timeouts, &wanted);
        exempted.map_err(|abort| database.explain_refusal(abort))
    });
    let Exempt { label, row, given: _ } = exempted?;
    let exemptions = [exemption(&label, &row, row.since)];
    Ok(small(json!({ "schema": 1, "exemptions": exemptions }), &[]))
}
