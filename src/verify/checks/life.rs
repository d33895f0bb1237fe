//! Whether the host says of a worker, a run and a wake what has become of them: one that is dead, failed or taken must
//! not look as if it were not.

use anyhow::Result;

use crate::rules::{Decision, Kind, Reason};
use crate::store::connect::sandbox::inquiry;
use crate::verify::fixtures::{Block, Event, Made};
use crate::verify::trial::{AN_HOUR, LONG_AGO, Trial, name};

/// Before anything happens to the work of this module's checks.
const BEFORE: i64 = 2 * LONG_AGO;

/// Work whose worker died is stranded like any other.
pub fn refuse_living_dead(trial: &mut Trial, kind: Kind) -> Result<Option<String>> {
    let block = Block::Of(kind, Event::Dies);
    if !trial.fixtures.has(&block) {
        return Ok(None);
    }
    let made = trial.stranded_since(kind, BEFORE)?;
    trial.happens(Event::AtWork, &made, LONG_AGO)?;
    trial.play(&block, &made, AN_HOUR)?;
    let first = trial.first_outcome(kind);
    Ok(trial.sweep()?.expect(&made, first).err().map(|why| format!("`-- fixture {block}`: {why}")))
}

/// A wake that was taken, and of which no run has begun for longer than a wake may wait, is stuck in sight, or its work
/// goes on.
pub fn refuse_hiding_claim(trial: &mut Trial, kind: Kind) -> Result<Option<String>> {
    let block = Block::Of(kind, Event::Claimed);
    if !trial.fixtures.has(&block) {
        return Ok(None);
    }
    let made = trial.stranded_since(kind, BEFORE)?;
    let swept = trial.sweep()?;
    trial.play(&block, &made, LONG_AGO)?;
    trial.outsider.age_the_ledger(LONG_AGO)?;
    let not_woken = swept.expect(&made, trial.first_outcome(kind)).err();
    let what = format!("`-- fixture {block}`: the wake was taken {LONG_AGO} minutes ago, and no run has begun");
    Ok(not_woken.or(match trial.decision(&made)? {
        Some(Decision::Continue { .. } | Decision::Escalate(_)) => None,
        Some(Decision::Leave(Reason::StuckWake(_))) => {
            let is_in_sight = trial.ask_of_host(|db| inquiry::is_stuck_in_sight(db, &made.id))?;
            (!is_in_sight).then(|| format!("{}: {what}: untaken_wakes does not name it", name(&made)))
        }
        Some(decision) => Some(format!("{}: {what}, and it would be left alone: {decision}", name(&made))),
        None => Some(format!("{}: {what}, and {kind}_facts has no row", name(&made))),
    }))
}

/// Does the host show a wake that waits by the id that sweep gave it?
pub fn refuse_strange_ids(trial: &mut Trial, made: &Made) -> Result<Vec<String>> {
    if !trial.takes_wakes(made.kind) {
        return Ok(Vec::new());
    }
    let mut evidence = Vec::new();
    let relations = if made.kind == Kind::Session { &["session_commands"][..] } else { &["wakes", "untaken_wakes"] };
    for relation in relations {
        let unknown = trial.ask_of_host(|db| inquiry::unknown_wakes(db, relation, made.kind, &made.id))?.into_iter();
        evidence
            .extend(unknown.map(|id| format!("{}: {relation} has no row with the id {id} of its wake", name(made))));
    }
    Ok(evidence)
}

/// Does a wake wait no longer that was taken up?
pub fn refuse_untaken(trial: &mut Trial, made: &Made) -> Result<Vec<String>> {
    if !trial.takes_wakes(made.kind) || made.kind == Kind::Session {
        return Ok(Vec::new());
    }
    let (kind, id) = (made.kind, &made.id);
    // Other hosts tell it in their facts alone.
    let statuses = match trial.host.has_derived_facts() {
        true => trial.ask_of_host(|db| inquiry::statuses_of_waiting(db, kind, id))?,
        false => Vec::new(),
    };
    let statuses = statuses.iter().map(|status| format!("is {status} in wakes: expected claimed or completed"));
    let untaken = trial.ask_of_host(|db| inquiry::untaken(db, kind, id))?;
    let untaken = untaken.iter().map(|_| "is in untaken_wakes".to_owned());
    Ok(statuses.chain(untaken).map(|why| format!("{}: its wake was taken up, and {why}", name(made))).collect())
}

/// A run that began before a wake and then failed is no success, by which the wake would have been in vain.
pub fn refuse_false_success(trial: &mut Trial, kind: Kind) -> Result<Option<String>> {
    if !trial.takes_wakes(kind) || kind == Kind::Session {
        return Ok(None);
    }
    let made = trial.stranded_since(kind, BEFORE)?;
    trial.sweep()?;
    trial.outsider.age_the_ledger(AN_HOUR)?;
    trial.happens(Event::AtWork, &made, LONG_AGO)?;
    trial.happens(Event::Stops, &made, 0)?;
    let is_success = trial.ask_of_host(|db| inquiry::has_false_rescue(db, kind, &made.id))?;
    Ok(is_success.then(|| {
        format!("{}: `-- fixture {kind}: stops` is taken for a success: false_rescues names its wake", name(&made))
    }))
}
