//! `sweep migrate`: creates or upgrades sweep's schema; with `--uninstall` it removes it, and shows first what goes.

use anyhow::Result;

use super::host;
use super::terminal::{Layout, is_confirmed, is_interactive, print_wrapped, prompt, say};
use crate::cli::MigrateFlags;
use crate::conclusion::{Conclusion, usage};
use crate::rules::display::counted;
use crate::settings::{Environment, create_database, find_database};
use crate::store::hosts::migrate::{
    Extent, Listen, Removal, Superuser, Wanted, migrate, plan, print, print_removal, removal, uninstall,
};
use crate::store::{Access, Url};
use crate::sweep::Cancel;
use crate::text::redact;

pub fn run(flags: MigrateFlags, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let url = find_database(environment)?;
    if flags.uninstall {
        return remove(&url, &flags, layout);
    }
    if flags.with_listen && matches!(url, Url::Sqlite(_)) {
        return Err(usage("--with-listen: only PostgreSQL can notify of runs that end").into());
    }
    let listen = if flags.with_listen { Listen::Wanted } else { Listen::AsItIs };
    let superuser = if flags.as_superuser { Superuser::Accepted } else { Superuser::Refused };
    let host = host::wanted(flags.host, flags.host_dir.as_deref())?;
    let wanted = Wanted { host, listen, superuser };
    if flags.print {
        let mut db = url.connect(Access::ReadOnly)?;
        let plan = db.look(|db| plan(db, &wanted)).map_err(|error| url.explain(error))?;
        say(&print(&db, &plan, &wanted)?);
        return Ok(Conclusion::Done);
    }
    create_database(&url, environment)?;
    let plan = migrate(&mut url.connect(Access::Write)?, &wanted).map_err(|error| url.explain(error))?;
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

fn remove(url: &Url, flags: &MigrateFlags, layout: Layout) -> Result<Conclusion> {
    let access = if flags.print { Access::ReadOnly } else { Access::Write };
    let mut db = url.connect(access)?;
    let extent = if flags.keep_ledger { Extent::AllButTheLedger } else { Extent::Everything };
    let removal = db.look(|db| removal(db, extent)).map_err(|error| url.explain(error))?;
    if flags.print {
        say(&print_removal(&db, &removal)?);
        return Ok(Conclusion::Done);
    }
    if !flags.yes && !is_interactive() {
        return Err(usage("nothing was removed: --uninstall asks at a terminal; elsewhere, add --yes").into());
    }
    match layout {
        Layout::Table | Layout::Quiet => print_wrapped(&shown(&removal)),
        Layout::Json => prompt(&shown(&removal)),
    }
    if !flags.yes && !is_confirmed("Remove all of this?", &Cancel::default()) {
        prompt("Nothing was removed.\n");
        return Ok(Conclusion::SomeFailed);
    }
    let removed = uninstall(&mut db, extent).map_err(|error| url.explain(error))?;
    let text = format!("Removed (host {}):\n  {}\n", removed.host.name(), removed.folders.join("\n  "));
    layout.confirm_done(&text, "migrate --uninstall", &removed.folders);
    Ok(Conclusion::Done)
}

fn shown(removal: &Removal) -> String {
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
