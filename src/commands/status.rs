//! `sweep status`: how the work stands, what waits for a person, and how well sweep does.

use anyhow::Result;
use serde::Serialize;

use super::say;
use crate::cli::{Format, StatusFlags};
use crate::exit::{Exit, usage};
use crate::report::status as report;
use crate::rules::{Id, Kind};
use crate::settings::Environment;
use crate::store::open::Store;
use crate::store::status::{PlanReport, read, read_plan};
use crate::store::{Access, Timeouts};

pub fn run(flags: StatusFlags, environment: &Environment) -> Result<Exit> {
    let url = environment.database(flags.database.database.as_deref())?;
    let (_, timeouts) = environment.policy()?;
    let mut store = url.open(Access::ReadOnly)?;
    let format = flags.output.unwrap_or_default();
    match flags.plan {
        Some(id) => {
            let plan = plan(&mut store, &id, environment, &timeouts).map_err(|error| url.explain(error))?;
            print(format, &plan, report::plan);
        }
        None => {
            let status = read(&mut store, flags.tenant.as_deref(), &timeouts).map_err(|error| url.explain(error))?;
            print(format, &status, report::whole);
        }
    }
    Ok(Exit::Done)
}

fn plan(store: &mut Store, id: &Id, environment: &Environment, timeouts: &Timeouts) -> Result<PlanReport> {
    if !store.kinds.contains(&Kind::Step) {
        return Err(usage("--plan: plan steps: not provided by this database").into());
    }
    let plan = read_plan(store, id, environment.step_stalled_after()?, timeouts)?;
    plan.ok_or_else(|| usage(format!("--plan: there is no plan {id}")).into())
}

fn print<T: Serialize>(format: Format, document: &T, table: impl FnOnce(&T) -> String) {
    say(&match format {
        Format::Table => table(document),
        Format::Json | Format::Ndjson => format!("{:#}\n", serde_json::json!(document)),
    });
}
