//! `sweep explain`: one subject, from the facts and by the rules of a sweep. Reads only.

use anyhow::Result;

use super::terminal::say;
use crate::cli::{ExplainFlags, Layout};
use crate::conclusion::Conclusion;
use crate::report::explain::Explanation;
use crate::report::page;
use crate::rules::Policy;
use crate::settings::Environment;

pub fn run(flags: ExplainFlags, environment: &Environment) -> Result<Conclusion> {
    let (own, timeouts) = environment.policy(flags.policy.clone())?;
    let given = flags.policy;
    let policy = move |watchers: Option<Policy>| watchers.map_or(own, |policy| given.over(policy));
    let (url, host_url) = (environment.database(&flags.database)?, environment.host_url(flags.links)?);
    let (kind, name) = flags.subject.read(&["explain"])?;
    let explanation = Explanation::read(&url, (kind, &name), policy, host_url.as_ref(), &timeouts)?;
    say(&match flags.layout.get() {
        Layout::Table => page::wrapped(&explanation.table()),
        Layout::Json => format!("{:#}\n", explanation.json()),
    });
    Ok(Conclusion::Done)
}
