//! The page: what needs a person, whether the sweeper is alive and how the work stands, for a browser. It only reads.
//!
//! ```text
//!  request → access: may it be answered? → route: what is asked for? → reader: one reading at a time → templates
//! ```
//!
//! There is no script in it, and nothing of others can become markup: what a template prints goes through
//! `text::redact`, and is escaped (`shown`).

mod access;
mod frame;
mod lists;
mod pages;
mod reader;
mod route;
mod serve;
mod shown;

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use crate::rules::Policy;
use crate::store::Timeouts;
use crate::store::connect::databases::Found;
use crate::store::hosts::links::HostUrl;
pub use access::PageOptions;
pub use serve::{ViewedNow, router, run};

/// What the page is about, as the settings are now.
#[derive(Clone, Debug, Default)]
pub struct Viewed {
    /// Empty: they are not known yet.
    pub databases: Vec<Found>,
    /// The limits by which subjects are explained.
    pub policy: Policy,
    pub timeouts: Timeouts,
    pub host_url: Option<HostUrl>,
}

const STYLE: &str = include_str!("page/templates/style.css");

const STYLE_PATH: &str = "/style.css";

/// The address of the style sheet. It changes with the content, so that browsers may keep it.
fn style_address() -> &'static str {
    static ADDRESS: LazyLock<String> =
        LazyLock::new(|| format!("{STYLE_PATH}?{:.16}", hex(&Sha256::digest(STYLE.as_bytes()))));
    &ADDRESS
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
