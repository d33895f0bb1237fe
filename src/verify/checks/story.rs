//! What becomes of stranded work: a wake, and what follows it.

use anyhow::Result;
use diesel::QueryResult;

use crate::rules::{Facts, Kind};
use crate::store::{Access, Db, Subject, Timeouts, for_kind, wakes};
use crate::sweep::Outcome;
use crate::verify::certificate::Finding;
use crate::verify::fixtures::{Block, Event, Made};
use crate::verify::trial::{JUST_NOW, Trial, name};

/// More attempts than any policy allows by default.
const ROUNDS_MAX: u32 = 10;

/// Stranded work gets one wake in the host's own queue, and a second sweep does nothing.
pub fn continuation(trial: &mut Trial, kind: Kind) -> Result<Finding> {
    // There are others as well, who must not be woken.
    let other = trial.stranded(kind)?;
    trial.happens(Event::Finished, &other, JUST_NOW)?;
    let made = trial.stranded(kind)?;
    let before = trial.waiting(&made)?;
    let mut evidence: Vec<String> = trial.sweep()?.expect(&made, trial.first_outcome(kind)).err().into_iter().collect();
    evidence.extend(refuse_waiting(trial, &made, before.unwrap_or_default() + 1)?);
    evidence.extend(refuse_others(trial, &made)?);
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
    evidence.extend(refuse_others(trial, &made)?);
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
    left.extend(touched_a_moment_ago(trial, kind)?);
    // The control: without them it is not left.
    let control = trial.stranded(kind)?;
    let swept = trial.sweep()?;
    let mut evidence: Vec<String> = left.iter().filter_map(|(made, why)| swept.refuse_touched(made, why)).collect();
    evidence.extend(swept.expect(&control, trial.first_outcome(kind)).err());
    Ok(Finding::of(format!("{}: {} states", kind.plural(), left.len()), evidence))
}

/// It is too early to call these stranded: one that was made a moment ago, and an issue whose run has just ended.
fn touched_a_moment_ago(trial: &mut Trial, kind: Kind) -> Result<Vec<(Made, String)>> {
    let new = trial.unmade(kind);
    trial.play(&Block::Agent, &new, 0)?;
    trial.play(&Block::Stranded(kind), &new, 0)?;
    let mut early = vec![(new, format!("`-- fixture {kind}`: it was made a moment ago"))];
    if kind == Kind::Issue {
        let ended = trial.stranded(kind)?;
        trial.happens(Event::AtWork, &ended, JUST_NOW)?;
        trial.happens(Event::Stops, &ended, 0)?;
        early.push((ended, format!("`-- fixture {kind}: stops`: it stopped a moment ago")));
    }
    Ok(early)
}

/// Was only its own agent woken, and has that agent the work still?
fn refuse_others(trial: &mut Trial, made: &Made) -> Result<Vec<String>> {
    let (kind, id) = (made.kind, &made.id);
    let mut db = trial.connect(Access::ReadOnly)?;
    let look = |db: &mut Db| {
        let assignee = for_kind!(kind, S => S::read(db, id)?.and_then(|facts| facts.assignee().existing_id().cloned()));
        let woken = if kind == Kind::Session { Vec::new() } else { wakes::agents_woken(db, kind, id)? };
        QueryResult::Ok((assignee, woken))
    };
    let (assignee, woken) = db.in_transaction(Access::ReadOnly, &Timeouts::default(), look)?;
    let mut evidence = Vec::new();
    if assignee.as_ref() != Some(&made.agent) {
        let now = assignee.map_or("nobody's".to_owned(), |agent| format!("agent {agent}'s"));
        evidence.push(format!("{}: was agent {}'s, and is {now} now", name(made), made.agent));
    }
    let others = woken.iter().filter(|agent| **agent != made.agent);
    evidence.extend(others.map(|agent| format!("{}: agent {agent} was woken for it, which is another's", name(made))));
    Ok(evidence)
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
