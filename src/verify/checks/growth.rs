//! Whether the cost of stranded work grows in a straight line: what is read for one subject must not depend on how many
//! others are stranded, wait for their wakes or are queued. What is counted are rows and pages, not time.

use anyhow::{Context, Error, Result};
use diesel::QueryResult;

use super::cost::{many, statement_and_plan};
use crate::rules::{Id, Kind};
use crate::store::connect::snapshot;
use crate::store::work::candidates::Part;
use crate::store::{Access, DbConnection, Subject, for_kind};
use crate::verify::{Act, Made, Trial};

/// How many more are stranded, and how many more are queued, each time.
const MORE: usize = 1000;
/// The number of each sort whose facts are read.
const SAMPLE: usize = 5;
/// How much more may be read for a subject beside so many more: half a row, or page, for each of them.
const MORE_READ_MAX: u64 = MORE as u64 / 2;

/// How much a sweep reads.
struct RowsRead {
    candidates: u64,
    /// The most that is read for one subject, and for which one.
    facts: (u64, Id),
}

/// What does not grow in a straight line, and its statement, beside so many that are finished. `made`: how many are
/// stranded already, and as many are queued.
pub fn growth(trial: &mut Trial, kind: Kind, made: usize, finished: u32) -> Result<Vec<String>> {
    let none = for_kind!(kind, S => candidates::<S>(&mut trial.sandbox.url.connect(Access::ReadOnly)?))?;
    let first = more(trial, kind, MORE - made)?;
    let second = more(trial, kind, MORE)?;
    let bend = (second.candidates + none).saturating_sub(2 * first.candidates);
    // Another plan may have read what is finished a few times more.
    let bend_max = MORE as u64 * MORE_READ_MAX + 10 * u64::from(finished);
    let mut evidence = Vec::new();
    if bend_max < bend {
        let statement = statement_and_plan(trial, &snapshot::select_candidates(kind));
        let counts = [none, first.candidates, second.candidates];
        evidence.push(format!(
            "{kind}_candidates reads {counts:?} rows and pages when {made}, {MORE} and {} are stranded: expected a \
             straight line: {statement}",
            2 * MORE
        ));
    }
    let (fewer, (more, id)) = (first.facts.0, &second.facts);
    if fewer + MORE_READ_MAX < *more {
        let statement = statement_and_plan(trial, &snapshot::select_facts(kind, std::slice::from_ref(id)));
        evidence.push(format!(
            "{kind}_facts of one reads {fewer} rows and pages when {MORE} are stranded, and {more} when {} are: \
             expected no more than {MORE_READ_MAX} more: {statement}",
            2 * MORE
        ));
    }
    Ok(evidence)
}

/// Strands so many more, which a sweep continues, and has as many queued. Then candidates are read, and facts of each
/// sort.
fn more(trial: &mut Trial, kind: Kind, count: usize) -> Result<RowsRead> {
    let continued = many(trial, kind, count - SAMPLE, None)?;
    trial.sweep()?;
    let queued = trial.block(kind, Act::Queued);
    let queued = queued.map_or(Ok(Vec::new()), |queued| many(trial, kind, count, Some(&queued)))?;
    let stranded = many(trial, kind, SAMPLE, None)?;
    let sample = [continued, queued, stranded].into_iter().flat_map(|sort| sort.into_iter().take(SAMPLE));
    let sample: Vec<Made> = sample.collect();
    trial.outsider.analyze()?;
    let mut db = trial.sandbox.url.connect(Access::ReadOnly)?;
    for_kind!(kind, S => read::<S>(&mut db, &sample))
}

fn read<S: Subject>(db: &mut DbConnection, sample: &[Made]) -> Result<RowsRead> {
    let mut dearest = None;
    for Made { id, .. } in sample {
        let select = snapshot::select_facts(S::KIND, std::slice::from_ref(id));
        let read = snapshot::work(db, &select, |db| S::read(db, id).map(drop));
        let read = read.map_err(Error::from).with_context(|| format!("select from {}_facts", S::KIND))?;
        dearest = dearest.max(Some((read, id.clone())));
    }
    Ok(RowsRead { candidates: candidates::<S>(db)?, facts: dearest.unwrap_or_default() })
}

fn candidates<S: Subject>(db: &mut DbConnection) -> Result<u64> {
    let ask = |db: &mut _| -> QueryResult<()> { S::candidates(db, &Part::whole(), i64::from(u32::MAX)).map(drop) };
    let read = snapshot::work(db, &snapshot::select_candidates(S::KIND), ask);
    read.map_err(Error::from).with_context(|| format!("select from {}_candidates", S::KIND))
}
