//! What must be left alone: what is at work, waits, is finished, or must not be woken.

use anyhow::Result;

use crate::rules::Kind;
use crate::verify::certificate::Ruling;
use crate::verify::fixtures::{Block, Event, Made};
use crate::verify::trial::{JUST_NOW, LONG_AGO, Trial};

/// What is left, and why it must be.
type Left = Vec<(Made, String)>;

/// Checks that all of it is left alone, in one sweep that continues something else.
pub fn patience(trial: &mut Trial, kind: Kind) -> Result<Ruling> {
    let mut left = in_each_state(trial, kind)?;
    left.extend(at_work_for_long(trial, kind)?);
    left.extend(touched_a_moment_ago(trial, kind)?);
    // The control: what its agent has in hand beside it does not help it.
    let control = trial.stranded(kind)?;
    let other = trial.another_of(&control)?;
    trial.happens(Event::AtWork, &other, JUST_NOW)?;
    left.push((other, "`-- fixture at work`, and its agent has another one that is stranded".to_owned()));
    let swept = trial.sweep()?;
    let mut evidence: Vec<String> = left.iter().filter_map(|(made, why)| swept.refuse_touched(made, why)).collect();
    evidence.extend(swept.expect(&control, trial.first_outcome(kind)).err());
    let untried = if trial.fixtures.has(&Block::AgentPaused) { "" } else { ", none with a paused agent" };
    Ok(Ruling::by_evidence(format!("{}: {} states{untried}", kind.plural(), left.len()), evidence))
}

/// Makes a subject in each state that the fixtures know.
fn in_each_state(trial: &mut Trial, kind: Kind) -> Result<Left> {
    let states = trial.fixtures.those(|block| match block {
        Block::AgentPaused => true,
        Block::Left(of, _) => *of == kind,
        Block::Of(of, event) => *of == kind && matches!(event, Event::AtWork | Event::Queued | Event::Finished),
        _ => false,
    });
    let in_state = |block: Block| {
        let made = trial.stranded(kind)?;
        trial.play(&block, &made, JUST_NOW)?;
        Ok((made, format!("`-- fixture {block}`: it must be left alone")))
    };
    states.into_iter().map(in_state).collect()
}

/// Makes work that has gone on for long: however long it takes, it is healthy.
fn at_work_for_long(trial: &mut Trial, kind: Kind) -> Result<Left> {
    let made = trial.stranded_since(kind, LONG_AGO + 1)?;
    trial.happens(Event::AtWork, &made, LONG_AGO)?;
    // Its work is one long life, with signs of it.
    if kind == Kind::Session {
        trial.happens(Event::AtWork, &made, JUST_NOW)?;
    }
    Ok(vec![(made, format!("`-- fixture {kind}: at work`: it has been at work for {LONG_AGO} minutes, and still is"))])
}

/// Makes what it is too early to call stranded: one that was made a moment ago, and an issue whose run has just ended.
fn touched_a_moment_ago(trial: &mut Trial, kind: Kind) -> Result<Left> {
    let new = trial.stranded_since(kind, 0)?;
    let mut early = vec![(new, format!("`-- fixture {kind}`: it was made a moment ago"))];
    if kind == Kind::Issue {
        let ended = trial.stranded(kind)?;
        trial.happens(Event::AtWork, &ended, JUST_NOW)?;
        trial.happens(Event::Stops, &ended, 0)?;
        early.push((ended, format!("`-- fixture {kind}: stops`: it stopped a moment ago")));
    }
    Ok(early)
}
