//! `sweep host`: which control planes are known, and what one of them is. `sweep migrate`: creates or upgrades sweep's
//! schema in the database of one; with `--uninstall` it removes it, and shows first what goes.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::json;

use super::terminal::{Layout, is_confirmed, is_interactive, print_wrapped, prompt, say, say_done};
use crate::cli::{HostCommand, HostShowFlags, HostVerifyFlags, MigrateFlags};
use crate::conclusion::{Conclusion, Failure, config, usage};
use crate::files;
use crate::report::certificate::{self, Trying};
use crate::report::grid;
use crate::rules::display::counted;
use crate::settings::{Environment, create_database, find_database, policy};
use crate::store::hosts::folders::{self, Description, Host};
use crate::store::hosts::migrate::{self, Extent, Listen, Removal, Superuser, Wanted};
use crate::store::{Access, Url};
use crate::sweep::Cancel;
use crate::text::redact;
use crate::verify::{self, Subprocess};

pub fn run(command: &HostCommand, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    match command {
        HostCommand::List => {
            let hosts: Vec<Description> = folders::built_in().iter().map(|host| host.describe()).collect();
            layout.print_list("hosts", (&hosts, 0), |host| json!(host), list);
        }
        HostCommand::Show(flags) => show(flags, layout)?,
        HostCommand::New { directory } => new(directory, layout, environment)?,
        HostCommand::Verify(flags) => return verify(flags, layout, environment),
    }
    Ok(Conclusion::Done)
}

fn new(directory: &Path, layout: Layout, environment: &Environment) -> Result<()> {
    let shown = directory.display();
    if std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(usage(format!("{shown}: it is not empty: expected a directory for new files")).into());
    }
    let url = find_database(environment)?;
    let folder = directory.file_name().and_then(|name| name.to_str()).unwrap_or("host").to_owned();
    let (_, timeouts) = policy(environment)?;
    let files = url.ask(&timeouts, move |url| {
        let files = url.connect(Access::ReadOnly)?.look(|db| folders::skeleton(db, &folder));
        files.map_err(|error| url.explain(error))
    })?;
    for (path, text) in &files {
        let path = directory.join(path);
        let written = std::fs::create_dir_all(path.parent().unwrap_or(directory));
        let written = written.and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| config(format!("{}: {}", path.display(), files::error_text(&error))))?;
    }
    let names: Vec<String> = files.keys().map(|path| directory.join(path).display().to_string()).collect();
    let text = format!(
        "Written:\n  {}\nFill them in, as docs/hosts.md shows, then try it: sweep host verify --host-dir {shown}\n",
        names.join("\n  ")
    );
    match layout {
        Layout::Table | Layout::Quiet => say(&text),
        Layout::Json => say_done("host new", &names, &[]),
    }
    Ok(())
}

fn verify(flags: &HostVerifyFlags, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let HostVerifyFlags { of, rows, checks } = flags;
    let Some(host) = wanted(of.host, of.host_dir.as_deref())? else { return Ok(Conclusion::Done) };
    let database = find_database(environment)?;
    let path = std::env::current_exe().context("looking for this program, to be killed in the middle of sweeps")?;
    let withheld = environment.own_variables().into_iter().filter(|name| !name.starts_with("PG")).collect();
    let program = Subprocess { path, withheld, host_directory: of.host_dir.clone() };
    let options = verify::VerifyOptions { host, database, rows: *rows, program, only: checks.clone() };
    let (cancel, trying) = (Cancel::on_signals()?, Trying::begin());
    let certificate = verify::verify(&options, &cancel, &mut |check| trying.now(check));
    drop(trying);
    let certificate = certificate.map_err(|error| options.database.explain(error))?;
    let is_json = layout == Layout::Json;
    say(&if is_json { format!("{:#}\n", json!(certificate)) } else { certificate::render(&certificate) });
    Ok(certificate.conclusion())
}

/// The one that an operator names, in either way. One that is named is trusted.
pub fn wanted(name: Option<&str>, directory: Option<&Path>) -> Result<Option<Arc<Host>>, Failure> {
    let Some(directory) = directory else { return Ok(name.and_then(folders::named)) };
    let host = folders::in_directory(directory)?;
    folders::trust(&host);
    Ok(Some(host))
}

fn show(flags: &HostShowFlags, layout: Layout) -> Result<()> {
    let Some(host) = wanted(flags.of.host, flags.of.host_dir.as_deref())? else { return Ok(()) };
    match (flags.files, layout) {
        (true, _) => host.files().for_each(|(path, text)| say(&format!("-- {path}\n{}\n\n", text.trim_end()))),
        (false, layout) => {
            layout.print_list("hosts", (&[host.describe()], 0), |host| json!(host), |hosts| page(&hosts[0]))
        }
    }
    Ok(())
}

fn list(hosts: &[Description]) -> String {
    let row = |host: &Description| {
        [host.name.clone(), host.databases.join(", "), host.kinds.join(", "), host.id.to_owned(), host.title.clone()]
    };
    grid::with_header(["host", "databases", "kinds", "ids", "whose"], hosts.iter().map(row), &[])
}

fn page(host: &Description) -> String {
    let Description { name, title, id, databases, kinds, derived_facts, .. } = host;
    let release = host.oldest_release.as_ref().map(|oldest| format!(", of release {oldest} or newer"));
    let recognised = match host.recognised_by.as_slice() {
        [] => "an empty database".to_owned(),
        tables => format!("the tables {}{}", tables.join(", "), release.unwrap_or_default()),
    };
    let links = host.links.iter().map(|(kind, template)| format!("{kind} {template}"));
    let rows = [
        ("databases", databases.join(", ")),
        ("kinds", kinds.join(", ")),
        ("ids", id.to_string()),
        ("facts", if *derived_facts { "derived from its runs and wakes" } else { "its own" }.to_owned()),
        ("recognised by", recognised),
        ("tables", if host.tables.is_empty() { "its own".to_owned() } else { host.tables.join(", ") }),
        ("links", links.collect::<Vec<_>>().join(", ")),
        ("migrations", host.migrations.join(", ")),
    ];
    let rows = rows.into_iter().filter(|(_, text)| !text.is_empty());
    let rows = rows.map(|(what, text)| format!("  {what:<14} {text}\n"));
    format!("{name}: {title}\n{}", rows.collect::<String>())
}

pub fn migrate(flags: MigrateFlags, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let url = find_database(environment)?;
    if flags.uninstall {
        return uninstall(&url, &flags, layout);
    }
    if flags.with_listen && matches!(url, Url::Sqlite(_)) {
        return Err(usage(
            "--with-listen: only PostgreSQL can notify of runs that end; a SQLite file is looked at without it",
        )
        .into());
    }
    let listen = if flags.with_listen { Listen::Wanted } else { Listen::AsItIs };
    let superuser = if flags.as_superuser { Superuser::Accepted } else { Superuser::Refused };
    let host = wanted(flags.host, flags.host_dir.as_deref())?;
    let wanted = Wanted { host, listen, superuser };
    if flags.print {
        let mut db = url.connect(Access::ReadOnly)?;
        let plan = db.look(|db| migrate::plan(db, &wanted)).map_err(|error| url.explain(error))?;
        say(&migrate::print(&db, &plan, &wanted)?);
        return Ok(Conclusion::Done);
    }
    create_database(&url, environment)?;
    let plan = migrate::migrate(&mut url.connect(Access::Write)?, &wanted).map_err(|error| url.explain(error))?;
    let name = plan.host.name();
    let text = match plan.missing.as_slice() {
        [] => format!("The schema is up to date (host {name}).\n"),
        ran => format!("Migrated (host {name}):\n  {}\n", ran.join("\n  ")),
    };
    layout.confirm_done(&text, "migrate", &plan.missing);
    if let Url::Sqlite(path) = &url {
        layout.confirm(&format!("Database: {}\n", redact(&path.to_string_lossy())));
        if let Some(folder) = &flags.host_dir {
            let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            layout.confirm(&format!("To sweep it, set SWEEP_HOST_DIR={}\n", redact(&folder.to_string_lossy())));
        }
    }
    Ok(Conclusion::Done)
}

fn uninstall(url: &Url, flags: &MigrateFlags, layout: Layout) -> Result<Conclusion> {
    let access = if flags.print { Access::ReadOnly } else { Access::Write };
    let mut db = url.connect(access)?;
    let extent = if flags.keep_ledger { Extent::AllButTheLedger } else { Extent::Everything };
    let removal = db.look(|db| migrate::removal(db, extent)).map_err(|error| url.explain(error))?;
    if flags.print {
        say(&migrate::print_removal(&db, &removal)?);
        return Ok(Conclusion::Done);
    }
    if !flags.yes && !is_interactive() {
        return Err(usage("nothing was removed: --uninstall asks at a terminal; elsewhere, add --yes").into());
    }
    match layout {
        Layout::Table | Layout::Quiet => print_wrapped(&removal_shown(&removal)),
        Layout::Json => prompt(&removal_shown(&removal)),
    }
    if !flags.yes && !is_confirmed("Remove all of this?", &Cancel::default()) {
        prompt("Nothing was removed.\n");
        return Ok(Conclusion::SomeFailed);
    }
    let removed = migrate::uninstall(&mut db, extent).map_err(|error| url.explain(error))?;
    let text = format!("Removed (host {}):\n  {}\n", removed.host.name(), removed.folders.join("\n  "));
    layout.confirm_done(&text, "migrate --uninstall", &removed.folders);
    Ok(Conclusion::Done)
}

fn removal_shown(removal: &Removal) -> String {
    let host = removal.host.name();
    if removal.extent == Extent::AllButTheLedger {
        return format!(
            "To be removed: sweep's views over the tables of its host {host}, and its triggers. What sweep remembers \
             stays, and no sweep runs until `sweep migrate` has made them again.\n"
        );
    }
    let rows = removal.tables.iter().filter(|(_, rows)| *rows != 0);
    let rows: String = rows.map(|(table, rows)| format!("  {table}: {}\n", counted(*rows, "row", "rows"))).collect();
    let tables = removal.tables.len();
    let work = match removal.host.is_native() {
        true => "The work itself is in these tables: agents, issues, plans and sessions go with them.\n",
        false => "Nothing of the host's own is touched.\n",
    };
    format!(
        "To be removed: sweep (host {host}), its views and {tables} tables, of which these have rows:\n{rows}{work}"
    )
}
