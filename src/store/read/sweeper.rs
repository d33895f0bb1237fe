//! Is the sweeper alive? When a sweep of everything last did all that it had to, when the next one can be expected, and
//! what the guard holds back.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use crate::rules::display::HumanDuration;
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::schema::sweeps;
use crate::store::db::types::{Instant, RawInstant, age_seconds};
use crate::store::read::sweeps::{SweepRow, SweepSummary, did_all, last_success, latest, latest_whole};
use crate::store::work::counts::{HeldBack, KindCounts, KindMode};

/// Whether somebody sweeps, and how well.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Sweeper {
    /// Whether somebody sweeps.
    pub state: SweeperState,
    /// The state in one sentence: for people.
    pub summary: String,
    /// The end of the latest sweep of everything that did all it had to; null: there was none.
    pub last_success_at: Option<DateTime<Utc>>,
    /// How long ago, in seconds; null as `last_success_at`.
    pub last_success_age_seconds: Option<i64>,
    /// From the beginning of one sweep of everything to that of the next, in seconds: the median of the latest ones;
    /// null: there were too few.
    pub interval_seconds: Option<i64>,
    /// When the next one can be expected to begin, by that interval; null as `interval_seconds`.
    pub next_sweep_at: Option<DateTime<Utc>>,
    /// What the guard of the latest sweep of everything left as it was.
    pub guard: Vec<HeldWork>,
    /// What that sweep did about each kind.
    #[serde(skip)]
    pub modes: BTreeMap<Kind, KindMode>,
    /// The last sweeps, the latest first.
    pub sweeps: Vec<SweepSummary>,
}

/// Whether somebody sweeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schemars(inline)]
pub enum SweeperState {
    /// The latest sweep of everything did all it had to, not long ago, and the next one is not late.
    Well,
    /// The latest one did not do all it had to, or none has done so for much longer than usual.
    Failing,
    /// None has begun for much longer than usual.
    Late,
    /// None has ever done all it had to.
    #[default]
    Never,
}

/// Work that the guard left as it was.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeldWork {
    /// The kind of this work.
    pub kind: Kind,
    /// The tenant of this work; null: all of the kind.
    pub tenant: Option<String>,
    /// The agent of this work; null: all of the tenant's, or of the kind.
    pub agent: Option<String>,
    #[serde(skip)]
    pub(super) agent_id: Option<Id>,
    /// When the sweep began that held it back.
    pub since: DateTime<Utc>,
    /// Why, in words: for people.
    pub why: String,
    #[serde(skip)]
    pub(super) place: RawInstant,
}

/// How many intervals without a sweep are much longer than usual; a minute more is for the sweep's own time.
const INTERVALS_MAX: i32 = 3;

/// The shortest interval of a schedule.
const SHORTEST: TimeDelta = TimeDelta::seconds(1);

/// How long the next sweep may be awaited where no interval is known.
const LATE_AFTER: TimeDelta = TimeDelta::days(1);

/// Between how many sweeps the median interval is taken.
const BEGINNINGS: i64 = 10;

impl Sweeper {
    pub fn read(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Sweeper> {
        let (sweeps, last_success_at) = (latest(db)?, last_success(db, now)?);
        let beginnings = beginnings(db, now)?;
        let interval = median(beginnings.windows(2).map(|pair| pair[0] - pair[1]).collect())
            .filter(|interval| SHORTEST <= *interval);
        let began = beginnings.first().copied();
        let ended = latest_whole(db, now)?;
        let is_well = ended.iter().all(|sweep| did_all(sweep.exit_code));
        let late_after = interval.map_or(LATE_AFTER, |interval| interval * INTERVALS_MAX + TimeDelta::minutes(1));
        let state = match (last_success_at, began) {
            (None, _) | (_, None) => SweeperState::Never,
            (Some(_), Some(began)) if late_after < now - began => SweeperState::Late,
            (Some(_), Some(_)) if !is_well => SweeperState::Failing,
            // Sweeps that are killed, that reach their deadline, or of which one shard is missing.
            (Some(success), Some(_)) if late_after < now - success => SweeperState::Failing,
            (Some(_), Some(_)) => SweeperState::Well,
        };
        let guard: Vec<HeldWork> = ended.iter().filter_map(held).flatten().collect();
        let modes: BTreeMap<Kind, KindMode> = ended.iter().flat_map(modes).collect();
        let success_age = last_success_at.map(|at| now - at);
        let summary = summary(state, is_well, success_age, began.map(|began| now - began), guard.len());
        Ok(Sweeper {
            state,
            summary: summary + &inactive(&modes),
            last_success_at,
            last_success_age_seconds: last_success_at.map(|at| age_seconds(at, now)),
            interval_seconds: interval.map(|interval| interval.num_seconds()),
            next_sweep_at: began.zip(interval).map(|(began, interval)| began + interval),
            guard,
            modes,
            sweeps,
        })
    }

    /// Whether sweeps do everything that they should, about every kind.
    pub fn is_well(&self) -> bool {
        self.state == SweeperState::Well && self.modes.values().all(|mode| *mode == KindMode::On)
    }

    /// Whether the guard of the latest sweep held this agent's work back.
    pub(super) fn holds_back(&self, kind: Kind, tenant: &str, agent: Option<&Id>) -> bool {
        self.guard.iter().any(|held| {
            held.kind == kind
                && held.tenant.as_deref().is_none_or(|of| of == tenant)
                && held.agent_id.as_ref().is_none_or(|of| Some(of) == agent)
        })
    }
}

/// What a sweep did about each of the kinds that the database has.
fn modes(sweep: &SweepRow) -> impl Iterator<Item = (Kind, KindMode)> {
    KindCounts::read(&sweep.counts).filter(|(_, counts)| counts.provided).map(|(kind, counts)| (kind, counts.mode))
}

/// Which kinds nothing is done about, in a sentence.
fn inactive(modes: &BTreeMap<Kind, KindMode>) -> String {
    let of = |wanted: KindMode, words: &str| {
        let kinds = modes.iter().filter(|(_, mode)| **mode == wanted).map(|(kind, _)| kind.plural());
        let kinds = kinds.collect::<Vec<_>>().join(" and ");
        if kinds.is_empty() { kinds } else { format!(" Nothing is done about {kinds}, which {words}.") }
    };
    of(KindMode::Shadow, "are in shadow") + &of(KindMode::Off, "are off")
}

/// The state in one sentence. `is_well`: the latest sweep of everything that ended did all it had to.
fn summary(
    state: SweeperState,
    is_well: bool,
    success: Option<TimeDelta>,
    latest: Option<TimeDelta>,
    held_back: usize,
) -> String {
    let ago = |age: Option<TimeDelta>| age.map_or("never".to_owned(), |age| format!("{} ago", HumanDuration(age)));
    let (success, latest) = (ago(success), ago(latest));
    match state {
        SweeperState::Well => format!("The last sweep of everything succeeded {success}."),
        SweeperState::Failing if 0 < held_back => {
            format!("The guard holds work back: a person has to look. The last success was {success}.")
        }
        SweeperState::Failing if is_well => {
            format!("Sweeps begin, but none of everything has done all it had to since the last success, {success}.")
        }
        SweeperState::Failing => {
            format!("The latest sweep did not do all it had to. The last success was {success}.")
        }
        SweeperState::Late => format!(
            "No sweep of everything has begun for longer than usual, the last one {latest}: is it still scheduled?"
        ),
        SweeperState::Never => "No sweep of everything has succeeded yet.".to_owned(),
    }
}

/// When the latest sweeps of everything began, the latest first. Of a sweep that is split its first shard counts. What
/// a clock that was ahead has dated in the future says nothing of the present.
fn beginnings(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Vec<DateTime<Utc>>> {
    use sweeps::*;
    let whole = sweeps::table.filter(is_restricted.eq(false)).filter(shard.eq(0));
    let until_now = whole.filter(started_at.le(Instant(now))).order(started_at.desc()).limit(BEGINNINGS);
    let rows: Vec<RawInstant> = until_now.select(started_at).load(db)?;
    Ok(rows.iter().filter_map(RawInstant::instant).collect())
}

fn median(mut intervals: Vec<TimeDelta>) -> Option<TimeDelta> {
    intervals.sort();
    intervals.get(intervals.len() / 2).copied()
}

/// What the guard of one sweep left as it was; none when its row holds no time that can be read.
fn held(sweep: &SweepRow) -> Option<Vec<HeldWork>> {
    let since = sweep.started_at.instant()?;
    let place = &sweep.started_at;
    let on = KindCounts::read(&sweep.counts).filter(|(_, counts)| counts.mode == KindMode::On);
    let of_kind = |(kind, counts): (Kind, KindCounts)| {
        let whole = counts.guard.map(|guarded| guarded.sentence(kind));
        let all = |why| HeldWork { kind, tenant: None, agent: None, agent_id: None, since, why, place: place.clone() };
        let part = |part: HeldBack| HeldWork {
            why: part.sentence(kind),
            tenant: Some(part.tenant),
            agent: part.agent,
            agent_id: part.agent_id,
            ..all(String::new())
        };
        whole.into_iter().map(all).chain(counts.held_back.into_iter().map(part)).collect::<Vec<_>>()
    };
    Some(on.flat_map(of_kind).collect())
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::median;

    #[test]
    fn one_sweep_by_hand_between_two_of_a_schedule_does_not_change_the_interval() {
        let minutes = |minutes: &[i64]| median(minutes.iter().map(|&n| TimeDelta::minutes(n)).collect());
        assert_eq!(minutes(&[5, 5, 2, 3, 5, 5]), Some(TimeDelta::minutes(5)));
        assert_eq!(minutes(&[5]), Some(TimeDelta::minutes(5)));
        assert_eq!(minutes(&[]), None);
    }
}
