//! What becomes of stranded work: a wake, and what follows it; and whether the host says of a worker, a run and a wake
//! what has become of them: one that is dead, failed or taken must not look as if it were not. And what must be left
//! alone: what is at work, waits, is finished, or must not be woken.

use std::collections::BTreeMap;

use anyhow::Result;
use diesel::QueryResult;

use crate::rules::issue::NEEDS_A_PERSON;
use crate::rules::{Decision, Escalation, Facts, Kind, Reason};
use crate::store::connect::snapshot;
use crate::store::work::surroundings;
use crate::store::{Subject, for_kind};
use crate::sweep::Outcome;
use crate::verify::{AN_HOUR, Act, Block, JUST_NOW, LONG_AGO, Made, Ruling, Trial, WORDS, name};

/// More attempts than any policy allows by default.
pub const ROUNDS_MAX: u32 = 10;

/// This many minutes ago is before anything happens to work that was taken, or whose worker died.
const BEFORE: i64 = 2 * LONG_AGO;

/// Stranded work gets one wake in the host's own queue, and a second sweep does nothing.
pub fn continuation(trial: &mut Trial, kind: Kind) -> Result<Ruling> {
    // There are others as well, who must not be woken.
    let other = trial.stranded(kind)?;
    trial.happens(Act::Finished, &other, JUST_NOW)?;
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
    Ok(Ruling::by_evidence(format!("{}: {seen}", kind.plural()), evidence))
}

/// Work that goes on after a wake is left alone, and so is what is finished.
pub fn recovery(trial: &mut Trial, kind: Kind) -> Result<Ruling> {
    let made = trial.stranded(kind)?;
    let mut evidence: Vec<String> = trial.sweep()?.expect(&made, trial.first_outcome(kind)).err().into_iter().collect();
    if trial.takes_wakes(kind) {
        trial.happens(Act::TakenUp, &made, JUST_NOW)?;
    }
    // A run has begun with the wake; a session goes on as it was.
    if kind == Kind::Session {
        trial.happens(Act::AtWork, &made, JUST_NOW)?;
    }
    evidence.extend(trial.sweep()?.refuse_touched(&made, "its agent is at work again"));
    evidence.extend(refuse_waiting(trial, &made, 0)?);
    evidence.extend(refuse_untaken(trial, &made)?);
    trial.happens(Act::Finished, &made, 0)?;
    evidence.extend(trial.sweep()?.refuse_touched(&made, "it is finished"));
    evidence.extend(refuse_second_sweep(trial, &made)?);
    evidence.extend(refuse_false_success(trial, kind)?);
    Ok(Ruling::by_evidence(kind.plural(), evidence))
}

/// When no attempt helped, a person is notified where people look, once.
pub fn escalation(trial: &mut Trial, kind: Kind) -> Result<Ruling> {
    let made = trial.stranded(kind)?;
    let noted = write_note(trial, &made)?;
    let continuations = match until_escalated(trial, &made)? {
        Ok(continuations) => continuations,
        Err(why) => return Ok(Ruling::by_evidence("", vec![why])),
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
    Ok(Ruling::by_evidence(format!("{}: after {continuations} in vain", kind.plural()), evidence))
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
    let Some(block) = trial.block(made.kind, Act::Escalated) else { return Ok(None) };
    let shown = trial.ask(Act::Escalated, made)?;
    let is_seen = matches!(shown.as_slice(), [text] if !text.trim().is_empty());
    Ok((!is_seen).then(|| {
        let found = shown.len();
        format!(
            "{}: was escalated, and `-- fixture {block}` finds {found} of it, expected one row with a text",
            name(made)
        )
    }))
}

/// Checks that with `comment_only` an issue stays in progress, and people read a comment.
fn comment_only(trial: &mut Trial) -> Result<Vec<String>> {
    trial.escalation = Escalation::CommentOnly;
    let before = comments(trial)?;
    let made = trial.stranded(Kind::Issue)?;
    let noted = write_note(trial, &made)?;
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

/// The number of rows of each table that hold what a person wrote.
type Noted = BTreeMap<String, usize>;

/// Lets a person write about a subject, where the host has a place for that.
fn write_note(trial: &mut Trial, made: &Made) -> Result<Option<Noted>> {
    let Some(block) = trial.block(made.kind, Act::Noted) else { return Ok(None) };
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
    let block = Block::Of(made.kind, Act::Noted);
    Ok(gone
        .chain(nowhere)
        .map(|table| format!("{}: what `-- fixture {block}` wrote is gone{table}", name(made)))
        .collect())
}

/// The host takes the wakes up, and what they began ends and leaves the subjects stranded; half an hour goes by.
pub fn in_vain(trial: &mut Trial, all: &[&Made]) -> Result<()> {
    for made in all {
        trial.happens(Act::TakenUp, made, 25)?;
        // A session that was nudged in vain has not moved.
        if made.kind != Kind::Session {
            trial.happens(Act::Stops, made, 20)?;
        }
    }
    Ok(trial.outsider.age_the_ledger(30)?)
}

/// Was only its own agent woken, and has that agent the work still?
fn refuse_others(trial: &mut Trial, made: &Made) -> Result<Vec<String>> {
    let (kind, id) = (made.kind, &made.id);
    let (assignee, woken) = trial.ask_of_host(|db| {
        let assignee = for_kind!(kind, S => S::read(db, id)?.and_then(|facts| facts.assignee().existing_id().cloned()));
        let woken = if kind == Kind::Session { Vec::new() } else { surroundings::agents_woken(db, kind, id)? };
        Ok((assignee, woken))
    })?;
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

/// Work whose worker died is stranded like any other.
fn refuse_living_dead(trial: &mut Trial, kind: Kind) -> Result<Option<String>> {
    let Some(block) = trial.block(kind, Act::Dies) else { return Ok(None) };
    let made = trial.stranded_since(kind, BEFORE)?;
    trial.happens(Act::AtWork, &made, LONG_AGO)?;
    trial.play(&block, &made, AN_HOUR)?;
    let first = trial.first_outcome(kind);
    Ok(trial.sweep()?.expect(&made, first).err().map(|why| format!("`-- fixture {block}`: {why}")))
}

/// A wake that was taken, and of which no run has begun for longer than a wake may wait, is stuck in sight, or its work
/// goes on.
fn refuse_hiding_claim(trial: &mut Trial, kind: Kind) -> Result<Option<String>> {
    let Some(block) = trial.block(kind, Act::Claimed) else { return Ok(None) };
    let made = trial.stranded_since(kind, BEFORE)?;
    let swept = trial.sweep()?;
    trial.play(&block, &made, LONG_AGO)?;
    trial.outsider.age_the_ledger(LONG_AGO)?;
    let not_woken = swept.expect(&made, trial.first_outcome(kind)).err();
    let what = format!("`-- fixture {block}`: the wake was taken {LONG_AGO} minutes ago, and no run has begun");
    Ok(not_woken.or(match trial.decision(&made)? {
        Some(Decision::Continue { .. } | Decision::Escalate(_)) => None,
        Some(Decision::Leave(Reason::StuckWake(_))) => {
            let is_in_sight = trial.ask_of_host(|db| snapshot::is_stuck_in_sight(db, &made.id))?;
            (!is_in_sight).then(|| format!("{}: {what}: untaken_wakes does not name it", name(&made)))
        }
        Some(decision) => Some(format!("{}: {what}, and it would be left alone: {decision}", name(&made))),
        None => Some(format!("{}: {what}, and {kind}_facts has no row", name(&made))),
    }))
}

/// Does the host show a wake that waits by the id that sweep gave it?
fn refuse_strange_ids(trial: &mut Trial, made: &Made) -> Result<Vec<String>> {
    if !trial.takes_wakes(made.kind) {
        return Ok(Vec::new());
    }
    let mut evidence = Vec::new();
    let relations = if made.kind == Kind::Session { &["session_commands"][..] } else { &["wakes", "untaken_wakes"] };
    for relation in relations {
        let unknown = trial.ask_of_host(|db| snapshot::unknown_wakes(db, relation, made.kind, &made.id))?.into_iter();
        evidence
            .extend(unknown.map(|id| format!("{}: {relation} has no row with the id {id} of its wake", name(made))));
    }
    Ok(evidence)
}

/// Does a wake wait no longer that was taken up?
fn refuse_untaken(trial: &mut Trial, made: &Made) -> Result<Vec<String>> {
    if !trial.takes_wakes(made.kind) || made.kind == Kind::Session {
        return Ok(Vec::new());
    }
    let (kind, id) = (made.kind, &made.id);
    // Other hosts tell it in their facts alone.
    let statuses = match trial.host.has_derived_facts() {
        true => trial.ask_of_host(|db| snapshot::statuses_of_waiting(db, kind, id))?,
        false => Vec::new(),
    };
    let statuses = statuses.iter().map(|status| format!("is {status} in wakes: expected claimed or completed"));
    let untaken = trial.ask_of_host(|db| snapshot::untaken(db, kind, id))?;
    let untaken = untaken.iter().map(|_| "is in untaken_wakes".to_owned());
    Ok(statuses.chain(untaken).map(|why| format!("{}: its wake was taken up, and {why}", name(made))).collect())
}

/// A run that began before a wake and then failed is no success, by which the wake would have been in vain.
fn refuse_false_success(trial: &mut Trial, kind: Kind) -> Result<Option<String>> {
    if !trial.takes_wakes(kind) || kind == Kind::Session {
        return Ok(None);
    }
    let made = trial.stranded_since(kind, BEFORE)?;
    trial.sweep()?;
    trial.outsider.age_the_ledger(AN_HOUR)?;
    trial.happens(Act::AtWork, &made, LONG_AGO)?;
    trial.happens(Act::Stops, &made, 0)?;
    let is_success = trial.ask_of_host(|db| snapshot::has_false_rescue(db, kind, &made.id))?;
    Ok(is_success.then(|| {
        format!("{}: `-- fixture {kind}: stops` is taken for a success: false_rescues names its wake", name(&made))
    }))
}

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
    trial.happens(Act::AtWork, &other, JUST_NOW)?;
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
        Block::Of(of, event) => *of == kind && matches!(event, Act::AtWork | Act::Queued | Act::Finished),
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
    trial.happens(Act::AtWork, &made, LONG_AGO)?;
    // Its work is one long life, with signs of it.
    if kind == Kind::Session {
        trial.happens(Act::AtWork, &made, JUST_NOW)?;
    }
    Ok(vec![(made, format!("`-- fixture {kind}: at work`: it has been at work for {LONG_AGO} minutes, and still is"))])
}

/// Makes what it is too early to call stranded: one that was made a moment ago, and an issue whose run has just ended.
fn touched_a_moment_ago(trial: &mut Trial, kind: Kind) -> Result<Left> {
    let new = trial.stranded_since(kind, 0)?;
    let mut early = vec![(new, format!("`-- fixture {kind}`: it was made a moment ago"))];
    if kind == Kind::Issue {
        let ended = trial.stranded(kind)?;
        trial.happens(Act::AtWork, &ended, JUST_NOW)?;
        trial.happens(Act::Stops, &ended, 0)?;
        early.push((ended, format!("`-- fixture {kind}: stops`: it stopped a moment ago")));
    }
    Ok(early)
}
