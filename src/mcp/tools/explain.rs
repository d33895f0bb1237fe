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
use crate::rules::Kind;
use crate::store::Access;
use crate::store::rights::Purpose;

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
    let mut store = options.database.open_to(Purpose::Explain)?;
    let links = store.host.links(options.host_url.as_ref());
    store.refuse_unprovided(kind)?;
    let explain = |db: &mut _| Explanation::read(db, kind, &subject, &options.policy, &links);
    let explained = store.db.in_transaction(Access::ReadOnly, &options.timeouts, explain);
    let explanation = explained.map_err(|abort| options.database.explain(abort.into()))?;
    Ok(small(explanation.json(), &[("/recoveries", Keep::Last)]))
}
