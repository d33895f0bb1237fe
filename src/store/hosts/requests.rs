//! What a person may ask for on this host: a host without the columns that a request writes does not have it.

use diesel::prelude::*;

use crate::rules::request::Request;
use crate::store::Db;
use crate::store::hosts::catalog::has_columns;

/// The relation of the host's in which a request is written, beside wakes and commands.
pub(in crate::store) struct RequestedRow {
    pub relation: &'static str,
    pub written: &'static [&'static str],
    /// What the write repeats of what was seen.
    as_seen: &'static [&'static str],
}

impl RequestedRow {
    pub fn of(request: Request) -> Option<RequestedRow> {
        let (relation, written, as_seen): (_, &[&str], &[&str]) = match request {
            Request::Wake | Request::Nudge | Request::Relaunch => return None,
            Request::Heartbeat => ("sessions", &["last_activity_at"], &["status", "stall_paused", "ended_at"]),
            Request::Pause | Request::Resume => ("sessions", &["stall_paused"], &["status", "stall_paused"]),
            Request::FailStep | Request::SkipStep => ("plan_steps", &["status", "updated_at"], &["status"]),
        };
        Some(RequestedRow { relation, written, as_seen })
    }

    /// The rights that are needed to write it.
    pub fn rights(&self) -> impl Iterator<Item = (String, String)> {
        let RequestedRow { relation, written, as_seen } = *self;
        let of = move |privilege: &str, column: &str| (relation.to_owned(), format!("{privilege} ({column})"));
        written.iter().map(move |it| of("UPDATE", it)).chain(as_seen.iter().map(move |it| of("SELECT", it)))
    }
}

/// Has the host what a request writes?
pub(in crate::store) fn is_provided(db: &mut Db, request: Request) -> QueryResult<bool> {
    let Some(RequestedRow { relation, written, as_seen }) = RequestedRow::of(request) else { return Ok(true) };
    has_columns(db, relation, &[written, as_seen].concat())
}
