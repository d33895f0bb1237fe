//! What a status holds, made up.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use sweep::rules::board::BoardState;
use sweep::rules::{Id, Kind};
use sweep::store::db::types::RawInstant;
use sweep::store::read::status::{
    Counts, Effect, Exemptions, Notifications, Quarantined, Status, SweepSummary, Undelivered, WorkItem,
};
use sweep::store::work::wakes::StuckWake;

pub fn now() -> DateTime<Utc> {
    DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(20_000)
}

pub fn id(n: u32) -> Id {
    Id(format!("00000000-0000-4000-8000-{n:012}"))
}

pub fn quiet() -> Status {
    let none = |states: &[BoardState]| Counts(Some(states.iter().map(|state| (*state, 0)).collect()));
    Status {
        schema: 1,
        host: "native".to_owned(),
        tenant: None,
        empty: false,
        observed_at: now(),
        wake_stuck_after_seconds: 3600,
        kinds: BTreeMap::from([("issues", none(&[BoardState::Active, BoardState::Orphaned])), ("steps", Counts(None))]),
        orphans: Vec::new(),
        orphans_total: 0,
        escalations: Vec::new(),
        escalations_total: 0,
        plans: Vec::new(),
        abandoned: Vec::new(),
        abandoned_total: 0,
        stuck_wakes: Vec::new(),
        stuck_wakes_total: 0,
        no_wake_is_taken: false,
        quarantined: Vec::new(),
        quarantined_total: 0,
        exemptions: Exemptions::default(),
        notifications: Notifications::default(),
        sweeps: Vec::new(),
        last_success_at: None,
        last_success_age_seconds: None,
        effect: Effect { days: 7, ..Effect::default() },
    }
}

pub fn stuck_wake(n: u32, minutes: i64) -> StuckWake {
    StuckWake {
        id: id(n),
        kind: Some("issue".to_owned()),
        subject_id: Some(id(n)),
        tenant: "acme".to_owned(),
        identifier: Some(format!("ACM-{n}")),
        url: None,
        title: Some("Mend the fence".to_owned()),
        agent_id: None,
        agent: Some("Ada".to_owned()),
        since: Some(now() - TimeDelta::minutes(minutes)),
        age_seconds: Some(minutes * 60),
        place: RawInstant::Beginning,
    }
}

pub fn quarantined(n: u32) -> Quarantined {
    let (kind, identifier, reason) = ("issue".to_owned(), Some(format!("ACM-{n}")), "no plausible time".to_owned());
    Quarantined { kind, id: id(n), identifier, url: None, reason, since: None, age_seconds: Some(60) }
}

pub fn work(n: u32, state: BoardState, minutes: i64, detail: &str) -> WorkItem {
    WorkItem {
        kind: Kind::Issue,
        id: id(n),
        tenant: "acme".to_owned(),
        identifier: Some(format!("ACM-{n}")),
        url: None,
        title: "Mend the fence".to_owned(),
        agent: Some("Ada".to_owned()),
        agent_id: None,
        state,
        detail: Some(detail.to_owned()),
        since: Some(now() - TimeDelta::minutes(minutes)),
        age_seconds: Some(minutes * 60),
        plan_id: None,
    }
}

pub fn swept(minutes: i64, ended: Option<&str>, exit_code: Option<i32>) -> SweepSummary {
    let began = now() - TimeDelta::minutes(minutes);
    let ended = ended.map(str::to_owned);
    SweepSummary {
        started_at: Some(began),
        duration_ms: ended.as_ref().map(|_| 1234),
        ended,
        exit_code,
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
        since: Some(now()),
        age_seconds: Some(90_000),
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
