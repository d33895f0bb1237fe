//! `sweep quarantine`: what failed in sweep after sweep and is examined no more, and its release.

use anyhow::Result;
use chrono::{DateTime, Utc};
use diesel::QueryResult;
use serde_json::{Value, json};

use super::open_database::{OpenDatabase, say_list};
use super::terminal::{Layout, Printer};
use crate::cli::{QuarantineCommand, ReleaseFlags, read_subject};
use crate::conclusion::Conclusion;
use crate::report::grid;
use crate::rules::Kind;
use crate::rules::display::HumanDuration;
use crate::settings::Environment;
use crate::store::db::errors::Refused;
use crate::store::db::types::IdType;
use crate::store::hosts::rights::Purpose;
use crate::store::work::find::{among, find, label_of_row};
use crate::store::work::quarantine::{self, FailingSubject};
use crate::store::{Db, Label};
use crate::text::redact;

pub fn run(command: QuarantineCommand, printer: Printer, environment: &Environment) -> Result<Conclusion> {
    match command {
        QuarantineCommand::List => list(printer.layout, environment),
        QuarantineCommand::Release(flags) => release(flags, printer, environment),
    }
}

fn release(flags: ReleaseFlags, printer: Printer, environment: &Environment) -> Result<Conclusion> {
    let ReleaseFlags { subject, all } = flags;
    let one = if all { None } else { Some(read_subject(subject, &["quarantine", "release"])?) };
    let released = OpenDatabase::ask(Purpose::Release, environment, move |opened| match one {
        Some((kind, name)) => release_one(opened, kind, &name).map(|released| vec![released]),
        None => release_all(opened),
    })?;
    let text = match (all, released.as_slice()) {
        (false, [one]) => format!("Released: {one}; the next sweep examines it again\n"),
        (_, []) => "Nothing is in quarantine.\n".to_owned(),
        (_, [_]) => "Released 1 subject; the next sweep examines it again\n".to_owned(),
        (_, all) => format!("Released {} subjects; the next sweep examines them again\n", all.len()),
    };
    printer.confirm_done(&text, "quarantine release", &released);
    Ok(Conclusion::Done)
}

fn release_one(opened: &mut OpenDatabase, kind: Option<Kind>, name: &str) -> Result<String> {
    let kind = match kind {
        Some(kind) => kind,
        None => opened.change(|db, kinds| kind_of(db, kinds, name))?,
    };
    opened.store.refuse_unprovided(kind)?;
    let find = |db: &mut Db| find(db, kind, name);
    let released = opened.undo(kind, name, "in quarantine", find, |db, id| quarantine::release(db, kind.name(), id))?;
    Ok(format!("{kind} {released}"))
}

/// The kind of the subject of this name, which may be gone: then only the quarantine knows it.
fn kind_of(db: &mut Db, kinds: &[Kind], name: &str) -> Result<Kind, Refused> {
    let id = IdType::of(db)?.parse(name);
    match (among(db, kinds, name), id) {
        (Ok((kind, _)), _) => Ok(kind),
        (Err(refused), Some(id)) => {
            let held = kinds.iter().copied().map(|kind| Ok(quarantine::of(db, kind, &id)?.map(|_| kind)));
            held.collect::<QueryResult<Vec<_>>>()?.into_iter().flatten().next().ok_or(refused)
        }
        (Err(refused), None) => Err(refused),
    }
}

fn release_all(opened: &mut OpenDatabase) -> Result<Vec<String>> {
    let released = opened.change(|db, _| Ok(quarantine::release_all(db)?))?;
    Ok(released.iter().map(|(kind, id)| format!("{} {}", redact(kind), redact(&id.0))).collect())
}

fn list(layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let (rows, more, now) = OpenDatabase::ask(Purpose::Look, environment, |opened| {
        opened.change(|db, kinds| {
            let (rows, more) = quarantine::longest(db)?;
            let labelled = |row: FailingSubject| Ok((label_of_row(db, kinds, &row.kind, &row.id)?, row));
            let rows = rows.into_iter().map(labelled).collect::<QueryResult<Vec<_>>>()?;
            Ok((rows, more, db.now()?))
        })
    })?;
    say_list(layout, "quarantine", (&rows, more), document, |rows| table(rows, now));
    Ok(Conclusion::Done)
}

type QuarantineRow = (Label, FailingSubject);

fn table(rows: &[QuarantineRow], now: DateTime<Utc>) -> String {
    if rows.is_empty() {
        return "Nothing is in quarantine.\n".to_owned();
    }
    let cells = rows.iter().map(|(label, row)| {
        [
            redact(&row.kind),
            label.name(),
            redact(label.tenant.as_deref().unwrap_or_default()),
            row.quarantined_at.map(|at| HumanDuration(now - at).to_string()).unwrap_or_default(),
            row.sweeps.to_string(),
            redact(&row.reason),
        ]
    });
    grid::with_header(["kind", "subject", "tenant", "for", "failed sweeps", "last failure"], cells, &[])
}

fn document((label, row): &QuarantineRow) -> Value {
    let FailingSubject { kind, id, sweeps, reason, last_at, quarantined_at } = row;
    json!({
        "kind": redact(kind),
        "id": redact(&id.0),
        "identifier": label.identifier.as_deref().map(redact),
        "tenant": label.tenant.as_deref().map(redact),
        "failed_sweeps": sweeps,
        "reason": redact(reason),
        "last_failure_at": last_at,
        "quarantined_at": quarantined_at,
    })
}
