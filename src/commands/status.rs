//! `sweep status`: how the work stands, what waits for a person, and how well sweep does.

use anyhow::Result;

use super::each_database::{Shown, print};
use crate::cli::StatusFlags;
use crate::conclusion::{Conclusion, usage};
use crate::report::status as report;
use crate::rules::Kind;
use crate::settings::Environment;
use crate::settings::flags::PolicyFlags;
use crate::store::find;
use crate::store::links::HostUrl;
use crate::store::open::{Store, Url};
use crate::store::rights::Purpose;
use crate::store::status::{PlanReport, Status, read, read_plan};
use crate::store::{Access, Timeouts};
use crate::text::redact;

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
    let shown = Shown { layout, table: report::whole, of_all: report::of_all };
    shown.print(&databases, |url| status(url, flags.tenant.as_deref(), host_url.as_ref(), &timeouts))
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

fn plan(store: &mut Store, name: &str, environment: &Environment, timeouts: &Timeouts) -> Result<PlanReport> {
    if !store.kinds.contains(&Kind::Step) {
        return Err(usage("--plan: plan steps: not provided by this database").into());
    }
    let found = store.db.in_transaction(Access::ReadOnly, timeouts, |db| find::plan(db, name))?;
    let id = found.one("plan", name)?.id;
    let plan = read_plan(store, &id, environment.step_stalled_after()?, timeouts)?;
    plan.ok_or_else(|| usage(format!("there is no plan {} in this database", redact(name))).into())
}
