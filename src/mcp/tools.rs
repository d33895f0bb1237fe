//! The functions of the tools. Each does what the command of its name does, and answers with that command's JSON, or a
//! small part of it: `list_attention`, `status`, `get_plan_status`, `explain` and `dry_run` read; `wake`, `fail_step`,
//! `skip_step`, `heartbeat`, `pause`, `resume` and `exempt` change something.

use std::collections::BTreeMap;

use anyhow::Result;
use chrono::TimeDelta;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tracing::warn;

use super::call::{
    BYTES_MAX, Call, Keep, McpOptions, ROWS, kinds, no_place, page_of, small, with_rows, without_commands,
};
use crate::conclusion::usage;
use crate::cycle::sweep_apart;
use crate::parse;
use crate::report::explain::Explanation;
use crate::report::{ask_named, exemption, summary_document};
use crate::rules::request::{Asked, Request};
use crate::rules::{Kind, Policy};
use crate::store::Access;
use crate::store::connect::databases::Found;
use crate::store::hosts::rights::Purpose;
use crate::store::read::overview::{Attention, Cursor, Overview, OverviewRequest, PageRequest, Scope, Status};
use crate::store::read::plan::PlanReport;
use crate::store::work::exemptions::{self, Exempt, WantedExemption};
use crate::store::work::find::among;
use crate::sweep::ask::AskOptions;
use crate::sweep::{Examined, Observer, Options, Outcome, Selection};
use crate::text::{redact, shown_in};

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
const ELSEWHERE: [&str; 9] =
    ["next_sweep", "kinds", "plans", "plans_total", "tenants", "tenants_total", "agents", "agents_total", "days"];

/// The items of `sweep attention --output json` page by page, and whether sweeps run.
pub fn list_attention(call: &Call, arguments: AttentionArguments) -> Result<Value> {
    let AttentionArguments { tenant, agent, limit, after } = arguments;
    let after = after.map(|text| text.parse::<Cursor>().map_err(|_| no_place(&text))).transpose()?;
    let options = &call.options.sweep;
    let database = Found::alone(options.database.clone());
    let page = PageRequest { after, limit: limit.unwrap_or(ROWS) };
    let (scope, host_url) = (Scope { tenant, agent }, options.host_url.clone());
    let mut request = OverviewRequest { scope, page, host_url };
    loop {
        let overview: Overview<Attention> = Overview::read_from(&database, &request, &options.timeouts)?;
        let rows = overview.part.items.len();
        let document = small(part_for_agents(shown_in(json!(overview))), &["/sweeper/guard"], Keep::First);
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
    with_rows(without_commands(document, &["/items"]), &["/sweeper/sweeps"], Keep::First, 1)
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

const STATUS_LISTS: [&str; 9] = [
    "/orphans", "/escalations", "/abandoned", "/plans", "/stuck_wakes", "/quarantined", "/notifications/dead",
    "/sweeper/sweeps", "/sweeper/guard",
];

/// What `sweep status --output json` prints, with shorter lists.
pub fn status(call: &Call, StatusArguments { tenant }: StatusArguments) -> Result<Value> {
    let options = &call.options.sweep;
    let (scope, host_url) = (Scope { tenant, agent: None }, options.host_url.clone());
    let request = OverviewRequest { scope, host_url, ..OverviewRequest::default() };
    let database = Found::alone(options.database.clone());
    let status: Overview<Status> = Overview::read_from(&database, &request, &options.timeouts)?;
    let document = without_commands(shown_in(json!(status)), &STATUS_LISTS);
    Ok(small(with_rows(document, &STATUS_LISTS, Keep::First, STATUS_ROWS), &STATUS_LISTS, Keep::First))
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
    let (rows, next) = page_of(places.zip(steps).skip(passed), limit.unwrap_or(ROWS));
    document["steps"] = rows.into();
    document["steps_total"] = total.into();
    document["next_page"] = next.into();
    Ok(small(document, &[], Keep::First))
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
    let (own, subject) = (options.policy.clone(), (Some(kind), subject.as_str()));
    let policy = |watchers: Option<Policy>| watchers.unwrap_or(own);
    let host_url = options.host_url.as_ref();
    let explanation = Explanation::read(&options.database, subject, policy, host_url, &options.timeouts)?;
    Ok(small(explanation.json(), &["/recoveries"], Keep::Last))
}

/// Clients do not wait for longer. What is not looked at by then is counted as deferred.
const DEADLINE: TimeDelta = TimeDelta::seconds(30);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DryRunArguments {
    /// Only this kind.
    #[schemars(with = "Option<String>", extend("enum" = kinds()))]
    kind: Option<Kind>,
    /// Only this subject of that kind: its id, or what people call it, such as ACM-12. Needs kind.
    #[schemars(length(min = 1, max = 1000))]
    subject: Option<String>,
    /// Only the work of this tenant.
    #[schemars(length(min = 1, max = 1000))]
    tenant: Option<String>,
    /// How many subjects at most; 20, unless you say otherwise.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// The next_page of the answer before, for the subjects behind it.
    #[schemars(length(min = 1, max = 100))]
    after: Option<String>,
}

/// Answers what `sweep --dry-run --output json` prints, with a page of the subjects.
pub fn dry_run(call: &Call, arguments: DryRunArguments) -> Result<Value> {
    let DryRunArguments { kind, subject, tenant, limit, after } = arguments;
    let after = after.map(|text| parse_rank(&text).ok_or_else(|| no_place(&text))).transpose()?;
    let configured = &call.options.sweep;
    let selection = match (kind, subject) {
        (None, None) => configured.selection.clone(),
        (Some(kind), None) => Selection::Kinds(vec![kind]),
        (Some(kind), Some(subject)) => Selection::Subjects(vec![(kind, subject)]),
        (None, Some(_)) => return Err(usage("subject: it needs kind as well, to say what it is").into()),
    };
    let options = Options {
        selection,
        tenant: tenant.or_else(|| configured.tenant.clone()),
        dry_run: true,
        // One after the other, so that the next page is of the same sweep.
        connections: 1,
        deadline: configured.deadline.min(DEADLINE),
        ..configured.clone()
    };
    let limit = limit.unwrap_or(ROWS);
    let mut seen = SubjectsOfPage { after, limit, kept: BTreeMap::new(), total: 0 };
    let summary = sweep_apart(&options, call.cancel, &mut seen)?;
    let heading = summary.heading.redacted();
    let rows = seen
        .kept
        .into_iter()
        .map(|((group, kind, idle_since, hash), row)| (format!("{group}:{kind}:{idle_since}:{hash}"), json!(row)));
    let (rows, next) = page_of(rows, limit);
    let mut document = json!({
        "schema": heading.schema, "mode": heading.mode, "host": heading.host, "subjects": rows,
        "subjects_total": seen.total, "next_page": next,
    });
    if let (Value::Object(document), Value::Object(end)) = (&mut document, shown_in(summary_document(&summary))) {
        document.extend(end);
    }
    Ok(small(document, &[], Keep::First))
}

/// Where a subject stands in the answer: what would be touched comes first, and of what is alike the oldest. Its group,
/// its kind, since when it has been idle in microseconds (what cannot be read comes first), and a hash of its id: what
/// others wrote is not repeated.
type Rank = (u8, Kind, i64, u64);

fn rank_of(examined: &Examined) -> Rank {
    let group = match examined.outcome {
        outcome if outcome.is_change() => 0,
        outcome if outcome.is_failure() => 1,
        Outcome::Healthy => 3,
        _ => 2,
    };
    let idle_since = examined.idle_since.map_or(i64::MIN, |since| since.timestamp_micros());
    let hash = Sha256::digest(examined.id.0.as_bytes());
    (group, examined.kind, idle_since, hash.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte)))
}

/// The rank in the `next_page` of an answer.
fn parse_rank(text: &str) -> Option<Rank> {
    let [group, kind, idle_since, hash] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
    Some((group.parse().ok()?, Kind::parse(kind)?, idle_since.parse().ok()?, hash.parse().ok()?))
}

/// The subjects of a sweep, of which those of one page are kept, and one more.
struct SubjectsOfPage {
    after: Option<Rank>,
    limit: usize,
    kept: BTreeMap<Rank, Examined>,
    total: u64,
}

impl Observer for SubjectsOfPage {
    fn subject(&mut self, examined: &Examined) {
        self.total += 1;
        let place = rank_of(examined);
        if self.after.as_ref().is_some_and(|after| place <= *after) {
            return;
        }
        if self.limit < self.kept.len() && self.kept.last_key_value().is_some_and(|(last, _)| *last < place) {
            return;
        }
        self.kept.insert(place, examined.redacted());
        if self.limit + 1 < self.kept.len() {
            self.kept.pop_last();
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionArguments {
    /// Which session: its id, or what people call it.
    #[schemars(length(min = 1, max = 1000))]
    pub session: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepArguments {
    /// Which step: its id, or what people call it, such as 'Release 2.4 #2'.
    #[schemars(length(min = 1, max = 1000))]
    pub step: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WakeArguments {
    /// Which issue or step: its id, or what people call it, such as ACM-12, or 'Release 2.4 #2' for a step.
    #[schemars(length(min = 1, max = 1000))]
    pub subject: String,
}

/// Has something done with the subject of this name, as a person has it done by a command.
pub fn ask(call: &Call, name: String, request: Request) -> Result<Value> {
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
        let answered = ask_named(&mut store, &name, &asked, &options)?;
        match &answered.by_host {
            // Only a person has the host's own API called.
            None => Ok(small(answered.json(&asked), &[], Keep::First)),
            Some(by_host) => Err(answered.refused(by_host, None).into()),
        }
    })
}

/// Notes that the session of `--session` is alive, since its agent calls a tool. The tool answers all the same if that
/// fails.
pub fn note_sign_of_life(call: &Call) {
    let Some(session) = &call.options.session else { return };
    if let Err(error) = ask(call, session.clone(), Request::Heartbeat) {
        warn!("this call is no sign of life: {}", redact(&format!("{error:#}")));
    }
}

/// The id of the session that `--session` names. Refuses one that is unknown, or whose signs of life cannot be noted.
pub fn find_session(options: &McpOptions, name: String) -> Result<String> {
    let timeouts = options.sweep.timeouts;
    options.sweep.database.ask(&timeouts, move |database| {
        let mut store = database.open_to(Purpose::Ask(Request::Heartbeat))?;
        store.refuse_request(Request::Heartbeat)?;
        let found = store.db.in_transaction(Access::ReadOnly, &timeouts, |db| among(db, &[Kind::Session], &name));
        let (_, label) = found.map_err(|abort| database.explain(abort.into()))?;
        Ok(label.id.0)
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
        let wanted = WantedExemption {
            of: kind.into(),
            name: &subject,
            reason: &reason,
            until: Some(until),
            until_is_called: "until:",
            is_agents: true,
        };
        let exempted = exemptions::exempt(database, &mut database.open_to(Purpose::Exempt)?, &timeouts, &wanted);
        exempted.map_err(|abort| database.explain_refusal(abort))
    });
    let Exempt { label, row, given: _ } = exempted?;
    let exemptions = [exemption(&label, &row, row.since)];
    Ok(small(json!({ "schema": 1, "exemptions": exemptions }), &[], Keep::First))
}
