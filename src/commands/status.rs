//! `sweep status`: how the work stands, what waits for a person, and how well sweep does.

use anyhow::Result;

use super::each_database::{Shown, print};
use crate::cli::StatusFlags;
use crate::conclusion::Conclusion;
use crate::report::status as report;
use crate::settings::Environment;
use crate::settings::flags::PolicyFlags;
use crate::store::read::status::{of_database, of_plan};

pub fn run(flags: StatusFlags, environment: &Environment) -> Result<Conclusion> {
    let (_, timeouts) = environment.policy(PolicyFlags::default())?;
    let (layout, host_url) = (flags.layout.get(), environment.host_url(flags.links)?);
    if let Some(name) = flags.plan {
        let (url, stalled_after) = (environment.database(&flags.database)?, environment.step_stalled_after()?);
        let plan = of_plan(&url, &name, stalled_after, host_url.as_ref(), &timeouts)?;
        print(layout, &plan, report::plan);
        return Ok(Conclusion::Done);
    }
    let databases = environment.databases(&flags.database)?;
    let shown = Shown { layout, table: report::whole, of_all: report::of_all };
    shown.print(&databases, |found| of_database(&found.url, flags.tenant.as_deref(), host_url.as_ref(), &timeouts))
}
