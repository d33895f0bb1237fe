//! `sweep status`: how the work stands, what waits for a person, and how well sweep does. `sweep attention`: what needs
//! a person, whether the sweeper is alive, and what the next sweep would do. `sweep explain`: one subject, from the
//! facts and by the rules of a sweep. All of them only read.
//!
//! Several databases are shown each under its name, or why it cannot be shown.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::terminal::{Layout, say};
use crate::cli::{AttentionFlags, StatusFlags, SubjectName, read_subject};
use crate::conclusion::{Conclusion, conclusion_of, usage};
use crate::cycle::logged;
use crate::report::explain::Explanation;
use crate::report::{attention, ended, failure, heading, page, status, work_list};
use crate::rules::{Kind, Policy};
use crate::settings::{Environment, apply_policy, find_database, find_databases, policy, table};
use crate::store::connect::databases::{Databases, Found};
use crate::store::read::overview::{Overview, OverviewPart, OverviewRequest, PageRequest, Scope};
use crate::store::read::plan::PlanReport;
use crate::store::read::work_list::{WorkFilter, WorkList};
use crate::text::shown_in;

pub fn status(flags: StatusFlags, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let StatusFlags { plan, tenant, only } = flags;
    let scope = Scope { tenant, agent: None };
    if let Some(kind) = only {
        let filter = WorkFilter { kind: Some(kind), scope, ..WorkFilter::default() };
        return list(filter, kind, layout, environment);
    }
    let Some(name) = plan else {
        let request = OverviewRequest { scope, ..OverviewRequest::default() };
        return overviews(request, layout, environment, status::whole, status::of_all);
    };
    let ((_, timeouts), host_url) = (policy(environment)?, table::host_url(environment)?);
    let (url, stalled_after) = (find_database(environment)?, table::step_stalled_after(environment)?);
    let report = PlanReport::read_from(&url, &name, stalled_after, host_url.as_ref(), &timeouts)?;
    layout.print(|| status::plan(&report), || shown_in(json!(report)));
    Ok(Conclusion::Done)
}

/// All work in progress of one kind.
fn list(filter: WorkFilter, kind: Kind, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let ((_, timeouts), host_url) = (policy(environment)?, table::host_url(environment)?);
    let page = PageRequest { after: None, limit: PageRequest::LIMIT_MAX as usize };
    let databases = find_databases(environment)?;
    let read = |found: &Found| WorkList::read_from(found, &filter, &page, host_url.as_ref(), &timeouts);
    let of_all = |lists: &[_]| work_list::of_all(lists, kind);
    each_database(databases, layout, read, |list| work_list::whole(list, kind), of_all, |_| Conclusion::Done)
}

pub fn attention(flags: AttentionFlags, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let AttentionFlags { tenant, agent, limit, after } = flags;
    let page = PageRequest { after, limit: limit.unwrap_or(PageRequest::LIMIT) };
    let request = OverviewRequest { scope: Scope { tenant, agent }, page, ..OverviewRequest::default() };
    overviews(request, layout, environment, attention::whole, attention::of_all)
}

/// A database's name, and what was read of it.
type Read<T> = (String, Result<T>);

/// Shows the overview of each database.
fn overviews<P: OverviewPart + Serialize>(
    request: OverviewRequest,
    layout: Layout,
    environment: &Environment,
    table: fn(&Overview<P>) -> String,
    of_all: fn(&[Read<Overview<P>>]) -> String,
) -> Result<Conclusion> {
    let (_, timeouts) = policy(environment)?;
    let request = OverviewRequest { host_url: table::host_url(environment)?, ..request };
    let databases = find_databases(environment)?;
    if request.page.after.is_some() && databases.only().is_none() {
        return Err(usage("--after: expected one database, of which it is the next page").into());
    }
    each_database(
        databases,
        layout,
        |found| Overview::read_from(found, &request, &timeouts),
        table,
        of_all,
        |_| Conclusion::Done,
    )
}

/// Shows what is read of each database: for people by its `table`, and several with one line `of_all` together. What
/// could be read `ends` the command in its own way.
pub(super) fn each_database<T: Serialize>(
    databases: Databases,
    layout: Layout,
    read: impl Fn(&Found) -> Result<T>,
    table: impl Fn(&T) -> String,
    of_all: impl Fn(&[Read<T>]) -> String,
    ends: impl Fn(&T) -> Conclusion,
) -> Result<Conclusion> {
    let (is_one, databases) = (databases.only().is_some(), databases.find());
    if let (true, [only]) = (is_one, databases.as_slice()) {
        let shown = read(only)?;
        layout.print(|| table(&shown), || shown_in(json!(shown)));
        return Ok(ends(&shown));
    }
    let all = databases.iter().map(|found| (found.name.clone().unwrap_or_default(), logged(found, read(found))));
    let all: Vec<Read<T>> = all.collect();
    let conclusion = |read: &Result<_>| read.as_ref().map_or_else(conclusion_of, &ends);
    match layout {
        Layout::Table | Layout::Quiet => {
            for (place, (name, read)) in all.iter().enumerate() {
                say(&heading(place == 0, name));
                say(&read.as_ref().map_or_else(failure, |read| page::wrapped(&table(read))));
            }
            say(&format!("\n{}\n", of_all(&all)));
        }
        Layout::Json => {
            // Each database has what one alone prints, and how it ended.
            let one = |(name, read): &Read<T>| {
                let end = ended(read.as_ref().err(), conclusion(read));
                let parts = [json!({ "database_name": name }), json!(read.as_ref().ok()), end];
                parts.into_iter().filter_map(|part| serde_json::from_value::<Map<_, _>>(part).ok()).flatten().collect()
            };
            let databases: Vec<Value> = all.iter().map(one).collect();
            say(&format!("{:#}\n", shown_in(json!({ "schema": 1, "databases": databases }))));
        }
    }
    Ok(Conclusion::gravest(all.iter().map(|(_, read)| conclusion(read))))
}

pub fn explain(subject: SubjectName, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let (own, timeouts) = policy(environment)?;
    let typed = environment.typed_alone();
    // What the command line says wins over what the session's watcher goes by, and has been read already.
    let policy_of = move |watchers: Option<Policy>| {
        let mut policy = watchers.unwrap_or(own);
        let _ = apply_policy(&typed, &mut policy);
        policy
    };
    let (url, host_url) = (find_database(environment)?, table::host_url(environment)?);
    let (kind, name) = read_subject(subject, &["explain"])?;
    let explanation = Explanation::read(&url, (kind, &name), policy_of, host_url.as_ref(), &timeouts)?;
    layout.print(|| explanation.table(), || explanation.json());
    Ok(Conclusion::Done)
}
