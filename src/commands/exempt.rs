//! `sweep exempt`: work that is in progress on purpose, and no business of a sweep's.

use anyhow::Result;
use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};
use owo_colors::OwoColorize;
use serde_json::{Value, json};

use super::open_database::{OpenDatabase, say_list};
use super::terminal::confirm;
use crate::cli::{ExemptCommand, ExemptFlags, ExemptName, ListFlags, RemoveFlags};
use crate::conclusion::{Conclusion, usage};
use crate::parse::Until;
use crate::report::grid;
use crate::rules::display::{HumanDuration, format_utc};
use crate::rules::{Id, Kind, Whose};
use crate::settings::Environment;
use crate::store::Label;
use crate::store::errors::Refused;
use crate::store::exemptions::{self, Exempted, Exempts, Given, Word};
use crate::store::find::{self, Found};
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
    if let Some(kind) = flags.what.of.kind() {
        opened.store.refuse_unprovided(kind)?;
    }
    let added = match opened.transact(|db, kinds| give(db, kinds, flags)) {
        // Another operator was first: now there is a row to replace.
        Err(Abort::RolledBack(Refused::Query(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _)))) => {
            opened.transact(|db, kinds| give(db, kinds, flags))
        }
        added => added,
    };
    confirm(quiet, &added.map_err(|abort| opened.explain(abort))?);
    Ok(Conclusion::Done)
}

/// Returns what to say of it.
fn give(db: &mut Db, kinds: &[Kind], flags: &ExemptFlags) -> Result<String, Refused> {
    let (ExemptName { of, name }, now) = (&flags.what, db.now()?);
    let until = match flags.until {
        None => None,
        Some(Until::In(duration)) => Some(now + duration),
        Some(Until::At(at)) if now < at => Some(at),
        Some(Until::At(at)) => {
            let (at, now) = (format_utc(at), format_utc(now));
            return Err(usage(format!("--until {at} has passed: the database's clock says {now}")).into());
        }
    };
    let label = match of {
        Exempts::Tenant => find::tenant(db, kinds, name).map(|()| Label::of_id(Id(name.clone())))?,
        of => found(db, *of, name)?.one(of, name)?,
    };
    let word = Word { of: *of, id: &label.id, reason: &flags.reason, until };
    let given = match exemptions::give(db, &word, now)? {
        Given::New => "Exempt",
        Given::Again => "Exempt again, with this reason and end",
    };
    let (name, end, reason) = (label.name(), end_of(until), redact(&flags.reason));
    Ok(format!("{given}: {of} {name}, until {end}: {reason}\n"))
}

/// Of a tenant only its name is known.
fn found(db: &mut Db, of: Exempts, name: &str) -> QueryResult<Found> {
    match (of, of.kind()) {
        (Exempts::Tenant, _) => Ok(Found::One(Label::of_id(Id(name.to_owned())))),
        (_, Some(kind)) => find::find(db, kind, name),
        (_, None) => find::agent(db, name),
    }
}

fn remove(flags: &RemoveFlags, quiet: bool, environment: &Environment) -> Result<Conclusion> {
    let mut opened = OpenDatabase::with(Purpose::Exempt, &flags.database, environment)?;
    let ExemptName { of, name } = &flags.what;
    if let Some(kind) = of.kind() {
        opened.store.refuse_unprovided(kind)?;
    }
    let find = |db: &mut Db| found(db, *of, name);
    let removed = opened.undo(of, name, "exempt", find, |db, id| exemptions::take_back(db, *of, id))?;
    confirm(quiet, &format!("No longer exempt: {of} {removed}\n"));
    Ok(Conclusion::Done)
}

fn list(flags: &ListFlags, environment: &Environment) -> Result<Conclusion> {
    let mut opened = OpenDatabase::with(Purpose::Look, &flags.database, environment)?;
    let (rows, now) = opened.change(|db, kinds| {
        let rows = exemptions::all(db)?;
        let labelled = |row: Exempted| Ok((label(db, kinds, &row)?, row));
        let rows = rows.into_iter().map(labelled).collect::<QueryResult<Vec<_>>>()?;
        Ok((rows, db.now()?))
    })?;
    say_list(flags.layout.get(), "exemptions", &rows, |row| document(row, now), |rows| table(rows, now));
    Ok(Conclusion::Done)
}

/// By its id when it is gone.
fn label(db: &mut Db, kinds: &[Kind], row: &Exempted) -> QueryResult<Label> {
    match row.exemption.whose {
        Whose::Subject => find::label_of_row(db, kinds, &row.kind, &row.id),
        Whose::Tenant => Ok(exemptions::label_of_tenant(&row.id)),
        Whose::Agent => Ok(match find::agent(db, &row.id.0)? {
            Found::One(label) => label,
            Found::Nothing | Found::Several(_) => Label::of_id(row.id.clone()),
        }),
    }
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
            end_of(row.exemption.until),
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

fn end_of(until: Option<DateTime<Utc>>) -> String {
    until.map_or_else(|| "removed".to_owned(), format_utc)
}
