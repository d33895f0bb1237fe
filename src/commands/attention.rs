//! `sweep attention`: what needs a person, whether the sweeper is alive, and what the next sweep would do. Reads only.

use anyhow::Result;

use super::each_database::Shown;
use super::terminal::Layout;
use crate::cli::AttentionFlags;
use crate::conclusion::{Conclusion, usage};
use crate::report::attention;
use crate::settings::database::find_databases;
use crate::settings::resolve::policy;
use crate::settings::{Environment, table};
use crate::store::read::overview::{Overview, OverviewRequest, PageRequest, Scope};

pub fn run(flags: AttentionFlags, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let AttentionFlags { tenant, agent, limit, after } = flags;
    let (_, timeouts) = policy(environment)?;
    let host_url = table::host_url(environment)?;
    let databases = find_databases(environment)?;
    if after.is_some() && databases.only().is_none() {
        return Err(usage("--after: expected one database, of which it is the next page").into());
    }
    let page = PageRequest { after, limit: limit.unwrap_or(PageRequest::LIMIT) };
    let request = OverviewRequest { scope: Scope { tenant, agent }, page, host_url, ..OverviewRequest::default() };
    let shown = Shown { layout, table: attention::whole, of_all: attention::of_all };
    shown.print(&databases, |found| Overview::read_from(found, &request, &timeouts))
}
