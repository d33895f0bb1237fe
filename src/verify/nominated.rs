//! A view of candidates may name too many subjects, never too few: what the rules would touch or report, and which of
//! it the view does not name. A check makes every combination of what the fixtures make, and asks the rules about each.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Error, Result};
use diesel::QueryResult;

use super::{AN_HOUR, Act, Block, JUST_NOW, Made, Ruling, Trial};
use crate::rules::{Decision, Id, Kind, Policy, Reason, decide};
use crate::store::db::errors;
use crate::store::work::candidates::{Candidate, Part};
use crate::store::{Abort, Access, Db, DbConnection, Subject, Timeouts, for_kind, read_alone, read_together};
use crate::sweep::Outcome;

/// The ledger's newest row about a subject: its action, whether it blocked the subject, and whether it is settled.
const LEDGER: [Option<(&str, bool, bool)>; 6] = [
    None,
    Some(("continue", false, false)),
    Some(("continue", false, true)),
    Some(("escalate", false, false)),
    Some(("escalate", true, false)),
    Some(("abandon", false, false)),
];

/// What was at work on a subject, if anything.
const WORK: [&[Act]; 4] = [&[], &[Act::AtWork], &[Act::AtWork, Act::Stops], &[Act::AtWork, Act::Dies]];
/// What became of a wake of sweep's, if there was one.
const WAKES: [&[Act]; 4] = [&[], &[Act::TakenUp], &[Act::TakenUp, Act::Stops], &[Act::Claimed]];

/// How many are made at once.
const BATCH: usize = 100;

/// What the rules say of some subjects.
#[derive(Debug, Default)]
pub struct Judged {
    /// What they would touch or report, and what would become of it.
    pub touched: BTreeMap<Id, String>,
    /// Facts that cannot be read, and why.
    pub unreadable: BTreeMap<Id, String>,
}

impl Judged {
    /// Reads the facts of many together, as a sweep does when it looks; only what could not be read so, one by one.
    pub fn of<S: Subject>(db: &mut DbConnection, all: &[Id]) -> Result<Judged> {
        let (mut judged, mut known, policy) = (Judged::default(), S::Known::default(), Policy::default());
        for ids in all.chunks(S::LOOK) {
            let together = read_together::<S>(db, ids, &policy, &mut known, &Timeouts::default());
            let mut together = together.unwrap_or_default();
            for id in ids {
                match together.remove(id) {
                    Some(facts) => judged.add(id, Ok(Some(facts)))?,
                    None => judged.add::<S>(id, read_in_transaction(db, id)?)?,
                }
            }
        }
        Ok(judged)
    }

    /// Adds what the rules say of a subject. Fails only with what may pass.
    fn add<S: Subject>(&mut self, id: &Id, facts: QueryResult<Option<S>>) -> Result<()> {
        let unreadable = match facts {
            Ok(Some(facts)) => {
                let decision = decide(&facts, &Policy::default()).decision;
                if is_news(&decision) {
                    self.touched.insert(id.clone(), format!("would be {}: {decision}", Outcome::of(&decision)));
                }
                return Ok(());
            }
            Err(error) if errors::may_pass(&error.to_string()) => {
                return Err(
                    Error::from(error).context(format!("select from {}_facts where subject_id = {id}", S::KIND))
                );
            }
            Ok(None) => format!("{}_facts has no row", S::KIND),
            Err(error) => errors::of_row(S::KIND, &error),
        };
        self.unreadable.insert(id.clone(), unreadable);
        Ok(())
    }

    /// What the view of candidates should name and does not.
    pub fn overlooked(&self, candidates: &[Candidate]) -> BTreeMap<&Id, &str> {
        let named: BTreeSet<&Id> = candidates.iter().map(|candidate| &candidate.id).collect();
        let touched = self.touched.iter().filter(|(id, _)| !named.contains(id));
        touched.map(|(id, would_be)| (id, would_be.as_str())).collect()
    }
}

/// Reads the facts of one subject, in a transaction of its own: an error costs no other subject.
fn read_in_transaction<S: Subject>(db: &mut DbConnection, id: &Id) -> Result<QueryResult<Option<S>>> {
    match db.read_repeatedly(&Timeouts::default(), 1, |db| read_alone(db, id, &Policy::default())) {
        Ok(facts) => Ok(Ok(facts)),
        Err(Abort::RolledBack(error)) => Ok(Err(error)),
        Err(abort) => Err(abort.into()),
    }
}

/// Reads all that the view of candidates names.
pub fn nominated<S: Subject>(db: &mut DbConnection) -> Result<Vec<Candidate>> {
    let all = |db: &mut Db| S::candidates(db, &Part::whole(), i64::MAX);
    let candidates = db.in_transaction(Access::ReadOnly, &Timeouts::default(), all).map_err(Error::from);
    candidates.with_context(|| format!("select from {}_candidates", S::KIND))
}

fn is_news(decision: &Decision) -> bool {
    match decision {
        Decision::Continue { .. }
        | Decision::Escalate(_)
        | Decision::Recovered(_)
        | Decision::HandedOver(_)
        | Decision::Skip(_)
        | Decision::Abandon(_)
        | Decision::Wait { .. } => true,
        Decision::Leave(reason) => matches!(reason, Reason::StuckWake(_)),
    }
}

/// One combination, and how it came about.
struct Case {
    made: Made,
    blocks: Vec<Block>,
    ledger: Option<(&'static str, bool, bool)>,
    minutes: i64,
    is_woken: bool,
}

/// The candidates name all that the rules would touch.
pub fn candidates(trial: &mut Trial, kind: Kind) -> Result<Ruling> {
    let cases = cases(trial, kind);
    make(trial, &cases)?;
    trial.outsider.analyze()?;
    let ids: Vec<Id> = cases.iter().map(|case| case.made.id.clone()).collect();
    let mut db = trial.sandbox.url.connect(Access::ReadOnly)?;
    let (judged, named) = for_kind!(kind, S => (Judged::of::<S>(&mut db, &ids)?, nominated::<S>(&mut db)?));
    let case = |id: &Id| cases.iter().find(|case| case.made.id == *id).map_or(id.to_string(), described);
    let unreadable = judged.unreadable.iter().map(|(id, why)| format!("{}: {why}", case(id)));
    let overlooked = judged.overlooked(&named).into_iter();
    let overlooked = overlooked.map(|(id, why)| format!("{kind}_candidates does not name {}, which {why}", case(id)));
    let mut seen = BTreeSet::new();
    let twice = named.iter().filter(|candidate| !seen.insert(&candidate.id));
    let twice = twice.map(|candidate| format!("{kind}_candidates names {} twice", case(&candidate.id)));
    let evidence = unreadable.chain(overlooked).chain(twice).collect();
    Ok(Ruling::by_evidence(format!("{} {}", cases.len(), kind.plural()), evidence))
}

fn cases(trial: &mut Trial, kind: Kind) -> Vec<Case> {
    let changes = trial.fixtures.those(|block| match block {
        Block::AgentPaused => true,
        Block::Left(of, _) | Block::Also(of, _) => *of == kind,
        Block::Of(of, event) => *of == kind && *event == Act::Finished,
        Block::Agent | Block::Stranded(_) => false,
    });
    let changes: Vec<Option<Block>> = [None].into_iter().chain(changes.into_iter().map(Some)).collect();
    let blocks = |events: &[Act], change: &Option<Block>| -> Vec<Block> {
        events.iter().map(|event| Block::Of(kind, *event)).chain(change.clone()).collect()
    };
    // What is optional is not in all fixtures.
    let has = |events: &&&[Act]| events.iter().all(|event| trial.fixtures.has(&Block::Of(kind, *event)));
    let (works, woken): (Vec<_>, Vec<_>) = (WORK.iter().filter(has).collect(), WAKES.iter().filter(has).collect());
    let mut cases = Vec::new();
    for change in &changes {
        for (work, ledger) in works.iter().flat_map(|work| LEDGER.map(|ledger| (work, ledger))) {
            for minutes in [AN_HOUR, 0] {
                let made = trial.unmade(kind);
                cases.push(Case { made, blocks: blocks(work, change), ledger, minutes, is_woken: false });
            }
        }
        // Whatever else is there, a wake hides its subject for a minute.
        let is_of_no_matter = matches!(change, Some(Block::Also(..)));
        let wakes = if trial.takes_wakes(kind) && !is_of_no_matter { &woken[..] } else { &[] };
        for (wake, ledger) in wakes.iter().flat_map(|wake| LEDGER.map(|ledger| (wake, ledger))) {
            let made = trial.unmade(kind);
            cases.push(Case { made, blocks: blocks(wake, change), ledger, minutes: AN_HOUR, is_woken: true });
        }
    }
    cases
}

/// Makes the cases. Those that get a wake get it from a sweep, before anything else is there.
fn make(trial: &mut Trial, cases: &[Case]) -> Result<()> {
    let (woken, others): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.is_woken);
    let begin = |trial: &mut Trial, case: &Case| {
        let blocks = [Block::Agent, Block::Stranded(case.made.kind)];
        blocks.iter().map(|block| trial.sql(block, &case.made, case.minutes)).collect::<Result<Vec<_>>>()
    };
    run(trial, &woken, begin)?;
    trial.sweep()?;
    run(trial, &others, begin)?;
    run(trial, cases.iter().collect::<Vec<_>>().as_slice(), |trial, case| {
        let ledger = trial.outsider.ledger_row(case.made.kind, &case.made.id, case.ledger);
        let blocks = case.blocks.iter().map(|block| trial.sql(block, &case.made, JUST_NOW));
        blocks.chain([Ok(ledger)]).collect()
    })
}

fn run(
    trial: &mut Trial,
    cases: &[&Case],
    mut sql: impl FnMut(&mut Trial, &Case) -> Result<Vec<String>>,
) -> Result<()> {
    for batch in cases.chunks(BATCH) {
        let statements = batch.iter().map(|case| sql(trial, case)).collect::<Result<Vec<_>>>()?.concat();
        trial.outsider.run(&statements.join("\n")).context("making every combination of what the fixtures make")?;
    }
    Ok(())
}

fn described(case: &Case) -> String {
    let Case { made, blocks, ledger, minutes, is_woken } = case;
    let blocks: Vec<String> = blocks.iter().map(|block| format!("`{block}`")).collect();
    let woken = if *is_woken { "woken by sweep, " } else { "" };
    let ledger = match ledger {
        None => "nothing in the ledger".to_owned(),
        Some((action, blocked, settled)) => {
            let blocked = if *blocked { ", which blocked it" } else { "" };
            format!("the ledger says {action}{blocked}{}", if *settled { ", settled" } else { "" })
        }
    };
    let blocks = if blocks.is_empty() { "nothing else".to_owned() } else { blocks.join(", ") };
    format!("{} ({woken}idle for {minutes} minutes, then {blocks}; {ledger})", made.id)
}
