//! `sweep status`: how the work stands, what waits for a person, and how well sweep does.

use anyhow::Result;
use serde::Serialize;

use super::terminal::say;
use crate::cli::{Layout, StatusFlags};
use crate::conclusion::{Conclusion, usage};
use crate::report::{page, status as report};
use crate::rules::Kind;
use crate::settings::Environment;
use crate::settings::flags::PolicyFlags;
use crate::store::find;
use crate::store::open::Store;
use crate::store::rights::Purpose;
use crate::store::status::{PlanReport, read, read_plan};
use crate::store::{Access, Timeouts};
use crate::text::{redact, shown_in};

pub fn run(flags: StatusFlags, environment: &Environment) -> Result<Conclusion> {
    let url = environment.database(&flags.database)?;
    let (_, timeouts) = environment.policy(PolicyFlags::default())?;
    let mut store = url.open_to(Purpose::Show)?;
    let links = store.host.links(environment.host_url(flags.links)?.as_ref());
    let layout = flags.layout.get();
    match flags.plan {
        Some(name) => {
            let plan = plan(&mut store, &name, environment, &timeouts).map_err(|error| url.explain(error))?;
            print(layout, &plan.with_links(&links), report::plan);
        }
        None => {
            if let Some(tenant) = &flags.tenant {
                let Store { db, kinds, .. } = &mut store;
                db.in_transaction(Access::ReadOnly, &timeouts, |db| find::tenant(db, kinds, tenant))
                    .map_err(|abort| url.explain(abort.into()))?;
            }
            let status = read(&mut store, flags.tenant.as_deref(), &timeouts).map_err(|error| url.explain(error))?;
            print(layout, &status.with_links(&links), report::whole);
        }
    }
    Ok(Conclusion::Done)
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
        Layout::Json => format!("{:#}\n", shown_in(serde_json::json!(document))),
    });
}
