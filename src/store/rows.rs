//! The columns that the facts of every kind share.

use chrono::{DateTime, Utc};
use diesel::prelude::*;

use super::ledger::Action;
use super::types::LossyText;
use super::{Db, errors};
use crate::rules::{Assignee, Exemption, History, Id, OpenRecovery, Whose};

macro_rules! agent_columns {
    ($facts:ident) => {
        ($facts::agent_id, $facts::agent_name, $facts::agent_status)
    };
}

macro_rules! history_columns {
    ($facts:ident) => {
        (
            $facts::observed_at,
            $facts::idle_since,
            $facts::episode_began_at,
            $facts::attempts,
            $facts::attempts_last_day,
            $facts::last_attempt_at,
            $facts::escalated,
            $facts::escalations_last_day,
            $facts::open_recovery_id,
            $facts::open_recovery_action,
            $facts::open_recovery_at,
            (
                ($facts::exemption, $facts::exemption_until),
                ($facts::agent_exemption, $facts::agent_exemption_until),
                ($facts::tenant_exemption, $facts::tenant_exemption_until),
            ),
        )
    };
}
/// Of what is continued by wakes: those that never began, and when the work of the last one ended.
macro_rules! wake_columns {
    ($facts:ident) => {
        ($facts::attempts_unserved, $facts::last_attempt_ended_at)
    };
}

/// One row of facts. To be read by `get_result`: the limit of `first` is a parameter for which SQLite plans the whole
/// statement anew each time.
macro_rules! facts_of {
    ($facts:ident, $id:expr) => {
        $facts::table.filter($facts::subject_id.eq($id))
    };
}
/// The rows of facts of many subjects.
macro_rules! facts_among {
    ($facts:ident, $ids:expr, $columns:expr, $row:ty, $db:expr) => {{
        let all = $facts::table.select($columns).into_boxed();
        all.filter($crate::store::types::IsOneOf::new($facts::subject_id, $ids)).load::<$row>($db)
    }};
}

/// Reads many subjects, and the halves of them if a row cannot be decoded: it must not cost the others, and says no
/// more of itself than that it is missing.
pub(super) fn read_halves<T>(
    db: &mut Db,
    ids: &[Id],
    read: &mut impl FnMut(&mut Db, &[Id]) -> QueryResult<Vec<T>>,
) -> QueryResult<Vec<T>> {
    match read(db, ids) {
        Err(error) if errors::is_undecodable(&error) && ids.len() <= 1 => Ok(Vec::new()),
        Err(error) if errors::is_undecodable(&error) => {
            let (first, second) = ids.split_at(ids.len() / 2);
            let mut all = read_halves(db, first, read)?;
            all.extend(read_halves(db, second, read)?);
            Ok(all)
        }
        read => read,
    }
}
pub(super) use {agent_columns, facts_among, facts_of, history_columns, wake_columns};

#[derive(Queryable)]
pub(super) struct AgentRow {
    id: Option<Id>,
    name: Option<LossyText>,
    status: Option<LossyText>,
}

impl AgentRow {
    pub fn into_assignee(self, obstacle: Option<LossyText>) -> Assignee {
        match self.id {
            None => Assignee::Nobody,
            Some(id) => {
                let [name, status, obstacle] =
                    [self.name, self.status, obstacle].map(|words| words.map(LossyText::into));
                Assignee::Agent { id, name, status, obstacle }
            }
        }
    }
}

#[derive(Queryable)]
pub(super) struct HistoryRow {
    observed_at: DateTime<Utc>,
    idle_since: DateTime<Utc>,
    episode_began_at: DateTime<Utc>,
    attempts: i64,
    attempts_last_day: i64,
    last_attempt_at: Option<DateTime<Utc>>,
    escalated: bool,
    escalations_last_day: i64,
    open_recovery_id: Option<Id>,
    open_recovery_action: Option<LossyText>,
    open_recovery_at: Option<DateTime<Utc>>,
    exemptions: (ExemptionRow, ExemptionRow, ExemptionRow),
}

/// Its reason, and when it ends; without a reason there is none.
type ExemptionRow = (Option<LossyText>, Option<DateTime<Utc>>);

#[derive(Queryable)]
pub(super) struct WakesRow {
    attempts_unserved: i64,
    last_attempt_ended_at: Option<DateTime<Utc>>,
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

/// The first that holds; else the subject's own, which has expired.
fn first_exemption(
    (own, agents, tenants): (ExemptionRow, ExemptionRow, ExemptionRow),
    now: DateTime<Utc>,
) -> Option<Exemption> {
    let rows = [(Whose::Subject, own), (Whose::Agent, agents), (Whose::Tenant, tenants)];
    let exemption = |(whose, (reason, until)): (Whose, ExemptionRow)| {
        reason.map(|reason| Exemption { whose, reason: reason.into(), until })
    };
    let all: Vec<Exemption> = rows.into_iter().filter_map(exemption).collect();
    let is_own = |exemption: &&Exemption| exemption.whose == Whose::Subject;
    all.iter().find(|exemption| exemption.holds(now)).or_else(|| all.iter().find(is_own)).cloned()
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
            exemption: first_exemption(row.exemptions, row.observed_at),
        }
    }
}
