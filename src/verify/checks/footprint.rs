//! What is written, and where: installing changes nothing of the host's, a sweep writes about the subjects that it
//! touches alone, and uninstalling leaves the schema as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Result;

use super::story::in_vain;
use crate::rules::{Id, Kind};
use crate::store::Access;
use crate::store::connect::sandbox::{Outsider, Sandbox};
use crate::store::connect::snapshot::{self, Rows};
use crate::store::db::dialect::Dialect;
use crate::store::hosts::folders::Host;
use crate::store::hosts::migrate;
use crate::sweep::{self, Cancel, Options};
use crate::verify::certificate::Ruling;
use crate::verify::fixtures::{Event, Made};
use crate::verify::trial::{DAYS_AGO, JUST_NOW, Trial};

/// Characters of a row that evidence shows.
const ROW_MAX: usize = 300;

/// The lines of the catalog about what is not sweep's.
fn of_host(outsider: &mut Outsider, host: &Host) -> Result<BTreeSet<String>> {
    // In a file of its own all is.
    if host.is_native() && outsider.db.dialect() == Dialect::Sqlite {
        return Ok(BTreeSet::new());
    }
    let is_ours = |line: &String| {
        line.starts_with("sweep ")
            || [" table sweep_", " index sweep_", " index sqlite_autoindex_sweep_"]
                .iter()
                .any(|ours| line.starts_with(ours))
    };
    Ok(snapshot::catalog(&mut outsider.db)?.into_iter().filter(|line| !is_ours(line)).collect())
}

/// What two schemas do not have in common.
fn differences(before: &BTreeSet<String>, after: &BTreeSet<String>) -> Vec<String> {
    let gone = before.difference(after).map(|line| format!("is gone: {}", cut(line)));
    let new = after.difference(before).map(|line| format!("was not there before: {}", cut(line)));
    gone.chain(new).collect()
}

fn cut(line: &str) -> String {
    line.chars().take(ROW_MAX).collect()
}

/// Installs the host in this copy of its database, and says what of the host's that has changed.
pub fn installation(copy: &Sandbox, host: &Arc<Host>) -> Result<Ruling> {
    let mut outsider = copy.connect(host)?;
    let (schema, rows) = (of_host(&mut outsider, host)?, snapshot::rows(&mut outsider.db)?);
    let wanted = migrate::Wanted { host: Some(Arc::clone(host)), ..migrate::Wanted::default() };
    migrate::migrate(&mut copy.url.connect(Access::Write)?, &wanted)?;
    let mut evidence = differences(&schema, &of_host(&mut outsider, host)?);
    let after = snapshot::rows(&mut outsider.db)?;
    let changed = rows.iter().filter(|(table, rows)| after.get(*table) != Some(rows));
    evidence.extend(changed.map(|(table, _)| format!("the rows of {table} were changed")));
    evidence.extend(snapshot::rights(&mut outsider.db)?);
    evidence.extend(outsider.writes_of_readers()?);
    Ok(Ruling::by_evidence("", evidence))
}

/// Uninstalls sweep after sweeps have written, and says what is left of it or lacks.
pub fn removal(trial: &mut Trial, copy: &Sandbox) -> Result<Ruling> {
    let before = snapshot::catalog(&mut copy.connect(trial.host)?.db)?;
    for kind in trial.host.kinds() {
        trial.stranded(kind)?;
    }
    trial.sweep()?;
    migrate::uninstall(&mut trial.sandbox.url.connect(Access::Write)?, migrate::Extent::Everything)?;
    Ok(Ruling::by_evidence("", differences(&before, &snapshot::catalog(&mut trial.outsider.db)?)))
}

/// A dry run writes nothing; a sweep writes about what it touches, in the tables that `host.toml` names, and deletes
/// nothing.
pub fn footprint(trial: &mut Trial, kind: Kind) -> Result<Ruling> {
    let in_vain_before = trial.stranded(kind)?;
    trial.sweep()?;
    if trial.takes_wakes(kind) {
        in_vain(trial, &[&in_vain_before])?;
    }
    let touched = [in_vain_before, trial.stranded(kind)?];
    let bystanders = [bystanders(trial, &touched[0])?, bystanders(trial, &touched[1])?].concat();
    let before = trial.rows()?;
    sweep::run(&Options { dry_run: true, ..trial.options() }, &Cancel::default(), &mut ())?;
    let mut evidence: Vec<String> = changes(&before, &trial.rows()?)
        .into_iter()
        .map(|change| format!("a dry run changed {}: {}", change.table, cut(&change.row)))
        .collect();
    evidence.extend(trial.sweep()?.expect(&touched[1], trial.first_outcome(kind)).err());
    let after = trial.rows()?;
    let declared = trial.host.tables();
    for Change { table, row } in changes(&before, &after).into_iter().filter(|change| !trial.is_of_sweep(&change.table))
    {
        if !trial.host.is_native() && !declared.contains(&table.as_str()) {
            evidence.push(format!("{table} was written, and is not among the tables of host.toml: {}", cut(&row)));
        }
        if !touched.iter().any(|made| is_about(&row, made, &bystanders)) {
            evidence
                .push(format!("a row of {table} was written that is about no subject that was touched: {}", cut(&row)));
        }
    }
    evidence.extend(deleted(&before, &after));
    Ok(Ruling::by_evidence(kind.plural(), evidence))
}

/// Makes subjects beside the one that is touched: two of its agent, one at work and one that was finished just now, and
/// one that was finished long ago.
fn bystanders(trial: &mut Trial, touched: &Made) -> Result<[Made; 3]> {
    let [at_work, finished] = [trial.another_of(touched)?, trial.another_of(touched)?];
    trial.happens(Event::AtWork, &at_work, JUST_NOW)?;
    trial.happens(Event::Finished, &finished, JUST_NOW)?;
    let old = trial.stranded_since(touched.kind, DAYS_AGO)?;
    trial.happens(Event::AtWork, &old, DAYS_AGO)?;
    trial.happens(Event::Finished, &old, DAYS_AGO)?;
    Ok([at_work, finished, old])
}

/// Does it name the subject, or its agent and nothing else of it?
fn is_about(row: &str, made: &Made, bystanders: &[Made]) -> bool {
    let of_agent = [&made.agent, &made.plan].iter().any(|id| has(row, id));
    has(row, &made.id) || (of_agent && !bystanders.iter().any(|other| has(row, &other.id)))
}

/// Does it have the whole id, and not as a part of another one?
fn has(row: &str, id: &Id) -> bool {
    let is_more = |c: char| c.is_ascii_alphanumeric();
    row.match_indices(&id.0).any(|(at, found)| {
        let (before, behind) = (&row[..at], &row[at + found.len()..]);
        !before.ends_with(is_more) && !behind.starts_with(is_more)
    })
}

/// A row that is not as it was, or was not there.
struct Change {
    table: String,
    row: String,
}

fn changes(before: &Rows, after: &Rows) -> Vec<Change> {
    let of_table = |(table, rows): (&String, &BTreeMap<String, String>)| {
        let known = before.get(table);
        let new = rows.iter().filter(|(key, row)| known.and_then(|known| known.get(*key)) != Some(row));
        new.map(|(_, row)| Change { table: table.clone(), row: row.clone() }).collect::<Vec<_>>()
    };
    after.iter().flat_map(of_table).collect()
}

fn deleted(before: &Rows, after: &Rows) -> Vec<String> {
    let of_table = |(table, rows): (&String, &BTreeMap<String, String>)| {
        let gone = rows.iter().filter(|(key, _)| after.get(table).is_none_or(|left| !left.contains_key(*key)));
        gone.map(|(_, row)| format!("a row of {table} was deleted: {}", cut(row))).collect::<Vec<_>>()
    };
    before.iter().flat_map(of_table).collect()
}
