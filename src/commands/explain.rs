//! `sweep explain`: one subject, from the facts and by the rules of a sweep. Reads only.

use anyhow::Result;

use super::terminal::{Layout, say};
use crate::cli::{SubjectName, read_subject};
use crate::conclusion::Conclusion;
use crate::report::explain::Explanation;
use crate::report::page;
use crate::rules::Policy;
use crate::settings::Environment;
use crate::settings::database::find_database;
use crate::settings::resolve::{apply_policy, policy};
use crate::settings::table;

pub fn run(subject: SubjectName, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let (own, timeouts) = policy(environment)?;
    let typed = environment.typed_alone();
    // What the command line says wins over what the session's watcher goes by, and has been read already.
    let policy_of = move |watchers: Option<Policy>| {
        let mut policy = watchers.unwrap_or(own);
        let _ = apply_policy(&typed, &mut policy);
        policy
    };
    let (url, host_url) = (find_database(environment)?, table::host_url(environment)?);
    let (kind, name) = read_subject(subject, &["explain"])?;
    let explanation = Explanation::read(&url, (kind, &name), policy_of, host_url.as_ref(), &timeouts)?;
    say(&match layout {
        Layout::Table => page::wrapped(&explanation.table()),
        Layout::Json => format!("{:#}\n", explanation.json()),
    });
    Ok(Conclusion::Done)
}
