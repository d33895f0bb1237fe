//! `sweep host`: which control planes are known, and what one of them is.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use serde_json::json;

use super::open_database::say_list;
use super::terminal::say;
use crate::cli::{HostCommand, HostShowFlags};
use crate::conclusion::{Conclusion, Failure};
use crate::report::grid;
use crate::store::hosts::{self, Description, Host};

pub fn run(command: &HostCommand) -> Result<Conclusion> {
    match command {
        HostCommand::List(flags) => {
            let hosts: Vec<Description> = hosts::built_in().iter().map(|host| host.describe()).collect();
            say_list(flags.layout.get(), "hosts", &hosts, |host| json!(host), list);
        }
        HostCommand::Show(flags) => show(flags)?,
    }
    Ok(Conclusion::Done)
}

/// The one that an operator names, in either way.
pub fn wanted(name: Option<&str>, directory: Option<&Path>) -> Result<Option<Arc<Host>>, Failure> {
    match directory {
        Some(directory) => Host::in_directory(directory).map(Some),
        None => Ok(name.and_then(hosts::named)),
    }
}

fn show(flags: &HostShowFlags) -> Result<()> {
    let Some(host) = wanted(flags.host, flags.host_dir.as_deref())? else { return Ok(()) };
    match (flags.files, flags.layout.get()) {
        (true, _) => host.files().for_each(|(path, text)| say(&format!("-- {path}\n{}\n\n", text.trim_end()))),
        (false, layout) => say_list(layout, "hosts", &[host.describe()], |host| json!(host), whole),
    }
    Ok(())
}

fn list(hosts: &[Description]) -> String {
    let row = |host: &Description| {
        [host.name.clone(), host.databases.join(", "), host.kinds.join(", "), host.id.to_owned(), host.title.clone()]
    };
    grid::with_header(["host", "databases", "kinds", "ids", "whose"], hosts.iter().map(row), &[])
}

fn whole(hosts: &[Description]) -> String {
    hosts.iter().map(page).collect()
}

fn page(host: &Description) -> String {
    let Description { name, title, id, databases, kinds, derived_facts, .. } = host;
    let release = host.oldest_release.as_ref().map(|oldest| format!(", of release {oldest} or newer"));
    let recognised = match host.recognised_by.as_slice() {
        [] => "an empty database".to_owned(),
        tables => format!("the tables {}{}", tables.join(", "), release.unwrap_or_default()),
    };
    let rows = [
        ("databases", databases.join(", ")),
        ("kinds", kinds.join(", ")),
        ("ids", id.to_string()),
        ("facts", if *derived_facts { "derived from its runs and wakes" } else { "its own" }.to_owned()),
        ("recognised by", recognised),
        ("tables", if host.tables.is_empty() { "its own".to_owned() } else { host.tables.join(", ") }),
        (
            "links",
            host.links.iter().map(|(kind, template)| format!("{kind} {template}")).collect::<Vec<_>>().join(", "),
        ),
        ("migrations", host.migrations.join(", ")),
    ];
    let rows = rows.into_iter().filter(|(_, text)| !text.is_empty());
    let rows = rows.map(|(what, text)| format!("  {what:<14} {text}\n"));
    format!("{name}: {title}\n{}", rows.collect::<String>())
}
