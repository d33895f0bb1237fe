//! Work of which people were notified: what is in progress, and what an escalation blocked.

use diesel::prelude::*;

use super::board::{BlockedRow, BoardRow, Boards};
use super::items::{Item, Placed, Reading, What, place};
use super::request::Source;
use crate::rules::Kind;
use crate::rules::advice::Need;
use crate::rules::board::BoardState;
use crate::rules::issue::tried;
use crate::store::Db;
use crate::store::schema::host_behavior;
use crate::store::types::{LossyText, RawInstant};

/// What tells most about a subject.
pub const EXPLAIN: &str = "explain {kind} {name}";

/// How a person has the agent of a blocked issue go on, on this host.
pub fn resume_advice(db: &mut Db) -> QueryResult<String> {
    let advice: Option<LossyText> = host_behavior::table.select(host_behavior::resume_advice).first(db).optional()?;
    Ok(advice.map(String::from).unwrap_or_default())
}

impl Boards {
    /// Everything that was read of work that waits for a person.
    pub fn items(&self, db: &mut Db, reading: &Reading) -> QueryResult<Vec<Placed>> {
        let resume_advice = if self.blocked.is_empty() { String::new() } else { resume_advice(db)? };
        let blocked = self.blocked.iter().map(|row| row.placed(&resume_advice, reading));
        Ok(self.waiting.iter().map(|row| row.placed(reading)).chain(blocked).collect())
    }
}

impl BoardRow {
    fn placed(&self, reading: &Reading) -> Placed {
        let (kind, id, row) = (self.kind, self.id(), self.row.clone());
        let (what, need) = match self.state {
            BoardState::Abandoned => (What::Abandoned, Need::Abandoned),
            _ => (What::Escalated, Need::Escalated(kind)),
        };
        let (since, age_seconds) = row.since.as_ref().map_or((None, None), |since| since.with_age(reading.now));
        let attempts = row.attempts.and_then(|attempts| u32::try_from(attempts).ok()).unwrap_or_default();
        let item = Item {
            kind: Some(kind),
            id: Some(id.clone()),
            tenant: Some(row.tenant.into()),
            identifier: row.identifier.map(String::from),
            title: row.title.map(String::from),
            agent_id: row.agent_id,
            agent: row.agent_name.map(String::from),
            since,
            age_seconds,
            tried: (what == What::Escalated).then(|| tried(attempts, row.last_attempt_at.and_then(|at| at.instant()))),
            ..Item::new(what, need, row.detail.map(String::from).unwrap_or_default())
        };
        let commands: &[&str] = match (what, kind) {
            (What::Escalated, Kind::Issue) => &[EXPLAIN, "wake {name}"],
            (What::Escalated, Kind::Step) if item.agent_id.is_some() => &[EXPLAIN, "wake {name}", "skip-step {name}"],
            (What::Escalated, Kind::Step) => &[EXPLAIN, "skip-step {name}"],
            _ => &[EXPLAIN],
        };
        Placed { cursor: place(row.since, Source::of(kind), id), item: item.offering(commands) }
    }
}

impl BlockedRow {
    fn placed(&self, resume_advice: &str, reading: &Reading) -> Placed {
        let row = self.clone();
        let (since, age_seconds) = row.since.with_age(reading.now);
        let last_attempt_at = row.last_attempt_at.as_ref().and_then(RawInstant::instant);
        let item = Item {
            kind: Some(Kind::Issue),
            id: Some(row.subject_id.clone()),
            tenant: Some(row.tenant.into()),
            identifier: row.identifier.map(String::from),
            title: Some(row.title.into()),
            agent_id: row.agent_id,
            agent: row.agent_name.map(String::from),
            since,
            age_seconds,
            tried: Some(tried(u32::try_from(row.attempt).unwrap_or_default(), last_attempt_at)),
            ..Item::new(What::Escalated, Need::Blocked(resume_advice), row.reason.into())
        };
        Placed { cursor: place(Some(row.since), Source::Blocked, row.subject_id), item: item.offering(&[EXPLAIN]) }
    }
}
