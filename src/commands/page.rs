//! `sweep page`: the page without a schedule. It only reads.

use anyhow::Result;

use crate::conclusion::Conclusion;
use crate::page::{self, Viewed};
use crate::settings::{Environment, PageSettings};

pub fn run(environment: &Environment) -> Result<Conclusion> {
    let PageSettings { databases, viewed, http, options } = PageSettings::resolve(environment)?;
    // Files may have come, and others gone.
    page::run(options, http, move || Viewed { databases: databases.find(), ..viewed.clone() })
}
