//! `sweep status`: how the work stands, what waits for a person, and how well sweep does.

use anyhow::Result;

use super::each_database::{Shown, print};
use super::terminal::Layout;
use crate::cli::StatusFlags;
use crate::conclusion::Conclusion;
use crate::report::{plan, status};
use crate::settings::database::{find_database, find_databases};
use crate::settings::resolve::policy;
use crate::settings::{Environment, table};
use crate::store::read::overview::{Overview, OverviewRequest, Scope};
use crate::store::read::plan::PlanReport;

pub fn run(flags: StatusFlags, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let (_, timeouts) = policy(environment)?;
    let host_url = table::host_url(environment)?;
    if let Some(name) = flags.plan {
        let (url, stalled_after) = (find_database(environment)?, table::step_stalled_after(environment)?);
        let report = PlanReport::read_from(&url, &name, stalled_after, host_url.as_ref(), &timeouts)?;
        print(layout, &report, plan::whole);
        return Ok(Conclusion::Done);
    }
    let databases = find_databases(environment)?;
    let scope = Scope { tenant: flags.tenant, agent: None };
    let request = OverviewRequest { scope, host_url, ..OverviewRequest::default() };
    let shown = Shown { layout, table: status::whole, of_all: status::of_all };
    shown.print(&databases, |found| Overview::read_from(found, &request, &timeouts))
}
