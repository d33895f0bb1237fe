//! `sweep migrate --uninstall`: what goes is shown first.

use anyhow::Result;

use super::terminal::{Layout, Printer, is_confirmed, is_interactive, print_wrapped, prompt, say};
use crate::cli::MigrateFlags;
use crate::conclusion::{Conclusion, usage};
use crate::store::Access;
use crate::store::connect::open::Url;
use crate::store::hosts::migrate::{Extent, Removal, print_removal, removal, uninstall};
use crate::sweep::Cancel;

pub fn run(url: &Url, flags: &MigrateFlags, printer: Printer) -> Result<Conclusion> {
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
    match printer.layout {
        Layout::Table => print_wrapped(&shown(&removal)),
        Layout::Json => prompt(&shown(&removal)),
    }
    if !flags.yes && !is_confirmed("Remove all of this?", &Cancel::default()) {
        prompt("Nothing was removed.\n");
        return Ok(Conclusion::SomeFailed);
    }
    let removed = uninstall(&mut db, extent).map_err(|error| url.explain(error))?;
    let text = format!("Removed (host {}):\n  {}\n", removed.host.name(), removed.folders.join("\n  "));
    printer.confirm_done(&text, "migrate --uninstall", &removed.folders);
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
    let counted = |(table, rows): &(String, i64)| match rows {
        0 => None,
        1 => Some(format!("  {table}: 1 row\n")),
        rows => Some(format!("  {table}: {rows} rows\n")),
    };
    let rows: String = removal.tables.iter().filter_map(counted).collect();
    let tables = removal.tables.len();
    let work = match removal.holds_the_work() {
        true => "The work itself is in these tables: agents, issues, plans and sessions go with them.\n",
        false => "Nothing of the host's own is touched.\n",
    };
    format!(
        "To be removed: sweep (host {host}), its views and {tables} tables, of which these have rows:\n{rows}{work}"
    )
}
