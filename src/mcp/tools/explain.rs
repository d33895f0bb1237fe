//! `explain`: what `sweep explain KIND SUBJECT --output json` prints.

use anyhow::Result;
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::Value;

use crate::mcp::answer::{Keep, small};
use crate::mcp::arguments::{kinds, read};
use crate::mcp::call::Call;
use crate::report::explain::Explanation;
use crate::rules::{Kind, Policy};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// What it is.
    #[schemars(with = "String", extend("enum" = kinds()))]
    kind: Kind,
    /// Which one: its id, or what people call it, such as ACM-12, or 'Release 2.4 #2' for a step.
    #[schemars(length(min = 1, max = 1000))]
    subject: String,
}

pub fn call(call: &Call, arguments: JsonObject) -> Result<Value> {
    let Arguments { kind, subject } = read(arguments)?;
    let options = &call.options.sweep;
    let (url, host_url) = (&options.database, options.host_url.as_ref());
    let own = options.policy.clone();
    let policy = |watchers: Option<Policy>| watchers.unwrap_or(own);
    let explanation = Explanation::read(url, (Some(kind), &subject), policy, host_url, &options.timeouts)?;
    Ok(small(explanation.json(), &[("/recoveries", Keep::Last)]))
}
