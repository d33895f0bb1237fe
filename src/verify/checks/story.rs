//! What becomes of stranded work: a wake, and what follows it.

use anyhow::Result;

use crate::rules::Kind;
use crate::sweep::Outcome;
use crate::verify::certificate::Finding;
use crate::verify::fixtures::{Block, Event, Made};
use crate::verify::trial::{JUST_NOW, Trial, name};

/// More attempts than any policy allows by default.
const ROUNDS_MAX: u32 = 10;

/// Stranded work gets one wake in the host's own queue, and a second sweep does nothing.
pub fn continuation(trial: &mut Trial, kind: Kind) -> Result<Finding> {
    let made = trial.stranded(kind)?;
    let before = trial.waiting(&made)?;
    let mut evidence: Vec<String> = trial.sweep()?.expect(&made, trial.first_outcome(kind)).err().into_iter().collect();
    evidence.extend(refuse_waiting(trial, &made, before.unwrap_or_default() + 1)?);
    evidence.extend(refuse_second_sweep(trial, &made)?);
    let seen = match (kind, before) {
        (_, None) => "a person at once",
        (Kind::Session, Some(_)) => "1 command",
        (Kind::Issue | Kind::Step, Some(_)) => "1 wake",
    };
    Ok(Finding::of(format!("{}: {seen}", kind.plural()), evidence))
}

/// Work that goes on after a wake is left alone, and so is what is finished.
pub fn recovery(trial: &mut Trial, kind: Kind) -> Result<Finding> {
    let made = trial.stranded(kind)?;
    trial.sweep()?;
    if trial.takes_wakes(kind) {
        trial.happens(Event::TakenUp, &made, JUST_NOW)?;
    }
    // A run has begun with the wake; a session goes on as it was.
    if kind == Kind::Session {
        trial.happens(Event::AtWork, &made, JUST_NOW)?;
    }
    let mut evidence = Vec::new();
    evidence.extend(trial.sweep()?.refuse_touched(&made, "its agent is at work again"));
    evidence.extend(refuse_waiting(trial, &made, 0)?);
    trial.happens(Event::Finished, &made, 0)?;
    evidence.extend(trial.sweep()?.refuse_touched(&made, "it is finished"));
    evidence.extend(refuse_second_sweep(trial, &made)?);
    Ok(Finding::of(kind.plural(), evidence))
}

/// When no attempt helped, a person is notified where people look, once.
pub fn escalation(trial: &mut Trial, kind: Kind) -> Result<Finding> {
    let made = trial.stranded(kind)?;
    let (mut evidence, mut continuations) = (Vec::new(), 0);
    let attempts_max = loop {
        let swept = trial.sweep()?;
        match swept.expect(&made, Outcome::Continued) {
            Ok(_) if continuations < ROUNDS_MAX => continuations += 1,
            _ => break swept.expect(&made, Outcome::Escalated),
        }
        in_vain(trial, &[&made])?;
    };
    match attempts_max {
        Err(why) => return Ok(Finding::Broken(vec![format!("after {continuations} continuations in vain, {why}")])),
        Ok(attempts_max) if trial.takes_wakes(kind) && attempts_max != continuations => {
            evidence.push(format!("{}: continued {continuations} times, of {attempts_max}", name(&made)));
        }
        Ok(_) => {}
    }
    if trial.fixtures.has(&Block::Of(kind, Event::Escalated)) && trial.ask(Event::Escalated, &made)?.len() != 1 {
        let shown = trial.ask(Event::Escalated, &made)?;
        evidence.push(format!(
            "{}: was escalated, and `-- fixture {kind}: escalated` finds {} of it, expected one row",
            name(&made),
            shown.len()
        ));
    }
    evidence.extend(refuse_waiting(trial, &made, 0)?);
    evidence.extend(refuse_second_sweep(trial, &made)?);
    Ok(Finding::of(format!("{}: after {continuations} in vain", kind.plural()), evidence))
}

/// The host takes the wakes up, and what they began ends and leaves the subjects stranded; half an hour goes by.
pub fn in_vain(trial: &mut Trial, all: &[&Made]) -> Result<()> {
    for made in all {
        trial.happens(Event::TakenUp, made, 25)?;
        // A session that was nudged in vain has not moved.
        if made.kind != Kind::Session {
            trial.happens(Event::Stops, made, 20)?;
        }
    }
    Ok(trial.outsider.age_the_ledger(30)?)
}

/// What is at work, waits, is finished or must not be woken is left alone.
pub fn patience(trial: &mut Trial, kind: Kind) -> Result<Finding> {
    let states = trial.fixtures.those(|block| match block {
        Block::AgentPaused => true,
        Block::Left(of, _) => *of == kind,
        Block::Of(of, event) => *of == kind && matches!(event, Event::AtWork | Event::Finished),
        _ => false,
    });
    let mut left = Vec::new();
    for block in states {
        let made = trial.stranded(kind)?;
        trial.play(&block, &made, JUST_NOW)?;
        left.push((made, format!("`-- fixture {block}`: it must be left alone")));
    }
    // The control: without them it is not left.
    let control = trial.stranded(kind)?;
    let swept = trial.sweep()?;
    let mut evidence: Vec<String> = left.iter().filter_map(|(made, why)| swept.refuse_touched(made, why)).collect();
    evidence.extend(swept.expect(&control, trial.first_outcome(kind)).err());
    Ok(Finding::of(format!("{}: {} states", kind.plural(), left.len()), evidence))
}

/// Is that how many wakes wait?
fn refuse_waiting(trial: &mut Trial, made: &Made, expected: i64) -> Result<Option<String>> {
    let waiting = trial.waiting(made)?;
    Ok(waiting.filter(|waiting| *waiting != expected).map(|waiting| {
        let kind = made.kind;
        format!("{}: `-- fixture {kind}: wakes` finds {waiting}, expected {expected}", name(made))
    }))
}

/// Nothing happened in between: nothing may change.
fn refuse_second_sweep(trial: &mut Trial, made: &Made) -> Result<Vec<String>> {
    let before = trial.rows()?;
    let swept = trial.sweep()?;
    let after = trial.rows()?;
    let changed: Vec<&String> = after.keys().filter(|table| before.get(*table) != after.get(*table)).collect();
    let mut evidence: Vec<String> =
        swept.refuse_touched(made, "nothing has changed since the last sweep").into_iter().collect();
    if !changed.is_empty() {
        evidence.push(format!("{}: a second sweep changed {changed:?}", name(made)));
    }
    Ok(evidence)
}
