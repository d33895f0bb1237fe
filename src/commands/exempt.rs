//! `sweep exempt`: work that is in progress on purpose, and no business of a sweep's.

use anyhow::Result;
use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};
use owo_colors::OwoColorize;
use serde_json::{Value, json};

use super::open_database::{OpenDatabase, say_list};
use super::terminal::confirm;
use crate::cli::{ExemptCommand, ExemptFlags, ListFlags, RemoveFlags};
use crate::conclusion::{Conclusion, usage};
use crate::parse::Until;
use crate::report::grid;
use crate::rules::Exemption;
use crate::rules::display::{HumanDuration, format_utc};
use crate::settings::Environment;
use crate::store::Label;
use crate::store::errors::Refused;
use crate::store::exemptions::{self, Exempted, Given};
use crate::store::find::{find, label_of_row};
use crate::store::rights::Purpose;
use crate::store::{Abort, Db};
use crate::text::redact;

pub fn run(command: ExemptCommand, quiet: bool, environment: &Environment) -> Result<Conclusion> {
    match command {
        ExemptCommand::Add(flags) => add(&flags, quiet, environment),
        ExemptCommand::List(flags) => list(&flags, environment),
        ExemptCommand::Remove(flags) => remove(&flags, quiet, environment),
    }
}

fn add(flags: &ExemptFlags, quiet: bool, environment: &Environment) -> Result<Conclusion> {
    let mut opened = OpenDatabase::with(Purpose::Exempt, &flags.database, environment)?;
    opened.store.refuse_unprovided(flags.subject.kind)?;
    let added = match opened.transact(|db, _| give(db, flags)) {
        // Another operator was first: now there is a row to replace.
        Err(Abort::RolledBack(Refused::Query(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _)))) => {
            opened.transact(|db, _| give(db, flags))
        }
        added => added,
    };
    confirm(quiet, &added.map_err(|abort| opened.explain(abort))?);
    Ok(Conclusion::Done)
}

/// Returns what to say of it.
fn give(db: &mut Db, flags: &ExemptFlags) -> Result<String, Refused> {
    let (kind, name, now) = (flags.subject.kind, &flags.subject.name, db.now()?);
    let until = match flags.until {
        None => None,
        Some(Until::In(duration)) => Some(now + duration),
        Some(Until::At(at)) if now < at => Some(at),
        Some(Until::At(at)) => {
            let (at, now) = (format_utc(at), format_utc(now));
            return Err(usage(format!("--until {at} has passed: the database's clock says {now}")).into());
        }
    };
    let label = find(db, kind, name)?.one(kind, name)?;
    let exemption = Exemption { reason: flags.reason.clone(), until };
    let given = match exemptions::give(db, kind, &label.id, &exemption, now)? {
        Given::New => "Exempt",
        Given::Again => "Exempt again, with this reason and end",
    };
    let (name, end, reason) = (label.name(), end_of(&exemption), redact(&exemption.reason));
    Ok(format!("{given}: {kind} {name}, until {end}: {reason}\n"))
}

fn remove(flags: &RemoveFlags, quiet: bool, environment: &Environment) -> Result<Conclusion> {
    let mut opened = OpenDatabase::with(Purpose::Exempt, &flags.database, environment)?;
    let (kind, name) = (flags.subject.kind, &flags.subject.name);
    let removed = opened.undo(kind, name, "exempt", |db, id| exemptions::take_back(db, kind, id))?;
    confirm(quiet, &format!("No longer exempt: {kind} {removed}\n"));
    Ok(Conclusion::Done)
}

fn list(flags: &ListFlags, environment: &Environment) -> Result<Conclusion> {
    let mut opened = OpenDatabase::with(Purpose::Look, &flags.database, environment)?;
    let (rows, now) = opened.change(|db, kinds| {
        let rows = exemptions::all(db)?;
        let labelled = |row: Exempted| Ok((label_of_row(db, kinds, &row.kind, &row.id)?, row));
        let rows = rows.into_iter().map(labelled).collect::<QueryResult<Vec<_>>>()?;
        Ok((rows, db.now()?))
    })?;
    say_list(flags.layout.get(), "exemptions", &rows, |row| document(row, now), |rows| table(rows, now));
    Ok(Conclusion::Done)
}

type ExemptionRow = (Label, Exempted);

fn table(rows: &[ExemptionRow], now: DateTime<Utc>) -> String {
    if rows.is_empty() {
        return "Nothing is exempt.\n".to_owned();
    }
    let cells = rows.iter().map(|(label, row)| {
        let state = match row.exemption.holds(now) {
            true => "holds".green().to_string(),
            false => "expired".yellow().to_string(),
        };
        [
            redact(&row.kind),
            label.name(),
            redact(label.tenant.as_deref().unwrap_or_default()),
            state,
            end_of(&row.exemption),
            HumanDuration(now - row.since).to_string(),
            redact(&row.exemption.reason),
        ]
    });
    grid::with_header(["kind", "subject", "tenant", "state", "until", "age", "reason"], cells, &[])
}

fn document((label, row): &ExemptionRow, now: DateTime<Utc>) -> Value {
    let Exempted { kind, id, exemption, since } = row;
    json!({
        "kind": redact(kind),
        "id": redact(&id.0),
        "identifier": label.identifier.as_deref().map(redact),
        "tenant": label.tenant.as_deref().map(redact),
        "reason": redact(&exemption.reason),
        "until": exemption.until,
        "state": if exemption.holds(now) { "holds" } else { "expired" },
        "since": since,
        "age_seconds": (now - *since).num_seconds().max(0),
    })
}

fn end_of(exemption: &Exemption) -> String {
    exemption.until.map_or_else(|| "removed".to_owned(), format_utc)
}
