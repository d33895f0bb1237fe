//! `get_plan_status`: what `sweep status --plan PLAN --output json` prints, with its steps page by page.

use anyhow::Result;
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::mcp::answer::{Page, ROWS, small};
use crate::mcp::arguments::{no_place, read};
use crate::mcp::call::Call;
use crate::store::read::status::of_plan;
use crate::text::shown_in;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The plan: its title, or its id.
    #[schemars(length(min = 1, max = 1000))]
    plan: String,
    /// How many steps at most; 20, unless you say otherwise.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// The next_page of the answer before, for the steps behind it.
    #[schemars(length(min = 1, max = 100))]
    after: Option<String>,
}

pub fn call(call: &Call, arguments: JsonObject) -> Result<Value> {
    let Arguments { plan, limit, after } = read(arguments)?;
    let passed = after.as_deref().map_or(Ok(0), read_place)?;
    let options = &call.options.sweep;
    let (url, host_url) = (&options.database, options.host_url.as_ref());
    let plan = of_plan(url, &plan, call.options.step_stalled_after, host_url, &options.timeouts)?;
    let total = plan.steps.len();
    let mut document = shown_in(json!(plan));
    let steps = document["steps"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let places = (1..).map(|place: usize| place.to_string());
    let Page { rows, next } = Page::of(places.zip(steps).skip(passed), limit.unwrap_or(ROWS));
    document["steps"] = rows.into();
    document["steps_total"] = total.into();
    document["next_page"] = next.into();
    Ok(small(document, &[]))
}

/// How many steps were given before.
fn read_place(text: &str) -> Result<usize> {
    Ok(text.parse().map_err(|_| no_place(text))?)
}
