//! `sweep status`: how the work stands, what waits for a person, and how well sweep does.

use anyhow::Result;

use super::each_database::{Shown, print};
use crate::cli::StatusFlags;
use crate::conclusion::Conclusion;
use crate::report::{plan, status};
use crate::settings::Environment;
use crate::settings::flags::PolicyFlags;
use crate::store::read::overview::{Overview, OverviewRequest, Scope};
use crate::store::read::plan::PlanReport;

pub fn run(flags: StatusFlags, environment: &Environment) -> Result<Conclusion> {
    let (_, timeouts) = environment.policy(PolicyFlags::default())?;
    let (layout, host_url) = (flags.layout.get(), environment.host_url(flags.links)?);
    if let Some(name) = flags.plan {
        let (url, stalled_after) = (environment.database(&flags.database)?, environment.step_stalled_after()?);
        let report = PlanReport::read_from(&url, &name, stalled_after, host_url.as_ref(), &timeouts)?;
        print(layout, &report, plan::whole);
        return Ok(Conclusion::Done);
    }
    let databases = environment.databases(&flags.database)?;
    let scope = Scope { tenant: flags.tenant, agent: None };
    let request = OverviewRequest { scope, host_url, ..OverviewRequest::default() };
    let shown = Shown { layout, table: status::whole, of_all: status::of_all };
    shown.print(&databases, |found| Overview::read_from(found, &request, &timeouts))
}
