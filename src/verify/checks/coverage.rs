//! What the fixtures leave untried: blocks that are not there, and values that the tables allow and no block makes.

use anyhow::Result;
use diesel::QueryResult;
use strum::VariantArray;

use super::story::{ROUNDS_MAX, in_vain};
use crate::rules::Kind;
use crate::store::connect::snapshot::{ColumnValues, held_values};
use crate::sweep::Outcome;
use crate::verify::{AN_HOUR, Act, Block, Fixtures, JUST_NOW, Ruling, Trial};

/// How a part of a column's name begins by which a worker shows that it lives.
const SIGNS_OF_LIFE: [&str; 5] = ["heartbeat", "lease", "seen", "alive", "ping"];
/// How such a part begins, or a value, that says that a wake was taken.
const CLAIM: &str = "claim";

/// Plays every block, and says which blocks and values there are not.
pub fn coverage(trial: &mut Trial) -> Result<Ruling> {
    let columns = trial.listed_values()?;
    let mut lines = absent(trial.fixtures, &trial.host.kinds(), &columns);
    let listed = columns.into_iter().filter(|(_, values)| !values.is_empty()).collect();
    let mut seen = ValuesSeen { listed, held: ColumnValues::new() };
    for kind in trial.host.kinds() {
        play_a_life(trial, kind, &mut seen)?;
        play_each_block(trial, kind, &mut seen)?;
    }
    let (mut all, mut untried) = (0, 0);
    for (at @ (table, column), listed) in &seen.listed {
        let left: Vec<&str> = listed.difference(seen.held.entry(at.clone()).or_default()).map(String::as_str).collect();
        (all, untried) = (all + listed.len(), untried + left.len());
        if !left.is_empty() {
            lines.push(format!("no block makes {table}.{column}: {}", left.join(", ")));
        }
    }
    let tried = format!("{} of {all} values", all - untried);
    Ok(if lines.is_empty() { Ruling::by_evidence(tried, lines) } else { Ruling::not_tried(tried, lines) })
}

/// The values of the columns for which the schema lists them, and those that stood there at some time.
struct ValuesSeen {
    listed: ColumnValues,
    held: ColumnValues,
}

impl ValuesSeen {
    fn remember_held(&mut self, trial: &mut Trial) -> QueryResult<()> {
        for (at, values) in held_values(&mut trial.outsider.db, &self.listed)? {
            self.held.entry(at).or_default().extend(values);
        }
        Ok(())
    }
}

/// From being stranded to being escalated.
fn play_a_life(trial: &mut Trial, kind: Kind, seen: &mut ValuesSeen) -> Result<()> {
    let made = trial.stranded(kind)?;
    seen.remember_held(trial)?;
    for _ in 0..=ROUNDS_MAX {
        let swept = trial.sweep()?;
        seen.remember_held(trial)?;
        if swept.expect(&made, Outcome::Continued).is_err() {
            break;
        }
        trial.happens(Act::TakenUp, &made, JUST_NOW)?;
        seen.remember_held(trial)?;
        in_vain(trial, &[&made])?;
        seen.remember_held(trial)?;
    }
    Ok(())
}

/// What happens to a subject, each to one of its own.
fn play_each_block(trial: &mut Trial, kind: Kind, seen: &mut ValuesSeen) -> Result<()> {
    use Act::{AtWork, Claimed, Dies, Finished, Noted, Queued};
    let blocks = trial.fixtures.those(|block| match block {
        Block::AgentPaused => true,
        Block::Left(of, _) | Block::Also(of, _) => *of == kind,
        Block::Of(of, event) => *of == kind && [AtWork, Claimed, Dies, Finished, Noted, Queued].contains(event),
        Block::Agent | Block::Stranded(_) => false,
    });
    if let Some(crowd) = trial.block(kind, Act::Crowd) {
        let agent = trial.unmade(kind);
        trial.play(&Block::Agent, &agent, AN_HOUR)?;
        let sql = trial.sql_for(&crowd, &agent, AN_HOUR, 1)?;
        trial.outsider.run(&sql)?;
        seen.remember_held(trial)?;
    }
    for block in blocks {
        let made = trial.stranded(kind)?;
        match block {
            Block::Of(_, Claimed) => drop(trial.sweep()?),
            Block::Of(_, Dies | Finished) => trial.happens(AtWork, &made, JUST_NOW)?,
            _ => {}
        }
        seen.remember_held(trial)?;
        trial.play(&block, &made, JUST_NOW)?;
        seen.remember_held(trial)?;
    }
    Ok(())
}

/// The blocks that are not there, and why each is missed.
fn absent(fixtures: &Fixtures, kinds: &[Kind], columns: &ColumnValues) -> Vec<String> {
    let begins =
        |name: &str, words: &[&str]| name.split('_').any(|part| words.iter().any(|word| part.starts_with(word)));
    let sign_of_life = columns.keys().find(|(_, column)| begins(column, &SIGNS_OF_LIFE));
    let claim = columns.iter().find(|((_, column), values)| {
        begins(column, &[CLAIM]) || values.iter().any(|value| begins(&value.to_lowercase(), &[CLAIM]))
    });
    let named = |(table, column): &(String, String)| format!(" though {table}.{column} is there,");
    let mut lines = Vec::new();
    let mut miss = |block: Block, because: &str, what: &str| {
        if !fixtures.has(&block) {
            lines.push(format!("no block `-- fixture {block}`,{because} so nobody knows {what}"));
        }
    };
    miss(Block::AgentPaused, "", "whether an agent that is paused is woken");
    for &kind in kinds {
        for &event in Act::VARIANTS {
            let what = match (kind, event) {
                (Kind::Issue, Act::Noted) => "whether an escalation leaves what a person wrote",
                (Kind::Step, Act::Queued) => "whether a wake of the host's own is waited for",
                (Kind::Session, Act::Wakes) => "whether its commands arrive",
                (Kind::Step | Kind::Session, Act::Escalated) => "whether people see an escalation",
                (Kind::Step | Kind::Session, Act::Crowd) => "what much that is finished costs",
                _ => continue,
            };
            miss(Block::Of(kind, event), "", what);
        }
    }
    for &kind in kinds.iter().filter(|kind| **kind != Kind::Session) {
        if let Some(column) = sign_of_life {
            miss(Block::Of(kind, Act::Dies), &named(column), "whether a worker that died counts as one at work");
        }
        if let Some((column, _)) = claim {
            let what = "whether a wake that was taken and never began hides its work for ever";
            miss(Block::Of(kind, Act::Claimed), &named(column), what);
        }
    }
    lines
}
