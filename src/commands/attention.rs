//! `sweep attention`: what needs a person, whether the sweeper is alive, and what the next sweep would do. Reads only.

use anyhow::Result;

use super::each_database::Shown;
use crate::cli::AttentionFlags;
use crate::conclusion::{Conclusion, usage};
use crate::report::attention as report;
use crate::settings::Environment;
use crate::settings::flags::PolicyFlags;
use crate::store::read::attention::{PageRequest, Scope, read_from};

pub fn run(flags: AttentionFlags, environment: &Environment) -> Result<Conclusion> {
    let AttentionFlags { database, links, layout, tenant, agent, limit, after } = flags;
    let (_, timeouts) = environment.policy(PolicyFlags::default())?;
    let host_url = environment.host_url(links)?;
    let databases = environment.databases(&database)?;
    if after.is_some() && databases.only().is_none() {
        return Err(usage("--after: expected one database, of which it is the next page").into());
    }
    let (scope, page) = (Scope { tenant, agent }, PageRequest { after, limit: limit.unwrap_or(PageRequest::LIMIT) });
    let shown = Shown { layout: layout.get(), table: report::whole, of_all: report::of_all };
    shown.print(&databases, |found| read_from(found, &scope, &page, host_url.as_ref(), &timeouts))
}
