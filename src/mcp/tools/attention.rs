//! `list_attention`: the items of `sweep attention --output json` page by page, and whether sweeps run.

use anyhow::Result;
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::mcp::answer::{BYTES_MAX, Keep, ROWS, small, with_rows};
use crate::mcp::arguments::{no_place, read};
use crate::mcp::call::Call;
use crate::store::connect::databases::Found;
use crate::store::read::attention::{Cursor, PageRequest, Scope, read_from};
use crate::text::shown_in;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only the work of this tenant; whether sweeps run is everybody's.
    #[schemars(length(min = 1, max = 1000))]
    tenant: Option<String>,
    /// Only the work of this agent: its name, or its id.
    #[schemars(length(min = 1, max = 1000))]
    agent: Option<String>,
    /// How many items at most; 20, unless you say otherwise.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// The next_page of the answer before, for the items behind it.
    #[schemars(length(min = 1, max = 2000))]
    after: Option<String>,
}

/// What other tools answer, or people alone want to see; and of the last sweeps the latest says enough.
const ELSEWHERE: [&str; 7] = ["next_sweep", "kinds", "tenants", "tenants_total", "agents", "agents_total", "days"];

pub fn call(call: &Call, arguments: JsonObject) -> Result<Value> {
    let Arguments { tenant, agent, limit, after } = read(arguments)?;
    let after = after.map(|text| text.parse::<Cursor>().map_err(|_| no_place(&text))).transpose()?;
    let (options, scope) = (&call.options.sweep, Scope { tenant, agent });
    let database = Found::alone(options.database.clone());
    let mut page = PageRequest { after, limit: limit.unwrap_or(ROWS) };
    loop {
        let attention = read_from(&database, &scope, &page, options.host_url.as_ref(), &options.timeouts)?;
        let rows = attention.items.len();
        let document = small(part_of(shown_in(json!(attention))), &[("/sweeper/guard", Keep::First)]);
        let bytes = document.to_string().len();
        if bytes <= BYTES_MAX || rows <= 1 {
            return Ok(document);
        }
        // Only the database knows where a shorter page ends: one that is likely to fit is read instead.
        page.limit = (rows * BYTES_MAX * 9 / 10 / bytes).clamp(1, rows - 1);
    }
}

fn part_of(mut document: Value) -> Value {
    if let Some(fields) = document.as_object_mut() {
        fields.retain(|name, _| !ELSEWHERE.contains(&name.as_str()));
    }
    // Those are a person's: many of them no tool here does.
    for item in document["items"].as_array_mut().into_iter().flatten() {
        item["commands"] = json!([]);
    }
    with_rows(document, &[("/sweeper/sweeps", Keep::First)], 1)
}
