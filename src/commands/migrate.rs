//! `sweep migrate`: create or upgrade sweep's schema.

use anyhow::Result;

use super::terminal::{confirm, confirm_in, say};
use super::{host, uninstall};
use crate::cli::{Layout, MigrateFlags};
use crate::conclusion::{Conclusion, usage};
use crate::settings::Environment;
use crate::store::Access;
use crate::store::connect::open::Url;
use crate::store::hosts::migrate::{Listen, Superuser, Wanted, migrate, plan, print};
use crate::text::redact;

pub fn run(flags: MigrateFlags, quiet: bool, environment: &Environment) -> Result<Conclusion> {
    let url = environment.database(&flags.database)?;
    if flags.uninstall {
        return uninstall::run(&url, &flags, quiet);
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
    environment.create_database(&url)?;
    let plan = migrate(&mut url.connect(Access::Write)?, &wanted).map_err(|error| url.explain(error))?;
    let name = plan.host.name();
    let layout = flags.layout.get();
    let text = match plan.missing.as_slice() {
        [] => format!("The schema is up to date (host {name}).\n"),
        ran => format!("Migrated (host {name}):\n  {}\n", ran.join("\n  ")),
    };
    confirm_in(layout, quiet, &text, "migrate", &plan.missing);
    let quiet = quiet || layout == Layout::Json;
    if let Url::Sqlite(path) = &url {
        confirm(quiet, &format!("Database: {}\n", redact(&path.to_string_lossy())));
    }
    if let (Url::Sqlite(_), Some(folder)) = (&url, &flags.host_dir) {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        confirm(quiet, &format!("To sweep it, set SWEEP_HOST_DIR={}\n", redact(&folder.to_string_lossy())));
    }
    Ok(Conclusion::Done)
}
