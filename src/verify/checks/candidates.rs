//! Every combination of what the fixtures make is made; the rules are asked about each, and the view of candidates must
//! have named all that they would touch.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use crate::rules::{Id, Kind};
use crate::store::{Access, for_kind};
use crate::verify::certificate::Ruling;
use crate::verify::fixtures::{Block, Event, Made};
use crate::verify::nominated::{self, Judged};
use crate::verify::trial::{AN_HOUR, JUST_NOW, Trial};

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
const WORK: [&[Event]; 4] = [&[], &[Event::AtWork], &[Event::AtWork, Event::Stops], &[Event::AtWork, Event::Dies]];
/// What became of a wake of sweep's, if there was one.
const WAKES: [&[Event]; 4] = [&[], &[Event::TakenUp], &[Event::TakenUp, Event::Stops], &[Event::Claimed]];

/// How many are made at once.
const BATCH: usize = 100;

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
    let (judged, named) = for_kind!(kind, S => (Judged::of::<S>(&mut db, &ids)?, nominated::candidates::<S>(&mut db)?));
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
        Block::Of(of, event) => *of == kind && *event == Event::Finished,
        Block::Agent | Block::Stranded(_) => false,
    });
    let changes: Vec<Option<Block>> = [None].into_iter().chain(changes.into_iter().map(Some)).collect();
    let blocks = |events: &[Event], change: &Option<Block>| -> Vec<Block> {
        events.iter().map(|event| Block::Of(kind, *event)).chain(change.clone()).collect()
    };
    // What is optional is not in all fixtures.
    let has = |events: &&&[Event]| events.iter().all(|event| trial.fixtures.has(&Block::Of(kind, *event)));
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
