//! `sweep migrate`: create or upgrade sweep's schema.

use anyhow::Result;

use super::terminal::{Printer, say};
use super::{host, uninstall};
use crate::cli::MigrateFlags;
use crate::conclusion::{Conclusion, usage};
use crate::settings::Environment;
use crate::settings::database::{create_database, find_database};
use crate::store::Access;
use crate::store::connect::open::Url;
use crate::store::hosts::migrate::{Listen, Superuser, Wanted, migrate, plan, print};
use crate::text::redact;

pub fn run(flags: MigrateFlags, printer: Printer, environment: &Environment) -> Result<Conclusion> {
    let url = find_database(environment)?;
    if flags.uninstall {
        return uninstall::run(&url, &flags, printer);
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
    printer.confirm_done(&text, "migrate", &plan.missing);
    if let Url::Sqlite(path) = &url {
        printer.confirm(&format!("Database: {}\n", redact(&path.to_string_lossy())));
    }
    if let (Url::Sqlite(_), Some(folder)) = (&url, &flags.host_dir) {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        printer.confirm(&format!("To sweep it, set SWEEP_HOST_DIR={}\n", redact(&folder.to_string_lossy())));
    }
    Ok(Conclusion::Done)
}
