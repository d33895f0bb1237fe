//! What the views cost beside much that is finished, with hundreds that are stranded and hundreds that are queued.

use std::cmp::Reverse;
use std::iter;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use diesel::QueryResult;

use super::growth::growth;
use crate::rules::{Id, Kind};
use crate::store::connect::snapshot::{self, count_rows};
use crate::store::work::candidates::Part;
use crate::store::{Access, Db, Subject, Timeouts, for_kind};
use crate::text::cut;
use crate::verify::{AN_HOUR, Act, Block, JUST_NOW, Made, Ruling, Trial};

/// How many subjects are stranded beside the finished ones, and for how many a wake of the host's waits.
const STRANDED: usize = 300;
const QUEUED: usize = 300;
/// The number of subjects that are made at once, and of those whose facts are read one by one.
const BATCH: usize = 100;
const ALONE: usize = 20;

/// Characters of a statement that is named.
const STATEMENT_MAX: usize = 100;

/// A view may name too many, but not those that are finished.
const SURPLUS_MAX: usize = 100;

/// A sweep asks for the candidates once, for the facts of all of them in a few statements, and once more for those of
/// each that it takes up.
const CANDIDATES_MAX: Duration = Duration::from_secs(2);
const FACTS_MAX: Duration = Duration::from_secs(10);
const FACTS_OF_ONE_MAX: Duration = Duration::from_millis(100);

/// A statement that was measured.
struct Measured {
    /// What the statement asks for.
    what: String,
    sql: String,
    took: Duration,
    most: Duration,
}

/// What was measured, and what is too slow.
pub fn cost(trial: &mut Trial, kind: Kind, count: u32) -> Result<Ruling> {
    let Some(crowd) = trial.block(kind, Act::Crowd) else {
        return Ok(Ruling::not_tried(format!("there is no `-- fixture {kind}: crowd`"), Vec::new()));
    };
    let agent = trial.unmade(kind);
    trial.play(&Block::Agent, &agent, AN_HOUR)?;
    let sql = trial.sql_for(&crowd, &agent, AN_HOUR, count)?;
    let before = count_rows(&mut trial.outsider.db)?;
    trial.outsider.run(&sql).with_context(|| format!("`-- fixture {crowd}`"))?;
    let grown = count_rows(&mut trial.outsider.db)? - before;
    if grown < i64::from(count) {
        return Ok(Ruling::by_evidence(
            "",
            vec![format!("`-- fixture {crowd}` made {grown} rows, expected at least {count}")],
        ));
    }
    let stranded = many(trial, kind, STRANDED, None)?;
    let queued = trial.block(kind, Act::Queued);
    let waits = queued.map_or(Ok(Vec::new()), |queued| many(trial, kind, QUEUED, Some(&queued)))?;
    trial.outsider.analyze()?;
    let ids: Vec<Id> = stranded.into_iter().chain(waits).map(|made| made.id).collect();
    let (nominated, measured) = for_kind!(kind, S => measure::<S>(trial, &ids))?;
    let times: Vec<String> = measured.iter().map(|measured| in_milliseconds(measured.took)).collect();
    let mut slow: Vec<Measured> = measured.into_iter().filter(|measured| measured.most < measured.took).collect();
    slow.sort_by_key(|measured| Reverse(measured.took));
    let mut evidence = Vec::new();
    for Measured { what, sql, took, most } in &slow {
        evidence.push(format!(
            "{what} took {}, expected at most {most:?}: {}",
            in_milliseconds(*took),
            statement_and_plan(trial, sql)
        ));
    }
    if !(STRANDED..=ids.len() + SURPLUS_MAX).contains(&nominated) {
        evidence.push(format!(
            "{kind}_candidates names {nominated}, of {STRANDED} that are stranded, {} that are queued and {count} that \
             are finished",
            ids.len() - STRANDED
        ));
    }
    // What is slow already would take long beside ten times as many.
    if evidence.is_empty() {
        evidence = growth(trial, kind, STRANDED, count)?;
    }
    Ok(Ruling::by_evidence(format!("{}: {}", kind.plural(), times.join(", ")), evidence))
}

/// Names a statement, and its dearest steps.
pub(super) fn statement_and_plan(trial: &Trial, sql: &str) -> String {
    let steps = trial.ask_of_host(|db| snapshot::slow_steps(db, sql));
    let plan = steps.map_or_else(|error| format!("unknown: {error:#}"), |steps| steps.join("; "));
    format!("`{}`, where the time goes: {plan}", cut(sql, STATEMENT_MAX))
}

/// Stranded for an hour, each of an agent of its own; and then this happened to each.
pub(super) fn many(trial: &mut Trial, kind: Kind, count: usize, then: Option<&Block>) -> Result<Vec<Made>> {
    let all: Vec<Made> = (0..count).map(|_| trial.unmade(kind)).collect();
    for batch in all.chunks(BATCH) {
        let mut statements = String::new();
        for made in batch {
            for block in [Block::Agent, Block::Stranded(kind)] {
                statements += &(trial.sql(&block, made, AN_HOUR)? + "\n");
            }
            if let Some(block) = then {
                statements += &(trial.sql(block, made, JUST_NOW)? + "\n");
            }
        }
        trial.outsider.run(&statements).context("making hundreds of what the fixtures make")?;
    }
    Ok(all)
}

/// How many are nominated, and how long each statement takes; of the facts of all only if those of one are cheap.
fn measure<S: Subject>(trial: &Trial, ids: &[Id]) -> Result<(usize, Vec<Measured>)> {
    let kind = S::KIND;
    let measured = |what: String, sql: String, took: Duration, most: Duration| Measured { what, sql, took, most };
    let timeouts = Timeouts { statement: chrono::TimeDelta::minutes(5), ..Timeouts::default() };
    let mut db = trial.sandbox.url.connect(Access::ReadOnly)?;
    let nominate = |db: &mut Db| timed(|| S::candidates(db, &Part::whole(), i64::from(u32::MAX)));
    let nominated = db.in_transaction(Access::ReadOnly, &timeouts, nominate).map_err(Error::from);
    let (nominated, took) = nominated.with_context(|| format!("select from {kind}_candidates"))?;
    let select = snapshot::select_candidates(kind);
    let candidates = measured(format!("{kind}_candidates"), select, took, CANDIDATES_MAX);
    // Plans the facts once for all subjects, as a sweep of many does.
    db.repeats(true);
    let facts = db.read_repeatedly(&timeouts, 0, |db| {
        let alone = alone::<S>(db, ids)?;
        let of_one = snapshot::select_facts(kind, &ids[..1]);
        let mut all = vec![measured(format!("{kind}_facts of one"), of_one, alone, FACTS_OF_ONE_MAX)];
        if alone <= FACTS_OF_ONE_MAX {
            let (_, took) = timed(|| ids.chunks(S::LOOK).try_for_each(|ids| S::read_all(db, ids).map(drop)))?;
            let of_all = snapshot::select_facts(kind, ids);
            all.push(measured(format!("{kind}_facts of {}", ids.len()), of_all, took, FACTS_MAX));
        }
        Ok::<_, diesel::result::Error>(all)
    });
    let facts = facts.map_err(Error::from).with_context(|| format!("select from {kind}_facts"))?;
    Ok((nominated.len(), iter::once(candidates).chain(facts).collect()))
}

/// How long the facts of one subject take, of the first and of the last, which are of both sorts. The least time of
/// each sort counts, since other programs and the first plan only add to it.
fn alone<S: Subject>(db: &mut Db, ids: &[Id]) -> QueryResult<Duration> {
    let sorts = [&ids[..ALONE.min(ids.len())], &ids[ids.len().saturating_sub(ALONE)..]];
    let mut alone = Duration::ZERO;
    for sort in sorts {
        let times = sort.iter().map(|id| timed(|| S::read(db, id)).map(|(_, took)| took));
        let times = times.collect::<QueryResult<Vec<Duration>>>()?;
        alone = times.into_iter().min().unwrap_or_default().max(alone);
    }
    Ok(alone)
}

fn timed<T>(body: impl FnOnce() -> QueryResult<T>) -> QueryResult<(T, Duration)> {
    let began = Instant::now();
    let value = body()?;
    Ok((value, began.elapsed()))
}

fn in_milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
