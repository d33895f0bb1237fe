//! Who may see the page.

use std::net::{IpAddr, SocketAddr};

use anyhow::Result;
use secrecy::SecretString;

use crate::conclusion::config;
use crate::http::is_local;

/// Without a token and a proxy: everybody on this machine.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// Names under which it may be asked for, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// The proxies that say who asks.
    pub proxies: Vec<IpAddr>,
    /// Who has it may see the page.
    pub token: Option<SecretString>,
}

impl PageOptions {
    /// Characters that a token has at least: it can be tried as often as one likes.
    pub const TOKEN_MIN: usize = 16;

    /// Is it asked of everybody who they are?
    pub fn is_guarded(&self) -> bool {
        self.token.is_some() || !self.proxies.is_empty()
    }

    /// Refuses an address at which others than this machine's users would see it.
    pub fn refuse_open(&self, address: SocketAddr) -> Result<()> {
        if is_local(address) || self.is_guarded() {
            return Ok(());
        }
        Err(config(format!(
            "SWEEP_HTTP is {address}: there everybody could read the page: set SWEEP_PAGE_TOKEN, or SWEEP_PAGE_PROXY \
             to the addresses of the proxies that say who asks, or serve it at 127.0.0.1"
        ))
        .into())
    }
}
