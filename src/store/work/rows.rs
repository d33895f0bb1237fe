//! The columns that the facts of every kind have.

use chrono::{DateTime, Utc};

use crate::rules::{Assignee, Exemption, History, Id, OpenRecovery, Whose};
use crate::store::db::columns::columns;
use crate::store::db::types::LossyText;
use crate::store::work::ledger::Action;

columns! {
    pub(in crate::store) struct AgentRow {
        agent_id -> Nullable<Id> as Option<Id>,
        agent_name -> Nullable<Text> as Option<LossyText>,
        agent_status -> Nullable<Text> as Option<LossyText>,
    }
}

impl AgentRow {
    pub fn into_assignee(self, obstacle: Option<LossyText>) -> Assignee {
        match self.agent_id {
            None => Assignee::Nobody,
            Some(id) => {
                let [name, status, obstacle] =
                    [self.agent_name, self.agent_status, obstacle].map(|words| words.map(LossyText::into));
                Assignee::Agent { id, name, status, obstacle }
            }
        }
    }
}

columns! {
    pub(in crate::store) struct HistoryRow {
        observed_at -> Instant as DateTime<Utc>,
        idle_since -> Instant as DateTime<Utc>,
        episode_began_at -> Instant as DateTime<Utc>,
        attempts -> BigInt as i64,
        attempts_last_day -> BigInt as i64,
        last_attempt_at -> Nullable<Instant> as Option<DateTime<Utc>>,
        escalated -> Bool as bool,
        escalations_last_day -> BigInt as i64,
        open_recovery_id -> Nullable<Key> as Option<Id>,
        open_recovery_action -> Nullable<Text> as Option<LossyText>,
        open_recovery_at -> Nullable<Instant> as Option<DateTime<Utc>>,
        exemption -> Nullable<Text> as Option<LossyText>,
        exemption_until -> Nullable<Instant> as Option<DateTime<Utc>>,
        agent_exemption -> Nullable<Text> as Option<LossyText>,
        agent_exemption_until -> Nullable<Instant> as Option<DateTime<Utc>>,
        tenant_exemption -> Nullable<Text> as Option<LossyText>,
        tenant_exemption_until -> Nullable<Instant> as Option<DateTime<Utc>>,
    }
}

columns! {
    /// What is known of subjects that are continued by wakes: how many wakes nobody took up, and when the work that the
    /// last one began ended.
    pub(in crate::store) struct WakesRow {
        attempts_unserved -> BigInt as i64,
        last_attempt_ended_at -> Nullable<Instant> as Option<DateTime<Utc>>,
    }
}

impl HistoryRow {
    pub fn with_wakes(self, wakes: WakesRow) -> History {
        History {
            attempts_unserved: count(wakes.attempts_unserved),
            last_attempt_ended_at: wakes.last_attempt_ended_at,
            ..self.into()
        }
    }
}

fn count(n: i64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl From<HistoryRow> for History {
    fn from(row: HistoryRow) -> History {
        History {
            observed_at: row.observed_at,
            idle_since: row.idle_since,
            episode_began_at: row.episode_began_at,
            attempts: count(row.attempts),
            attempts_unserved: 0,
            attempts_last_day: count(row.attempts_last_day),
            last_attempt_at: row.last_attempt_at,
            last_attempt_ended_at: None,
            escalated: row.escalated,
            abandoned: row.open_recovery_action.is_some_and(|action| action.0 == Action::Abandon.name()),
            escalations_last_day: count(row.escalations_last_day),
            open: row.open_recovery_id.zip(row.open_recovery_at).map(|(id, since)| OpenRecovery { id, since }),
            exemption: first_exemption(
                [
                    (Whose::Subject, row.exemption, row.exemption_until),
                    (Whose::Agent, row.agent_exemption, row.agent_exemption_until),
                    (Whose::Tenant, row.tenant_exemption, row.tenant_exemption_until),
                ],
                row.observed_at,
            ),
        }
    }
}

/// The first exemption that holds at `now`; else the subject's own, which has expired.
fn first_exemption(
    rows: [(Whose, Option<LossyText>, Option<DateTime<Utc>>); 3],
    now: DateTime<Utc>,
) -> Option<Exemption> {
    let exemption = |(whose, reason, until): (Whose, Option<LossyText>, _)| {
        reason.map(|reason| Exemption { whose, reason: reason.into(), until })
    };
    let all: Vec<Exemption> = rows.into_iter().filter_map(exemption).collect();
    let is_own = |exemption: &&Exemption| exemption.whose == Whose::Subject;
    all.iter().find(|exemption| exemption.holds(now)).or_else(|| all.iter().find(is_own)).cloned()
}
