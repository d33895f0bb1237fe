//! The tools that read what commands show: `list_attention`, `status`, `get_plan_status` and `explain`. Each answers
//! with its command's JSON, or a small part of it.

use anyhow::Result;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::mcp::answer::{BYTES_MAX, Keep, ROWS, RowPage, small, with_rows, without_commands};
use crate::mcp::arguments::{kinds, no_place};
use crate::mcp::call::Call;
use crate::report::explain::Explanation;
use crate::rules::{Kind, Policy};
use crate::store::connect::databases::Found;
use crate::store::read::overview::{Attention, Cursor, Overview, OverviewRequest, PageRequest, Scope, Status};
use crate::store::read::plan::PlanReport;
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
    let options = &call.options.sweep;
    let database = Found::alone(options.database.clone());
    let page = PageRequest { after, limit: limit.unwrap_or(ROWS) };
    let (scope, host_url) = (Scope { tenant, agent }, options.host_url.clone());
    let mut request = OverviewRequest { scope, page, host_url, ..OverviewRequest::default() };
    loop {
        let overview: Overview<Attention> = Overview::read_from(&database, &request, &options.timeouts)?;
        let rows = overview.part.items.len();
        let document = small(part_for_agents(shown_in(json!(overview))), &[("/sweeper/guard", Keep::First)]);
        let bytes = document.to_string().len();
        if bytes <= BYTES_MAX || rows <= 1 {
            return Ok(document);
        }
        // Only the database knows where a shorter page ends: one that is likely to fit is read instead.
        request.page.limit = (rows * BYTES_MAX * 9 / 10 / bytes).clamp(1, rows - 1);
    }
}

fn part_for_agents(mut document: Value) -> Value {
    if let Some(fields) = document.as_object_mut() {
        fields.retain(|name, _| !ELSEWHERE.contains(&name.as_str()));
    }
    with_rows(without_commands(document, &["/items"]), &[("/sweeper/sweeps", Keep::First)], 1)
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

const STATUS_LISTS: [(&str, Keep); 9] = [
    ("/orphans", Keep::First),
    ("/escalations", Keep::First),
    ("/abandoned", Keep::First),
    ("/plans", Keep::First),
    ("/stuck_wakes", Keep::First),
    ("/quarantined", Keep::First),
    ("/notifications/dead", Keep::First),
    ("/sweeper/sweeps", Keep::First),
    ("/sweeper/guard", Keep::First),
];

/// What `sweep status --output json` prints, with shorter lists.
pub fn status(call: &Call, StatusArguments { tenant }: StatusArguments) -> Result<Value> {
    let options = &call.options.sweep;
    let (scope, host_url) = (Scope { tenant, agent: None }, options.host_url.clone());
    let request = OverviewRequest { scope, host_url, ..OverviewRequest::default() };
    let database = Found::alone(options.database.clone());
    let status: Overview<Status> = Overview::read_from(&database, &request, &options.timeouts)?;
    let document = without_commands(shown_in(json!(status)), &STATUS_LISTS.map(|(list, _)| list));
    Ok(small(with_rows(document, &STATUS_LISTS, STATUS_ROWS), &STATUS_LISTS))
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
    let plan = PlanReport::read_from(url, &plan, call.options.step_stalled_after, host_url, &options.timeouts)?;
    let total = plan.steps.len();
    let mut document = shown_in(json!(plan));
    let steps = document["steps"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let places = (1..).map(|place: usize| place.to_string());
    let RowPage { rows, next } = RowPage::fill(places.zip(steps).skip(passed), limit.unwrap_or(ROWS));
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
