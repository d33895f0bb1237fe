//! Work of which people were notified: what is in progress, and what an escalation blocked.

use super::board::{BoardRow, Boards};
use super::items::{Command, Item, Placed, Reading, What, place};
use super::request::Source;
use crate::rules::Kind;
use crate::rules::board::BoardState;
use crate::rules::board::Need;
use crate::rules::issue::tried;
use crate::store::db::types::RawInstant;

impl Boards {
    /// Everything that was read of work that waits for a person.
    pub fn items(&self, reading: &Reading) -> Vec<Placed> {
        self.waiting.iter().map(|row| row.placed(reading)).collect()
    }
}

impl BoardRow {
    fn placed(&self, reading: &Reading) -> Placed {
        use Command::{Explain, Pause, SkipStep, Wake};
        let (kind, id, row) = (self.kind, self.id(), self.row.clone());
        let (since, age_seconds) = row.since.as_ref().map_or((None, None), |since| since.with_age(reading.now));
        let attempts = row.attempts.and_then(|attempts| u32::try_from(attempts).ok()).unwrap_or_default();
        let last_attempt_at = row.last_attempt_at.as_ref().and_then(RawInstant::instant);
        let (what, need, commands): (_, _, &[Command]) = match (self.state, self.source, kind) {
            (BoardState::Abandoned, ..) => (What::Abandoned, Need::Abandoned, &[Explain]),
            (_, Source::Blocked, _) => (What::Escalated, Need::Blocked(reading.resume_advice), &[Explain]),
            (_, _, Kind::Issue) => (What::Escalated, Need::Escalated(kind), &[Explain, Wake]),
            (_, _, Kind::Step) if row.agent_id.is_some() => {
                (What::Escalated, Need::Escalated(kind), &[Explain, Wake, SkipStep])
            }
            (_, _, Kind::Step) => (What::Escalated, Need::Escalated(kind), &[Explain, SkipStep]),
            (_, _, Kind::Session) if row.is_escalated_crash() => (What::Escalated, Need::Crashed, &[Explain, Pause]),
            (_, _, Kind::Session) => (What::Escalated, Need::Escalated(kind), &[Explain]),
        };
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
            tried: (what == What::Escalated).then(|| tried(attempts, last_attempt_at)),
            offers: commands,
            ..Item::new(what, need, row.detail.map(String::from).unwrap_or_default())
        };
        Placed { cursor: place(row.since, self.source, id), item }
    }
}
