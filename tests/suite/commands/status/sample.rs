//! What a status holds, made up.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use sweep::rules::board::{BoardState, Need};
use sweep::rules::{Id, Kind};
use sweep::store::db::types::RawInstant;
use sweep::store::read::overview::{
    Age, Counts, Effect, Item, ItemKind, Notifications, Overview, Status, Stranded, SubjectRef, SweepSummary, Sweeper,
    Undelivered,
};
use sweep::store::work::counts::Tally;

pub fn now() -> DateTime<Utc> {
    DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(20_000)
}

pub fn id(n: u32) -> Id {
    Id(format!("00000000-0000-4000-8000-{n:012}"))
}

/// A status in which nothing needs attention, of a database that was never swept.
pub fn quiet() -> Overview<Status> {
    let none = |states: &[BoardState]| counts(&states.iter().map(|state| (*state, 0)).collect::<Vec<_>>());
    let kinds = [("issues", none(&[BoardState::Active, BoardState::Orphaned])), ("steps", Counts::default())];
    Overview {
        schema: 1,
        host: "native".to_owned(),
        tenant: None,
        agent: None,
        agent_name: None,
        observed_at: now(),
        sweeper: Sweeper::default(),
        kinds: BTreeMap::from(kinds),
        part: Status {
            wake_stuck_after_seconds: 3600,
            effect: Effect { days: 7, ..Effect::default() },
            ..Status::default()
        },
    }
}

pub fn counts(states: &[(BoardState, i64)]) -> Counts {
    Counts { provided: true, states: states.iter().copied().collect() }
}

pub fn subject(n: u32) -> SubjectRef {
    SubjectRef {
        kind: Some(Kind::Issue),
        id: Some(id(n)),
        tenant: Some("acme".to_owned()),
        identifier: Some(format!("ACM-{n}")),
        title: Some("Mend the fence".to_owned()),
        agent: Some("Ada".to_owned()),
        ..SubjectRef::default()
    }
}

pub fn aged(minutes: i64) -> Age {
    Age { since: Some(now() - TimeDelta::minutes(minutes)), seconds: Some(minutes * 60) }
}

pub fn item(n: u32, what: ItemKind, minutes: i64, why: &str) -> Item {
    Item::new(what, Need::Abandoned, subject(n), aged(minutes), why.to_owned())
}

pub fn orphan(n: u32, minutes: i64) -> Stranded {
    let (subject, state, age) = (subject(n), BoardState::Orphaned, aged(minutes));
    Stranded { subject, state, detail: None, age, plan_id: None }
}

pub fn swept(minutes: i64, ended: Option<&str>, exit_code: Option<i32>, tally: Tally) -> SweepSummary {
    let began = now() - TimeDelta::minutes(minutes);
    let ended = ended.map(str::to_owned);
    SweepSummary {
        started_at: Some(began),
        duration_ms: ended.as_ref().map(|_| 1234),
        ended,
        exit_code,
        tally,
        ..SweepSummary::default()
    }
}

pub fn unreported() -> Notifications {
    let one = Undelivered {
        id: Id::generate(),
        destination: "slack".to_owned(),
        event: "session_stuck".to_owned(),
        kind: "session".to_owned(),
        subject_id: Some(id(6)),
        identifier: Some("chiara-4".to_owned()),
        age: Age { since: Some(now()), seconds: Some(90_000) },
        attempts: 30,
        last_error: Some("HTTP 404".to_owned()),
        place: RawInstant::Beginning,
        is_given_up: true,
    };
    let guard = Undelivered { event: "guard_stopped".to_owned(), subject_id: None, identifier: None, ..one.clone() };
    Notifications {
        pending: 3,
        pending_since: Some(now()),
        pending_age_seconds: Some(700),
        pending_error: Some("HTTP 500".to_owned()),
        dead: vec![one, guard],
        dead_total: 2,
    }
}
