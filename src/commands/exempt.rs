//! `sweep exempt`: work that is in progress on purpose, and no business of a sweep's.

use anyhow::Result;
use chrono::{DateTime, Utc};
use diesel::QueryResult;
use owo_colors::OwoColorize;

use super::open_database::{OpenDatabase, say_list};
use super::terminal::{Layout, Printer};
use crate::cli::{ExemptCommand, ExemptFlags, ExemptName};
use crate::conclusion::Conclusion;
use crate::report::{exemption, grid};
use crate::rules::display::{HumanDuration, format_utc};
use crate::rules::{Kind, Whose};
use crate::settings::Environment;
use crate::store::Db;
use crate::store::Label;
use crate::store::hosts::rights::Purpose;
use crate::store::work::exemptions::{self, Exempt, Exempted, Given, Wanted};
use crate::store::work::find::{self, Found};
use crate::text::redact;

pub fn run(command: ExemptCommand, printer: Printer, environment: &Environment) -> Result<Conclusion> {
    match command {
        ExemptCommand::Add(flags) => add(flags, printer, environment),
        ExemptCommand::List => list(printer.layout, environment),
        ExemptCommand::Remove(name) => remove(name, printer, environment),
    }
}

fn add(flags: ExemptFlags, printer: Printer, environment: &Environment) -> Result<Conclusion> {
    let ExemptFlags { what: ExemptName { of, name }, reason, until } = flags;
    let exempted = OpenDatabase::ask(Purpose::Exempt, environment, move |opened| {
        let (name, reason) = (&name, &reason);
        opened.exempt(&Wanted { of, name, reason, until, until_is_called: "--until", is_agents: false })
    });
    let Exempt { label, row, given } = exempted?;
    let given = match given {
        Given::New => "Exempt",
        Given::Again => "Exempt again, with this reason and end",
    };
    let (name, end, reason) = (label.name(), end_of(row.exemption.until), redact(&row.exemption.reason));
    let text = format!("{given}: {of} {name}, until {end}: {reason}\n");
    printer.confirm_done(&text, "exempt add", &[format!("{of} {name}")]);
    Ok(Conclusion::Done)
}

fn remove(ExemptName { of, name }: ExemptName, printer: Printer, environment: &Environment) -> Result<Conclusion> {
    let removed = OpenDatabase::ask(Purpose::Exempt, environment, move |opened| {
        if let Some(kind) = of.kind() {
            opened.store.refuse_unprovided(kind)?;
        }
        let find = |db: &mut Db| exemptions::found(db, of, &name);
        opened.undo(of, &name, "exempt", find, |db, id| exemptions::take_back(db, of, id))
    })?;
    let text = format!("No longer exempt: {of} {removed}\n");
    printer.confirm_done(&text, "exempt remove", &[format!("{of} {removed}")]);
    Ok(Conclusion::Done)
}

fn list(layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let (rows, more, now) = OpenDatabase::ask(Purpose::Look, environment, |opened| {
        opened.change(|db, kinds| {
            let (rows, more) = exemptions::oldest(db)?;
            let labelled = |row: Exempted| Ok((label(db, kinds, &row)?, row));
            let rows = rows.into_iter().map(labelled).collect::<QueryResult<Vec<_>>>()?;
            Ok((rows, more, db.now()?))
        })
    })?;
    say_list(layout, "exemptions", (&rows, more), |(label, row)| exemption(label, row, now), |rows| table(rows, now));
    Ok(Conclusion::Done)
}

/// What an exempt subject is called: by its id when it is gone.
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

fn end_of(until: Option<DateTime<Utc>>) -> String {
    until.map_or_else(|| "removed".to_owned(), format_utc)
}
