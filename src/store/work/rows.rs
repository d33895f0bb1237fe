//! The columns that the facts of every kind have.

use diesel::deserialize::Result;

use crate::rules::{Assignee, Exemption, History, Id, OpenRecovery, Whose};
use crate::store::db::columns::{Columns, FromColumns, Key};
use crate::store::work::ledger::Action;

/// Reads the agent of a subject; `obstacle`: why the host says that a wake would do harm.
pub(in crate::store) fn read_assignee(columns: &mut impl Columns, obstacle: Option<String>) -> Result<Assignee> {
    let id: Option<Id> = columns.get("agent_id")?;
    let (name, status) = (columns.get("agent_name")?, columns.get("agent_status")?);
    Ok(id.map_or(Assignee::Nobody, |id| Assignee::Agent { id, name, status, obstacle }))
}

/// Reads the history of a subject that is continued by wakes: it knows how many wakes nobody took up, and when the work
/// that the last one began ended.
pub(in crate::store) fn read_history_with_wakes(columns: &mut impl Columns) -> Result<History> {
    Ok(History {
        attempts_unserved: columns.get("attempts_unserved")?,
        last_attempt_ended_at: columns.get("last_attempt_ended_at")?,
        ..History::from_columns(columns)?
    })
}

impl FromColumns for History {
    fn from_columns(columns: &mut impl Columns) -> Result<History> {
        let (open_id, open_since): (Option<Key>, _) =
            (columns.get("open_recovery_id")?, columns.get("open_recovery_at")?);
        let open_action: Option<String> = columns.get("open_recovery_action")?;
        let observed_at = columns.get("observed_at")?;
        let exemptions = [
            read_exemption(columns, Whose::Subject, ["exemption", "exemption_until"])?,
            read_exemption(columns, Whose::Agent, ["agent_exemption", "agent_exemption_until"])?,
            read_exemption(columns, Whose::Tenant, ["tenant_exemption", "tenant_exemption_until"])?,
        ];
        let exemptions: Vec<Exemption> = exemptions.into_iter().flatten().collect();
        // The first that holds now; else the subject's own, which has expired.
        let exemption = exemptions.iter().find(|exemption| exemption.holds(observed_at));
        let own = exemptions.iter().find(|exemption| exemption.whose == Whose::Subject);
        Ok(History {
            observed_at,
            idle_since: columns.get("idle_since")?,
            episode_began_at: columns.get("episode_began_at")?,
            attempts: columns.get("attempts")?,
            attempts_unserved: 0,
            attempts_last_day: columns.get("attempts_last_day")?,
            last_attempt_at: columns.get("last_attempt_at")?,
            last_attempt_ended_at: None,
            escalated: columns.get("escalated")?,
            abandoned: open_action.is_some_and(|action| action == Action::Abandon.name()),
            escalations_last_day: columns.get("escalations_last_day")?,
            open: open_id.zip(open_since).map(|(Key(id), since)| OpenRecovery { id, since }),
            exemption: exemption.or(own).cloned(),
        })
    }
}

fn read_exemption(
    columns: &mut impl Columns,
    whose: Whose,
    [reason, until]: [&'static str; 2],
) -> Result<Option<Exemption>> {
    let (reason, until): (Option<String>, _) = (columns.get(reason)?, columns.get(until)?);
    Ok(reason.map(|reason| Exemption { whose, reason, until }))
}
