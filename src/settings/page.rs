//! What the page is served with, by the daemon or alone.

use std::net::SocketAddr;

use anyhow::Result;
use secrecy::ExposeSecret;

use super::environment::Environment;
use super::flags::{PageAccessFlags, PageFlags};
use crate::conclusion::config;
use crate::cycle::CycleOptions;
use crate::daemon::DaemonOptions;
use crate::page::{PageOptions, Viewed};
use crate::store::connect::databases::Databases;
use crate::sweep::Options;

const TOKEN: &str = "SWEEP_PAGE_TOKEN";

/// What `sweep page` goes by.
pub struct PageSettings {
    pub databases: Databases,
    /// With the databases that there are now.
    pub viewed: Viewed,
    pub http: SocketAddr,
    pub options: PageOptions,
}

impl PageSettings {
    pub fn resolve(flags: PageFlags, environment: &Environment) -> Result<PageSettings> {
        let (policy, timeouts) = environment.policy(flags.policy)?;
        let host_url = environment.host_url(flags.links)?;
        let databases = environment.databases(&flags.database)?;
        let found = databases.find();
        let first = found.first().map(|found| found.url.clone());
        let mut daemon =
            DaemonOptions::of(CycleOptions::of(first.map(Options::of).ok_or_else(|| config("no database"))?));
        flags.http.or(&environment.variables()?)?.apply(&mut daemon);
        let http = daemon.http.ok_or_else(|| config("SWEEP_HTTP is off: the page needs an address"))?;
        let viewed = Viewed { databases: found, policy, timeouts, host_url };
        Ok(PageSettings { databases, viewed, http, options: environment.page(flags.access)? })
    }
}

impl Environment {
    /// Who may see the page.
    pub fn page(&self, flags: PageAccessFlags) -> Result<PageOptions> {
        let PageAccessFlags { page_host, page_proxy } = flags.or(&self.variables()?)?;
        let token = self.secret(TOKEN)?;
        let min = PageOptions::TOKEN_MIN;
        if token.as_ref().is_some_and(|token| token.expose_secret().chars().count() < min) {
            let why = format!("what {} holds is refused: expected at least {min} characters", self.origin(TOKEN));
            return Err(config(why).into());
        }
        let hosts = page_host.map(|names| names.0).unwrap_or_default();
        Ok(PageOptions { hosts, proxies: page_proxy.map(|addresses| addresses.0).unwrap_or_default(), token })
    }
}
