//! `sweep explain`: one subject, from the facts and by the rules of a sweep. Reads only.

use anyhow::Result;

use super::open_database::OpenDatabase;
use super::terminal::say;
use crate::cli::{ExplainFlags, Layout, SubjectName};
use crate::conclusion::Conclusion;
use crate::report::explain::Explanation;
use crate::report::page;
use crate::settings::Environment;
use crate::store::rights::Purpose;

pub fn run(flags: ExplainFlags, environment: &Environment) -> Result<Conclusion> {
    let (policy, timeouts) = environment.policy(flags.policy)?;
    let mut opened = OpenDatabase::within(timeouts, Purpose::Explain, &flags.database, environment)?;
    let links = opened.store.host.links(environment.host_url(flags.links)?.as_ref());
    let SubjectName { kind, name } = flags.subject;
    opened.store.refuse_unprovided(kind)?;
    let explanation = opened.change(|db, _| Explanation::read(db, kind, &name, &policy, &links))?;
    say(&match flags.layout.get() {
        Layout::Table => page::wrapped(&explanation.table()),
        Layout::Json => format!("{:#}\n", explanation.json()),
    });
    Ok(Conclusion::Done)
}
