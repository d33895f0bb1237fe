//! What a sweep does to others: several sweeps at once, a host that is at it at the same moment, and sweeps that are
//! killed; and what is written, and where. Installing changes nothing of the host's, a sweep writes about the subjects
//! that it touches alone, and uninstalling leaves the schema as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use diesel::QueryResult;

use super::story::in_vain;
use crate::rules::{Id, Kind};
use crate::store::connect::sandbox::{Outsider, Sandbox};
use crate::store::connect::snapshot::{self, Rows};
use crate::store::db::dialect::Dialect;
use crate::store::db::errors;
use crate::store::hosts::folders::Host;
use crate::store::hosts::migrate;
use crate::store::{Access, Db, Lock, Subject, Timeouts, for_kind};
use crate::sweep::{self, Cancel, Examined, Options, Outcome};
use crate::verify::{Act, Block, DAYS_AGO, JUST_NOW, Made, Ruling, SweptSubjects, Trial, block_error, name};

/// `sweep` as a process, to be killed.
pub struct Subprocess {
    pub path: PathBuf,
    /// Variables of this process that it must not have.
    pub withheld: Vec<String>,
    /// The folder of the host, unless it is built in.
    pub host_directory: Option<PathBuf>,
}

/// Sweeps at once, and what they compete for.
const SWEEPS: usize = 4;
const SUBJECTS: usize = 24;
/// Workers of each of the sweeps.
const CONNECTIONS: u32 = 2;

/// How long a write of the host's may wait for a sweep's lock, to find out that it does.
const MOMENT: Duration = Duration::from_millis(50);

/// How often a sweep is killed.
const KILLS: u64 = 8;

/// Characters of a row that evidence shows.
const ROW_MAX: usize = 300;

/// Several sweeps at once continue each subject once, and escalate it once.
pub fn rivals(trial: &mut Trial, kind: Kind) -> Result<Ruling> {
    let made = many(trial, kind)?;
    let mut evidence = at_once(trial)?;
    for made in &made {
        evidence.extend(refuse_doubles(trial, made)?);
    }
    if kind == Kind::Issue {
        in_vain(trial, &made.iter().collect::<Vec<_>>())?;
        evidence.extend(at_once(trial)?);
        for made in &made {
            let shown = trial.ask(Act::Escalated, made)?.len();
            if (shown, trial.recorded(made, "escalate")?) != (1, 1) {
                evidence.push(format!("{}: was not escalated once: {shown} rows are shown of it", name(made)));
            }
        }
    }
    Ok(Ruling::by_evidence(format!("{SUBJECTS} {}, {SWEEPS} sweeps", kind.plural()), evidence))
}

fn many(trial: &mut Trial, kind: Kind) -> Result<Vec<Made>> {
    (0..SUBJECTS).map(|_| trial.stranded(kind)).collect()
}

/// Runs several sweeps at once, and says what went wrong.
fn at_once(trial: &mut Trial) -> Result<Vec<String>> {
    let options = Options { connections: CONNECTIONS, ..trial.options() };
    let swept: Vec<SweptSubjects> = thread::scope(|scope| {
        let sweep = || {
            let mut swept = SweptSubjects::default();
            sweep::run(&options, &Cancel::default(), &mut swept)?;
            Ok(swept)
        };
        let sweeps: Vec<_> = (0..SWEEPS).map(|_| scope.spawn(sweep)).collect();
        sweeps.into_iter().map(|sweep| sweep.join().expect("a sweep does not panic")).collect::<Result<_>>()
    })?;
    swept.iter().for_each(|swept| trial.hear_of(swept));
    let failed = swept.iter().flat_map(SweptSubjects::failures);
    Ok(failed
        .map(|Examined { kind, id, reason, .. }| {
            format!("{kind} {id}: failed in one of {SWEEPS} sweeps at once: {reason}")
        })
        .collect())
}

/// Checks that there is one wake and one row of the ledger, whoever was at it.
fn refuse_doubles(trial: &mut Trial, made: &Made) -> Result<Option<String>> {
    let waiting = trial.waiting(made)?;
    let action = if waiting.is_some() { "continue" } else { "escalate" };
    let recorded = trial.recorded(made, action)?;
    let is_once = waiting.is_none_or(|waiting| waiting == 1) && recorded == 1;
    let found = waiting.map_or(String::new(), |waiting| format!("{waiting} wakes and "));
    Ok((!is_once).then(|| format!("{}: has {found}{recorded} rows in the ledger, expected one each", name(made))))
}

/// A write of the host's to what a sweep has in hand waits, and a sweep passes over what the host has in hand.
pub fn locks(trial: &mut Trial, kind: Kind) -> Result<Ruling> {
    let mut evidence = Vec::new();
    let mut db = trial.sandbox.url.connect(Access::Write)?;
    for block in [Block::Of(kind, Act::Finished), Block::AgentPaused] {
        if !trial.fixtures.has(&block) {
            continue;
        }
        let made = trial.stranded(kind)?;
        let sql = trial.sql(&block, &made, 0)?;
        let mut host = trial.sandbox.connect(trial.host)?;
        host.wait_at_most(MOMENT)?;
        let locked = db.in_transaction(Access::Write, &Timeouts::default(), |db| {
            let lock = lock(kind, db, &made)?;
            let wrote = host.begin(&sql);
            host.roll_back();
            QueryResult::Ok((lock, wrote))
        })?;
        match locked {
            (Lock::Nothing, _) => evidence.push(format!("{}: cannot be locked", name(&made))),
            (_, Ok(())) => evidence.push(format!(
                "{}: `-- fixture {block}` did not wait while a sweep had it in hand: the lock does not reach the \
                 host's rows",
                name(&made)
            )),
            (_, Err(error)) if errors::is_contention(&error) || errors::is_lock_timeout(&error) => {}
            (_, Err(error)) => return Err(block_error(&block, &sql, error)),
        }
    }
    // The control: a sweep has such work in hand.
    let control = trial.stranded(kind)?;
    evidence.extend(trial.sweep()?.expect(&control, trial.first_outcome(kind)).err());
    // A writer of SQLite's is waited for: nobody could be passed over.
    if trial.outsider.db.dialect() == Dialect::Postgres {
        evidence.extend(refuse_uncommitted(trial, kind)?);
    }
    Ok(Ruling::by_evidence(kind.plural(), evidence))
}

fn lock(kind: Kind, db: &mut Db, made: &Made) -> QueryResult<Lock> {
    for_kind!(kind, S => S::take(db, &made.id).map(|(lock, _)| lock))
}

/// Checks what a sweep does about a subject that the host finishes and has not committed yet.
fn refuse_uncommitted(trial: &mut Trial, kind: Kind) -> Result<Vec<String>> {
    let made = trial.stranded(kind)?;
    let sql = trial.sql(&Block::Of(kind, Act::Finished), &made, 0)?;
    let mut host = trial.sandbox.connect(trial.host)?;
    host.begin(&sql)?;
    let during = trial.sweep();
    host.commit()?;
    let mut evidence: Vec<String> = during?.expect(&made, Outcome::Busy).err().into_iter().collect();
    evidence.extend(trial.sweep()?.refuse_touched(&made, "the host finished it"));
    Ok(evidence)
}

/// Whenever a sweep is killed, nothing is half done, and the next one does the rest.
pub fn kills(trial: &mut Trial, kind: Kind, program: &Subprocess) -> Result<Ruling> {
    let made = many(trial, kind)?;
    for round in 0..KILLS {
        let mut command = Command::new(&program.path);
        for name in &program.withheld {
            command.env_remove(name);
        }
        command.envs(program.host_directory.iter().map(|directory| ("SWEEP_HOST_DIR", directory)));
        command.args(["--no-guard", "--quiet", "--set", "wakes_per_agent_max=1000000"]);
        command.args(["--set", &format!("connections={CONNECTIONS}")]);
        command
            .env("DATABASE_URL", trial.sandbox.url_text())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut sweep = command.spawn().with_context(|| format!("starting {}", program.path.display()))?;
        // Some die before they begin, some in the middle, some have done all.
        thread::sleep(Duration::from_millis(15 + 20 * round));
        let _ = sweep.kill();
        sweep.wait().context("waiting for a sweep that was killed")?;
    }
    trial.sweep()?;
    let mut evidence = Vec::new();
    for made in &made {
        evidence.extend(refuse_doubles(trial, made)?);
    }
    Ok(Ruling::by_evidence(format!("{SUBJECTS} {}, {KILLS} kills", kind.plural()), evidence))
}

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
        .map(|(table, row)| format!("a dry run changed {table}: {}", cut(&row)))
        .collect();
    evidence.extend(trial.sweep()?.expect(&touched[1], trial.first_outcome(kind)).err());
    let after = trial.rows()?;
    let declared = trial.host.tables();
    for (table, row) in changes(&before, &after).into_iter().filter(|(table, _)| !trial.is_of_sweep(table)) {
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
    trial.happens(Act::AtWork, &at_work, JUST_NOW)?;
    trial.happens(Act::Finished, &finished, JUST_NOW)?;
    let old = trial.stranded_since(touched.kind, DAYS_AGO)?;
    trial.happens(Act::AtWork, &old, DAYS_AGO)?;
    trial.happens(Act::Finished, &old, DAYS_AGO)?;
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

/// The tables and the rows that are not as they were, or were not there.
fn changes(before: &Rows, after: &Rows) -> Vec<(String, String)> {
    let of_table = |(table, rows): (&String, &BTreeMap<String, String>)| {
        let known = before.get(table);
        let new = rows.iter().filter(|(key, row)| known.and_then(|known| known.get(*key)) != Some(row));
        new.map(|(_, row)| (table.clone(), row.clone())).collect::<Vec<_>>()
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
