//! `status`: what `sweep status --output json` prints, with shorter lists.

use anyhow::Result;
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::mcp::answer::{Keep, small, with_rows};
use crate::mcp::arguments::read;
use crate::mcp::call::Call;
use crate::store::read::status::of_database;
use crate::text::shown_in;

/// Rows of each list: beside it stands how many there are.
const ROWS: usize = 5;

const LISTS: [(&str, Keep); 8] = [
    ("/orphans", Keep::First),
    ("/escalations", Keep::First),
    ("/abandoned", Keep::First),
    ("/plans", Keep::First),
    ("/stuck_wakes", Keep::First),
    ("/quarantined", Keep::First),
    ("/notifications/dead", Keep::First),
    ("/sweeps", Keep::First),
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only the work of this tenant; what sweeps did is everybody's.
    #[schemars(length(min = 1, max = 1000))]
    tenant: Option<String>,
}

pub fn call(call: &Call, arguments: JsonObject) -> Result<Value> {
    let Arguments { tenant } = read(arguments)?;
    let options = &call.options.sweep;
    let status = of_database(&options.database, tenant.as_deref(), options.host_url.as_ref(), &options.timeouts)?;
    Ok(small(with_rows(shown_in(json!(status)), &LISTS, ROWS), &LISTS))
}
