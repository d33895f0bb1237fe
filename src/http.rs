//! Plain HTTP within bounds: what the daemon and the page are served with. What is answered, they know themselves.

mod connections;
pub mod host;

use std::net::SocketAddr;

use anyhow::{Context, Result};
use axum::Router;
use tokio::net::TcpListener;

use crate::conclusion::config;
pub use connections::Peer;

/// A port that is open, and answers nothing yet.
pub struct Listening {
    listener: TcpListener,
    pub address: SocketAddr,
}

/// Opens the port of an address; 0: one that is free.
///
/// # Errors
/// A failure with exit code 78 when it is taken, or no address of this machine's.
pub fn listen(address: SocketAddr) -> Result<Listening> {
    let refuse =
        |error| config(format!("SWEEP_HTTP: cannot listen on {address}: {error}; another address, or off, will do"));
    let listener = connections::listen(address).map_err(refuse)?;
    let address = listener.local_addr().context("asking for the address")?;
    Ok(Listening { listener, address })
}

impl Listening {
    /// Can only this machine connect?
    pub fn is_local(&self) -> bool {
        is_local(self.address)
    }

    /// Answers from now on, until the runtime ends.
    pub fn serve(self, router: Router) {
        tokio::spawn(connections::serve(self.listener, router));
    }
}

/// Can only this machine connect to it?
pub fn is_local(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}
