//! Is the sweeper alive? When a sweep of everything last did all that it had to, when the next one can be expected,
//! what the guard holds back, and the last sweeps.
//!
//! A sweep may be split into shards, each with a row of its own. The conditions are words of SQL, not of the DSL: they
//! are those of partial indexes, and SQLite uses one only for a query that says the same with nothing bound.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use schemars::JsonSchema;
use serde::Serialize;

use crate::conclusion::Conclusion;
use crate::rules::display::{HumanDuration, enumerated};
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::schema::sweeps;
use crate::store::db::types::{Instant, LossyText, RawInstant, WrittenDocument, age_seconds, sql::JsonDocument};
use crate::store::work::candidates::Shard;
use crate::store::work::counts::{HeldBack, KindCounts, KindMode, Tally};

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
    #[serde(flatten)]
    pub left_alone: LeftAlone,
    /// The last sweeps, the latest first.
    pub sweeps: Vec<SweepSummary>,
}

/// What sweeps leave as it is, whatever they would decide.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct LeftAlone {
    /// What the guard of the latest sweep of everything left as it was.
    pub guard: Vec<HeldWork>,
    /// What was last done about each kind.
    #[serde(skip)]
    modes: BTreeMap<Kind, KindMode>,
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
        let left_alone = LeftAlone::after(db, &ended)?;
        let ages = [last_success_at, began].map(|at| at.map(|at| now - at));
        let summary = summary(state, is_well, left_alone.guard.len(), ages);
        Ok(Sweeper {
            state,
            summary: summary + &inactive(&left_alone.modes),
            last_success_at,
            last_success_age_seconds: last_success_at.map(|at| age_seconds(at, now)),
            interval_seconds: interval.map(|interval| interval.num_seconds()),
            next_sweep_at: began.zip(interval).map(|(began, interval)| began + interval),
            left_alone,
            sweeps,
        })
    }

    /// How long ago the latest sweep began, of whatever it was, if that is longer than one may be awaited where no
    /// interval is known: in shadow none is.
    pub fn silence(&self, now: DateTime<Utc>) -> Option<TimeDelta> {
        let latest = self.sweeps.first()?.started_at?;
        Some(now - latest).filter(|age| LATE_AFTER < *age)
    }

    /// Whether sweeps do everything that they should, about every kind.
    pub fn is_well(&self) -> bool {
        self.state == SweeperState::Well && self.left_alone.modes.values().all(|mode| *mode == KindMode::On)
    }
}

impl LeftAlone {
    pub fn read(db: &mut Db, now: DateTime<Utc>) -> QueryResult<LeftAlone> {
        let ended = latest_whole(db, now)?;
        LeftAlone::after(db, &ended)
    }

    /// What is left alone after these sweeps of everything, and the latest one of all kinds.
    fn after(db: &mut Db, ended: &[SweepRow]) -> QueryResult<LeftAlone> {
        let mut modes: BTreeMap<Kind, KindMode> = ended.iter().flat_map(|sweep| modes_of(&sweep.counts)).collect();
        modes.extend(latest_of_all_kinds(db)?.iter().flat_map(modes_of));
        Ok(LeftAlone { guard: ended.iter().filter_map(held).flatten().collect(), modes })
    }

    /// Why sweeps leave a subject of this kind, tenant and agent as it is.
    pub fn reason(&self, kind: Kind, tenant: Option<&str>, agent: Option<&Id>) -> Option<String> {
        let tenant = tenant.unwrap_or_default();
        let is_held = |held: &HeldWork| {
            held.kind == kind
                && held.tenant.as_deref().is_none_or(|of| of == tenant)
                && held.agent_id.as_ref().is_none_or(|of| Some(of) == agent)
        };
        match self.modes.get(&kind) {
            Some(KindMode::Off) => Some(format!("{} are off", kind.plural())),
            Some(KindMode::Shadow) => Some(format!("{} are in shadow, where nothing is written", kind.plural())),
            Some(KindMode::On) | None => {
                let is_held = self.guard.iter().any(is_held);
                is_held.then(|| "the guard of the latest sweep held it back".to_owned())
            }
        }
    }
}

/// What a sweep did about each kind that the database has.
fn modes_of(counts: &WrittenDocument) -> impl Iterator<Item = (Kind, KindMode)> {
    KindCounts::read(counts).filter(|(_, counts)| counts.provided).map(|(kind, counts)| (kind, counts.mode))
}

/// How many of the last sweeps are searched for one of all kinds: most may be about single subjects.
const SEARCHED_MAX: i64 = 1000;

/// The counts of the latest sweep that was asked for all kinds. A sweep that leaves a kind off is none of everything.
fn latest_of_all_kinds(db: &mut Db) -> QueryResult<Option<WrittenDocument>> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = JsonDocument)]
        counts: WrittenDocument,
    }
    let asked_for = |kind: &Kind| format!("CAST(counts AS text) LIKE '%\"{}\":%'", kind.plural());
    let asked_for_all = Kind::ALL.iter().map(asked_for).collect::<Vec<_>>().join(" AND ");
    let latest = format!(
        "SELECT counts, started_at FROM sweeps WHERE started_at <= {} ORDER BY started_at DESC LIMIT {SEARCHED_MAX}",
        db.dialect().clock()
    );
    let query = format!("SELECT counts FROM ({latest}) latest WHERE {asked_for_all} ORDER BY started_at DESC LIMIT 1");
    Ok(diesel::sql_query(query).get_result::<Row>(db).optional()?.map(|row| row.counts))
}

/// Which kinds nothing is done about, in a sentence.
fn inactive(modes: &BTreeMap<Kind, KindMode>) -> String {
    let of = |wanted: KindMode, words: &str| {
        let kinds = modes.iter().filter(|(_, mode)| **mode == wanted).map(|(kind, _)| kind.plural());
        let kinds = enumerated(&kinds.collect::<Vec<_>>(), "and");
        if kinds.is_empty() { kinds } else { format!(" Nothing is done about {kinds}, which {words}.") }
    };
    of(KindMode::Shadow, "are in shadow") + &of(KindMode::Off, "are off")
}

/// The state in one sentence. `is_well`: the latest sweep of everything that ended did all it had to; `ages`: how long
/// ago the last one succeeded, and the latest one began.
fn summary(state: SweeperState, is_well: bool, held_back: usize, ages: [Option<TimeDelta>; 2]) -> String {
    let ago = |age: Option<TimeDelta>| age.map_or("never".to_owned(), |age| format!("{} ago", HumanDuration(age)));
    let [success, latest] = ages.map(ago);
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

/// The sweep looked at everything, and did all that it had to.
const SUCCEEDED: &str = "succeeded";

/// The sweep was meant to look at everything, and has ended, however.
const WHOLE: &str = "NOT is_restricted AND finished_at IS NOT NULL";

/// The end of the latest sweep of everything that did all it had to. One that is split succeeded when all its shards
/// did: at the earliest of their latest successes. What a clock that was ahead has dated in the future says nothing of
/// the present.
pub fn last_success(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Option<DateTime<Utc>>> {
    let (mut last, mut count) = (None, 0);
    while let Some(next) = next_count(db, count)? {
        count = next;
        last = last.max(success_of_shards(db, count, last, now)?);
    }
    Ok(last)
}

/// The next higher number of shards that sweeps which succeeded were split into.
fn next_count(db: &mut Db, after: i32) -> QueryResult<Option<i32>> {
    use sweeps::*;
    let more = sweeps::table.filter(sql::<Bool>(SUCCEEDED)).filter(shards.gt(after)).filter(shards.le(SHARDS_MAX));
    more.order((shards, shard, finished_at)).select(shards).first(db).optional()
}

/// Since when all shards of sweeps that were split into `count` have succeeded, if that is after `known`.
fn success_of_shards(
    db: &mut Db,
    count: i32,
    known: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> QueryResult<Option<DateTime<Utc>>> {
    use sweeps::*;
    let mut earliest = None;
    for index in 0..count {
        let of_shard = sweeps::table.filter(sql::<Bool>(SUCCEEDED)).filter(shards.eq(count)).filter(shard.eq(index));
        let latest = of_shard.filter(finished_at.le(Some(Instant(now)))).order(finished_at.desc()).select(finished_at);
        let at: Option<Option<RawInstant>> = latest.first(db).optional()?;
        let at = at.flatten().and_then(|at| at.instant());
        if at <= known {
            return Ok(None);
        }
        earliest = earliest.into_iter().chain(at).min();
    }
    Ok(earliest)
}

/// One row of `sweeps`, whatever it holds.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = sweeps)]
pub struct SweepRow {
    pub started_at: RawInstant,
    pub finished_at: Option<RawInstant>,
    pub ended: Option<LossyText>,
    pub exit_code: Option<i32>,
    pub partial: bool,
    pub shard: i32,
    pub shards: i32,
    pub counts: WrittenDocument,
}

/// The most shards that a sweep may have.
const SHARDS_MAX: i32 = Shard::COUNT_MAX as i32;

/// The latest sweep of everything that has ended; of one that is split, the latest of each of its shards.
pub fn latest_whole(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Vec<SweepRow>> {
    use sweeps::*;
    let all = || sweeps::table.filter(sql::<Bool>(WHOLE)).filter(finished_at.le(Some(Instant(now))));
    let latest: Option<SweepRow> =
        all().order(finished_at.desc()).select(SweepRow::as_select()).first(db).optional()?;
    let Some(latest) = latest else { return Ok(Vec::new()) };
    if latest.shards <= 1 {
        return Ok(vec![latest]);
    }
    let mut rows = Vec::new();
    for index in 0..latest.shards.min(SHARDS_MAX) {
        let of_shard = all().filter(shards.eq(latest.shards)).filter(shard.eq(index));
        rows.extend(of_shard.order(finished_at.desc()).select(SweepRow::as_select()).first(db).optional()?);
    }
    Ok(rows)
}

/// How many of the last sweeps are shown.
const SWEEPS_MAX: i64 = 10;

/// The last sweeps, the latest first.
fn latest(db: &mut Db) -> QueryResult<Vec<SweepSummary>> {
    let latest = sweeps::table.order((sweeps::started_at.desc(), sweeps::id)).limit(SWEEPS_MAX);
    Ok(latest.select(SweepRow::as_select()).load(db)?.into_iter().map(SweepSummary::from).collect())
}

/// One sweep as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SweepSummary {
    /// When it began; null: its row holds no valid time.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended; null: it is running, or was killed.
    pub finished_at: Option<DateTime<Utc>>,
    /// How long it took, in milliseconds; null as `finished_at`.
    pub duration_ms: Option<i64>,
    /// How it ended: `completed`, `interrupted` or `failed`; null: it is running, or was killed.
    pub ended: Option<String>,
    /// Its exit code; null: it is running, was killed, or is of an older version.
    pub exit_code: Option<i32>,
    /// Whether it looked at a part only.
    pub partial: bool,
    /// Which part of a sweep that several share, from 0 on.
    #[schemars(range(min = 0))]
    pub shard: i32,
    /// How many share it; 1: it was not shared.
    #[schemars(range(min = 0))]
    pub shards: i32,
    /// What became of the subjects of all kinds that were on.
    #[serde(flatten)]
    pub tally: Tally,
}

impl From<SweepRow> for SweepSummary {
    fn from(row: SweepRow) -> SweepSummary {
        let SweepRow { started_at, finished_at, ended, exit_code, partial, shard, shards, counts } = row;
        let (started_at, finished_at) = (started_at.instant(), finished_at.and_then(|at| at.instant()));
        let written = KindCounts::read(&counts).filter(|(_, counts)| counts.mode == KindMode::On);
        SweepSummary {
            started_at,
            finished_at,
            duration_ms: started_at.zip(finished_at).map(|(began, ended)| (ended - began).num_milliseconds().max(0)),
            ended: ended.map(String::from),
            exit_code,
            partial,
            shard,
            shards,
            tally: written.fold(Tally::default(), |sum, (_, counts)| sum.plus(counts.tally)),
        }
    }
}

impl SweepSummary {
    /// Whether the sweep did all that it had to.
    pub fn is_well(&self) -> bool {
        did_all(self.exit_code)
    }

    /// Whether the guard held work back.
    pub fn is_guarded(&self) -> bool {
        self.exit_code == Some(Conclusion::Guarded as i32)
    }
}

/// Whether a sweep with this exit code did all that it had to. One that is under way, or of an older version, has not
/// said otherwise.
pub fn did_all(exit_code: Option<i32>) -> bool {
    exit_code.is_none_or(|code| Conclusion::of(code).is_some_and(Conclusion::is_success))
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
