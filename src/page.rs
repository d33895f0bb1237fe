//! The page: what needs a person, whether the sweeper is alive and how the work stands, for a browser. It only reads.
//!
//! ```text
//!  request → access: may it be answered? → route: what is asked for? → reader: one reading at a time → templates
//! ```
//!
//! There is no script in it, and nothing of others can become markup: what a template prints goes through
//! `text::redact`, and is escaped (`shown`).

mod access;
mod answer;
mod chart;
mod databases;
mod frame;
mod overview;
mod reader;
mod route;
mod serve;
mod shown;
mod subject;
mod sweeps;

use crate::rules::Policy;
use crate::store::Timeouts;
use crate::store::connect::databases::Found;
use crate::store::hosts::links::HostUrl;
pub use access::PageOptions;
pub use serve::{router, run};

/// What the page is about, as the settings are now.
#[derive(Clone, Debug)]
pub struct Viewed {
    /// Empty: they are not known yet.
    pub databases: Vec<Found>,
    /// The limits by which subjects are explained.
    pub policy: Policy,
    pub timeouts: Timeouts,
    pub host_url: Option<HostUrl>,
}
