//! What becomes of stranded work: a wake, and what follows it.

use std::collections::BTreeMap;

use anyhow::Result;
use diesel::QueryResult;

use super::life::{refuse_false_success, refuse_hiding_claim, refuse_living_dead, refuse_strange_ids, refuse_untaken};
use crate::rules::issue::NEEDS_A_PERSON;
use crate::rules::{Escalation, Facts, Kind};
use crate::store::work::wakes;
use crate::store::{Access, Db, Subject, Timeouts, for_kind};
use crate::sweep::Outcome;
use crate::verify::certificate::Finding;
use crate::verify::fixtures::{Block, Event, Made, WORDS};
use crate::verify::trial::{AN_HOUR, JUST_NOW, Trial, name};

/// More attempts than any policy allows by default.
pub const ROUNDS_MAX: u32 = 10;

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
    evidence.extend(refuse_strange_ids(trial, &made)?);
    evidence.extend(refuse_second_sweep(trial, &made)?);
    evidence.extend(refuse_living_dead(trial, kind)?);
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
    let mut evidence: Vec<String> = trial.sweep()?.expect(&made, trial.first_outcome(kind)).err().into_iter().collect();
    if trial.takes_wakes(kind) {
        trial.happens(Event::TakenUp, &made, JUST_NOW)?;
    }
    // A run has begun with the wake; a session goes on as it was.
    if kind == Kind::Session {
        trial.happens(Event::AtWork, &made, JUST_NOW)?;
    }
    evidence.extend(trial.sweep()?.refuse_touched(&made, "its agent is at work again"));
    evidence.extend(refuse_waiting(trial, &made, 0)?);
    evidence.extend(refuse_untaken(trial, &made)?);
    trial.happens(Event::Finished, &made, 0)?;
    evidence.extend(trial.sweep()?.refuse_touched(&made, "it is finished"));
    evidence.extend(refuse_second_sweep(trial, &made)?);
    evidence.extend(refuse_false_success(trial, kind)?);
    Ok(Finding::of(kind.plural(), evidence))
}

/// When no attempt helped, a person is notified where people look, once.
pub fn escalation(trial: &mut Trial, kind: Kind) -> Result<Finding> {
    let made = trial.stranded(kind)?;
    let noted = note(trial, &made)?;
    let continuations = match until_escalated(trial, &made)? {
        Ok(continuations) => continuations,
        Err(why) => return Ok(Finding::Broken(vec![why])),
    };
    let mut evidence: Vec<String> = refuse_unseen(trial, &made)?.into_iter().collect();
    evidence.extend(refuse_overwritten(trial, &made, &noted)?);
    evidence.extend(refuse_waiting(trial, &made, 0)?);
    evidence.extend(refuse_others(trial, &made)?);
    evidence.extend(refuse_second_sweep(trial, &made)?);
    evidence.extend(refuse_hiding_claim(trial, kind)?);
    if kind == Kind::Issue {
        evidence.extend(comment_only(trial)?);
    }
    Ok(Finding::of(format!("{}: after {continuations} in vain", kind.plural()), evidence))
}

/// How often it was continued before it was escalated, or why it was not, or not in time.
fn until_escalated(trial: &mut Trial, made: &Made) -> Result<Result<u32, String>> {
    let mut continuations = 0;
    let escalated = loop {
        let swept = trial.sweep()?;
        match swept.expect(made, Outcome::Continued) {
            Ok(_) if continuations < ROUNDS_MAX => continuations += 1,
            _ => break swept.expect(made, Outcome::Escalated),
        }
        in_vain(trial, &[made])?;
    };
    Ok(match escalated {
        Err(why) => Err(format!("after {continuations} continuations in vain, {why}")),
        Ok(attempts_max) if trial.takes_wakes(made.kind) && attempts_max != continuations => {
            Err(format!("{}: continued {continuations} times, of {attempts_max}", name(made)))
        }
        Ok(_) => Ok(continuations),
    })
}

/// Do people see a text about it, once?
fn refuse_unseen(trial: &mut Trial, made: &Made) -> Result<Option<String>> {
    let block = Block::Of(made.kind, Event::Escalated);
    if !trial.fixtures.has(&block) {
        return Ok(None);
    }
    let shown = trial.ask(Event::Escalated, made)?;
    let is_seen = matches!(shown.as_slice(), [text] if !text.trim().is_empty());
    Ok((!is_seen).then(|| {
        let found = shown.len();
        format!(
            "{}: was escalated, and `-- fixture {block}` finds {found} of it, expected one row with a text",
            name(made)
        )
    }))
}

/// With `comment_only` an issue stays in progress, and people read a comment.
fn comment_only(trial: &mut Trial) -> Result<Vec<String>> {
    trial.escalation = Escalation::CommentOnly;
    let before = comments(trial)?;
    let made = trial.stranded(Kind::Issue)?;
    let noted = note(trial, &made)?;
    let mut evidence: Vec<String> = until_escalated(trial, &made)?.err().into_iter().collect();
    evidence.extend(refuse_overwritten(trial, &made, &noted)?);
    if comments(trial)? <= before {
        evidence.push(format!("{}: was escalated, and no row of the host's has the comment", name(&made)));
    }
    evidence.extend(refuse_second_sweep(trial, &made)?);
    Ok(evidence.into_iter().map(|why| format!("with SWEEP_ESCALATION=comment_only, {why}")).collect())
}

/// How many rows of the host's people read that something needs them.
fn comments(trial: &mut Trial) -> QueryResult<usize> {
    let rows = trial.rows()?;
    let of_host = rows.iter().filter(|(table, _)| !trial.is_of_sweep(table));
    Ok(of_host.flat_map(|(_, rows)| rows.values()).filter(|row| row.contains(NEEDS_A_PERSON)).count())
}

/// In how many rows of each table there is what a person wrote.
type Noted = BTreeMap<String, usize>;

/// Lets a person write about a subject, where the host has a place for that.
fn note(trial: &mut Trial, made: &Made) -> Result<Option<Noted>> {
    let block = Block::Of(made.kind, Event::Noted);
    if !trial.fixtures.has(&block) {
        return Ok(None);
    }
    trial.play(&block, made, AN_HOUR)?;
    Ok(Some(rows_with_words(trial)?))
}

fn rows_with_words(trial: &mut Trial) -> QueryResult<Noted> {
    let count = |rows: BTreeMap<String, String>| rows.values().filter(|row| row.contains(WORDS)).count();
    let noted = trial.rows()?.into_iter().map(|(table, rows)| (table, count(rows)));
    Ok(noted.filter(|(_, rows)| 0 < *rows).collect())
}

/// A person's words stand where they stood. A copy in another table, such as a log of changes, is not where people
/// look.
fn refuse_overwritten(trial: &mut Trial, made: &Made, noted: &Option<Noted>) -> Result<Vec<String>> {
    let Some(noted) = noted else { return Ok(Vec::new()) };
    let left = rows_with_words(trial)?;
    let is_gone = |(table, rows): &(&String, &usize)| left.get(*table).is_none_or(|left| left < *rows);
    let gone = noted.iter().filter(is_gone).map(|(table, _)| format!(" from {table}"));
    let nowhere = noted.is_empty().then(String::new);
    let block = Block::Of(made.kind, Event::Noted);
    Ok(gone
        .chain(nowhere)
        .map(|table| format!("{}: what `-- fixture {block}` wrote is gone{table}", name(made)))
        .collect())
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
