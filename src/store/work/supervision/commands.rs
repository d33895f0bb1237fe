//! The commands that are queued for a session: who takes one must carry it out.

use chrono::{DateTime, SubsecRound, Utc};
use diesel::prelude::*;

use super::{Lease, Restart, found, held_by, queued};
use crate::rules::Id;
use crate::store::Db;
use crate::store::db::schema::{session_commands, sessions};
use crate::store::db::types::Instant;

/// A command that a supervisor has taken, and must carry out.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedCommand {
    pub id: Id,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Type this; None: whatever its policy says.
    Nudge(Option<String>),
    /// Start the process again. The session's row says so already, with this as its `started_at`.
    Relaunch(DateTime<Utc>),
}

/// What a session's process can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// It runs.
    Nudges,
    /// It has ended.
    Relaunches,
}

/// Is any command queued?
pub fn has_command(db: &mut Db, lease: &Lease) -> QueryResult<bool> {
    let of_session = session_commands::table.filter(session_commands::session_id.eq(&lease.id)).filter(queued());
    diesel::select(diesel::dsl::exists(of_session)).get_result(db)
}

/// Takes the oldest command that is queued. One that the process cannot take, or that would disturb a session that is
/// not active or must not be disturbed, has failed.
pub fn claim(db: &mut Db, lease: &Lease, takes: Takes, now: DateTime<Utc>) -> QueryResult<Option<ClaimedCommand>> {
    let oldest = session_commands::table
        .filter(session_commands::session_id.eq(&lease.id))
        .filter(queued())
        .order((session_commands::created_at, session_commands::id))
        .select((session_commands::id, session_commands::command, session_commands::message))
        .first::<(Id, String, Option<String>)>(db)
        .optional()?;
    let Some((id, command, message)) = oldest else { return Ok(None) };
    // Its row is locked with this, so that nobody pauses it meanwhile.
    let undisturbed = held_by(lease).filter(sessions::status.eq("active")).filter(sessions::stall_paused.eq(false));
    let is_active = 0 < diesel::update(undisturbed).set(sessions::updated_at.eq(Instant(now))).execute(db)?;
    let what = match (is_active, command.as_str(), takes) {
        (true, "nudge", Takes::Nudges) => Some(What::Nudge(message)),
        (true, "relaunch", Takes::Relaunches) => Some(What::Relaunch(now.trunc_subsecs(3))),
        _ => None,
    };
    let status = if what.is_some() { "delivered" } else { "failed" };
    let still_queued = session_commands::table.filter(session_commands::id.eq(&id)).filter(queued());
    let rows = diesel::update(still_queued)
        .set((session_commands::status.eq(status), session_commands::updated_at.eq(Instant(now))))
        .execute(db)?;
    if rows == 0 {
        return Ok(None);
    }
    if let Some(What::Relaunch(started_at)) = what {
        // At once: between the command and its effect the session would look crashed, with nothing on the way.
        found(diesel::update(held_by(lease)).set(Restart::at(started_at)).execute(db)?)?;
    }
    Ok(what.map(|what| ClaimedCommand { id, what }))
}

/// A command that was taken could not be carried out.
pub fn fail(db: &mut Db, command_id: &Id, now: DateTime<Utc>) -> QueryResult<()> {
    diesel::update(session_commands::table.filter(session_commands::id.eq(command_id)))
        .set((session_commands::status.eq("failed"), session_commands::updated_at.eq(Instant(now))))
        .execute(db)
        .map(drop)
}
