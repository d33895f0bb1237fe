//! `sweep status`: how the work stands, what waits for a person, and how well sweep does.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use super::terminal::say;
use crate::cli::{Layout, StatusFlags};
use crate::conclusion::{Conclusion, conclusion_of, usage};
use crate::cycle::logged;
use crate::report::{ended, failure, heading, page, status as report};
use crate::rules::Kind;
use crate::settings::Environment;
use crate::settings::flags::PolicyFlags;
use crate::store::databases::Found;
use crate::store::find;
use crate::store::links::HostUrl;
use crate::store::open::{Store, Url};
use crate::store::rights::Purpose;
use crate::store::status::{PlanReport, Status, read, read_plan};
use crate::store::{Access, Timeouts};
use crate::text::{redact, shown_in};

pub fn run(flags: StatusFlags, environment: &Environment) -> Result<Conclusion> {
    let (_, timeouts) = environment.policy(PolicyFlags::default())?;
    let (layout, host_url) = (flags.layout.get(), environment.host_url(flags.links)?);
    if let Some(name) = flags.plan {
        let url = environment.database(&flags.database)?;
        let mut store = url.open_to(Purpose::Show)?;
        let links = store.host.links(host_url.as_ref());
        let plan = plan(&mut store, &name, environment, &timeouts).map_err(|error| url.explain(error))?;
        print(layout, &plan.with_links(&links), report::plan);
        return Ok(Conclusion::Done);
    }
    let databases = environment.databases(&flags.database)?;
    let status = |url: &Url| status(url, flags.tenant.as_deref(), host_url.as_ref(), &timeouts);
    match databases.only() {
        Some(url) => print(layout, &status(url)?, report::whole),
        None => return Ok(print_each(layout, &databases.find(), status)),
    }
    Ok(Conclusion::Done)
}

fn status(url: &Url, tenant: Option<&str>, host_url: Option<&HostUrl>, timeouts: &Timeouts) -> Result<Status> {
    let mut store = url.open_to(Purpose::Show)?;
    if let Some(tenant) = tenant {
        let Store { db, kinds, .. } = &mut store;
        db.in_transaction(Access::ReadOnly, timeouts, |db| find::tenant(db, kinds, tenant))
            .map_err(|abort| url.explain(abort.into()))?;
    }
    let links = store.host.links(host_url);
    let status = read(&mut store, tenant, timeouts).map_err(|error| url.explain(error))?;
    Ok(status.with_links(&links))
}

/// One of several databases, for programs: what one alone prints, and how it ended.
#[derive(Serialize)]
struct OneOfSeveral<'a> {
    database_name: &'a str,
    #[serde(flatten)]
    status: Option<&'a Status>,
    #[serde(flatten)]
    ended: Value,
}

/// Of several databases, each under its name, or why it cannot be shown.
fn print_each(layout: Layout, databases: &[Found], status: impl Fn(&Url) -> Result<Status>) -> Conclusion {
    let status_of = |found: &Found| (found.name.clone().unwrap_or_default(), logged(found, status(&found.url)));
    let statuses: Vec<(String, Result<Status>)> = databases.iter().map(status_of).collect();
    let conclusion = |status: &Result<Status>| status.as_ref().map_or_else(conclusion_of, |_| Conclusion::Done);
    match layout {
        Layout::Table => {
            for (place, (name, status)) in statuses.iter().enumerate() {
                say(&heading(place == 0, name));
                say(&status.as_ref().map_or_else(failure, |status| page::wrapped(&report::whole(status))));
            }
            say(&format!("\n{}\n", report::of_all(&statuses)));
        }
        Layout::Json => {
            let one = |(name, status): &(String, Result<Status>)| {
                let ended = ended(status.as_ref().err(), conclusion(status));
                json!(OneOfSeveral { database_name: name, status: status.as_ref().ok(), ended })
            };
            let databases: Vec<Value> = statuses.iter().map(one).collect();
            say(&format!("{:#}\n", shown_in(json!({ "schema": 1, "databases": databases }))));
        }
    }
    Conclusion::gravest(statuses.iter().map(|(_, status)| conclusion(status)))
}

fn plan(store: &mut Store, name: &str, environment: &Environment, timeouts: &Timeouts) -> Result<PlanReport> {
    if !store.kinds.contains(&Kind::Step) {
        return Err(usage("--plan: plan steps: not provided by this database").into());
    }
    let found = store.db.in_transaction(Access::ReadOnly, timeouts, |db| find::plan(db, name))?;
    let id = found.one("plan", name)?.id;
    let plan = read_plan(store, &id, environment.step_stalled_after()?, timeouts)?;
    plan.ok_or_else(|| usage(format!("there is no plan {} in this database", redact(name))).into())
}

fn print<T: Serialize>(layout: Layout, document: &T, table: impl FnOnce(&T) -> String) {
    say(&match layout {
        Layout::Table => page::wrapped(&table(document)),
        Layout::Json => format!("{:#}\n", shown_in(json!(document))),
    });
}
