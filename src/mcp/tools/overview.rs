//! The tools that read what commands show: `list_attention`, `status`, `get_plan_status` and `explain`. Each answers
//! with its command's JSON, or a small part of it.

use anyhow::Result;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::mcp::answer::{BYTES_MAX, Keep, Page, ROWS, small, with_rows};
use crate::mcp::arguments::{kinds, no_place};
use crate::mcp::call::Call;
use crate::report::explain::Explanation;
use crate::rules::{Kind, Policy};
use crate::store::connect::databases::Found;
use crate::store::read::attention::{Cursor, PageRequest, Scope, read_from};
use crate::store::read::status::{of_database, of_plan};
use crate::text::shown_in;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttentionArguments {
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

/// The items of `sweep attention --output json` page by page, and whether sweeps run.
pub fn list_attention(call: &Call, arguments: AttentionArguments) -> Result<Value> {
    let AttentionArguments { tenant, agent, limit, after } = arguments;
    let after = after.map(|text| text.parse::<Cursor>().map_err(|_| no_place(&text))).transpose()?;
    let (options, scope) = (&call.options.sweep, Scope { tenant, agent });
    let database = Found::alone(options.database.clone());
    let mut page = PageRequest { after, limit: limit.unwrap_or(ROWS) };
    loop {
        let attention = read_from(&database, &scope, &page, options.host_url.as_ref(), &options.timeouts)?;
        let rows = attention.items.len();
        let document = small(part_for_agents(shown_in(json!(attention))), &[("/sweeper/guard", Keep::First)]);
        let bytes = document.to_string().len();
        if bytes <= BYTES_MAX || rows <= 1 {
            return Ok(document);
        }
        // Only the database knows where a shorter page ends: one that is likely to fit is read instead.
        page.limit = (rows * BYTES_MAX * 9 / 10 / bytes).clamp(1, rows - 1);
    }
}

fn part_for_agents(mut document: Value) -> Value {
    if let Some(fields) = document.as_object_mut() {
        fields.retain(|name, _| !ELSEWHERE.contains(&name.as_str()));
    }
    // Commands are a person's: many of them no tool here does.
    for item in document["items"].as_array_mut().into_iter().flatten() {
        item["commands"] = json!([]);
    }
    with_rows(document, &[("/sweeper/sweeps", Keep::First)], 1)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusArguments {
    /// Only the work of this tenant; what sweeps did is everybody's.
    #[schemars(length(min = 1, max = 1000))]
    tenant: Option<String>,
}

/// Rows of each list of a status: beside it stands how many there are.
const STATUS_ROWS: usize = 5;

const STATUS_LISTS: [(&str, Keep); 8] = [
    ("/orphans", Keep::First),
    ("/escalations", Keep::First),
    ("/abandoned", Keep::First),
    ("/plans", Keep::First),
    ("/stuck_wakes", Keep::First),
    ("/quarantined", Keep::First),
    ("/notifications/dead", Keep::First),
    ("/sweeps", Keep::First),
];

/// What `sweep status --output json` prints, with shorter lists.
pub fn status(call: &Call, StatusArguments { tenant }: StatusArguments) -> Result<Value> {
    let options = &call.options.sweep;
    let status = of_database(&options.database, tenant.as_deref(), options.host_url.as_ref(), &options.timeouts)?;
    Ok(small(with_rows(shown_in(json!(status)), &STATUS_LISTS, STATUS_ROWS), &STATUS_LISTS))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanArguments {
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

/// What `sweep status --plan PLAN --output json` prints, with its steps page by page. A page's place is the number of
/// the steps before it.
pub fn plan_status(call: &Call, PlanArguments { plan, limit, after }: PlanArguments) -> Result<Value> {
    let passed: usize = after.map_or(Ok(0), |after| after.parse().map_err(|_| no_place(&after)))?;
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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainArguments {
    /// What it is.
    #[schemars(with = "String", extend("enum" = kinds()))]
    kind: Kind,
    /// Which one: its id, or what people call it, such as ACM-12, or 'Release 2.4 #2' for a step.
    #[schemars(length(min = 1, max = 1000))]
    subject: String,
}

/// What `sweep explain KIND SUBJECT --output json` prints.
pub fn explain(call: &Call, ExplainArguments { kind, subject }: ExplainArguments) -> Result<Value> {
    let options = &call.options.sweep;
    let own = options.policy.clone();
    let policy = |watchers: Option<Policy>| watchers.unwrap_or(own);
    let (subject, host_url) = ((Some(kind), subject.as_str()), options.host_url.as_ref());
    let explanation = Explanation::read(&options.database, subject, policy, host_url, &options.timeouts)?;
    Ok(small(explanation.json(), &[("/recoveries", Keep::Last)]))
}
