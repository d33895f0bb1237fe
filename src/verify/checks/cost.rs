//! What the views cost when there is much that is finished.

use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};

use crate::rules::Kind;
use crate::store::candidates::Part;
use crate::store::{Access, Db, Nominated, Subject, Timeouts, for_kind};
use crate::verify::certificate::Finding;
use crate::verify::fixtures::{Block, Event};
use crate::verify::trial::{AN_HOUR, Trial};

/// So many are stranded beside them.
const STRANDED: usize = 20;

/// A view may name too many, but not those that are finished.
const SURPLUS_MAX: usize = 100;

/// A sweep asks the first once, and the other for each subject.
const CANDIDATES_MAX: Duration = Duration::from_secs(2);
const FACTS_MAX: Duration = Duration::from_millis(100);

/// What was measured, and what is too slow.
pub fn cost(trial: &mut Trial, kind: Kind, count: u32) -> Result<Finding> {
    let crowd = Block::Of(kind, Event::Crowd);
    if !trial.fixtures.has(&crowd) {
        return Ok(Finding::NotTried(format!("there is no `-- fixture {crowd}`"), Vec::new()));
    }
    let agent = trial.unmade(kind);
    trial.play(&Block::Agent, &agent, AN_HOUR)?;
    let sql = trial.sql_for(&crowd, &agent, AN_HOUR, count)?;
    let before = trial.outsider.count_rows()?;
    trial.outsider.run(&sql).with_context(|| format!("`-- fixture {crowd}`"))?;
    let grown = trial.outsider.count_rows()? - before;
    if grown < i64::from(count) {
        return Ok(Finding::Broken(vec![format!("`-- fixture {crowd}` made {grown} rows, expected at least {count}")]));
    }
    let stranded = (0..STRANDED).map(|_| trial.stranded(kind)).collect::<Result<Vec<_>>>()?;
    trial.outsider.analyze()?;
    let mut db = trial.connect(Access::ReadOnly)?;
    let ids = stranded.iter().map(|made| &made.id);
    let (nominated, candidates, facts) = for_kind!(kind, S => {
        let timed = |db: &mut Db| {
            // The first is planned as well, as in a sweep.
            let read = |id| timed(|| S::read(db, id)).map(|(_, took)| took);
            let facts: Vec<Duration> = ids.map(read).collect::<Result<_, _>>()?;
            let (nominated, candidates) = timed(|| S::candidates(db, &Part::whole(), i64::from(u32::MAX)))?;
            Ok::<_, diesel::result::Error>((nominated.len(), candidates, facts))
        };
        let timeouts = Timeouts { statement: chrono::TimeDelta::minutes(5), ..Timeouts::default() };
        db.in_transaction(Access::ReadOnly, &timeouts, timed).map_err(Error::from)
    })?;
    let median = median(facts);
    let seen = format!("{}: {}, {}", kind.plural(), in_milliseconds(candidates), in_milliseconds(median));
    let mut evidence = Vec::new();
    if CANDIDATES_MAX < candidates {
        evidence.push(format!(
            "{kind}_candidates took {}, expected at most {CANDIDATES_MAX:?}",
            in_milliseconds(candidates)
        ));
    }
    if FACTS_MAX < median {
        evidence.push(format!("{kind}_facts took {} for one, expected at most {FACTS_MAX:?}", in_milliseconds(median)));
    }
    if !(STRANDED..=STRANDED + SURPLUS_MAX).contains(&nominated) {
        evidence.push(format!(
            "{kind}_candidates names {nominated}, of {STRANDED} that are stranded and {count} that are finished"
        ));
    }
    Ok(Finding::of(seen, evidence))
}

fn timed<T>(body: impl FnOnce() -> diesel::QueryResult<T>) -> diesel::QueryResult<(T, Duration)> {
    let began = Instant::now();
    let value = body()?;
    Ok((value, began.elapsed()))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn in_milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
