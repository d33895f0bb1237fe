//! Connecting to PostgreSQL, through libpq.

use anyhow::Result;
use diesel::connection::CacheSize;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;

use super::StatementCache;
use crate::exit::{Refusal, config, unavailable};
use crate::store::{Access, Db};

/// Connects to a server.
pub(super) fn connect(url: &str, cache: StatementCache) -> Result<Db> {
    let mut db = PgConnection::establish(url).map_err(refuse_connection)?;
    db.set_prepared_statement_cache_size(match cache {
        StatementCache::On => CacheSize::Unbounded,
        StatementCache::Off => CacheSize::Disabled,
    });
    Ok(Db::Postgres(db))
}

/// Would libpq take a part of the password for the host, and name it in an error?
pub(super) fn is_ambiguous(url: &str) -> bool {
    let Some((credentials, rest)) = url.split_once('@') else {
        return false;
    };
    let in_query = credentials.split_once('?').is_some_and(|(_, query)| query.contains('='));
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    !in_query && (credentials.contains('/') || host.contains('@'))
}

/// libpq says the same for each way that it tried, adds advice, and quotes what it cannot parse: maybe a password.
fn words_of(error: &ConnectionError) -> String {
    let message = error.to_string();
    // Without its host, a URL's password is taken for the port.
    let about_the_port = ["connection option \"port\"", "invalid port number"].iter().any(|it| message.contains(it));
    if about_the_port && message.split('"').nth(1).is_some_and(|value| !is_nearly_a_port(value)) {
        return "the port is no number; behind the password of a URL stands @ and the host".to_owned();
    }
    if ["connection info string", "percent-encoded"].iter().any(|phrase| message.contains(phrase)) {
        return "the connection string is malformed: encode special characters in a URL (a space as %20), \
                quote values in key='value' pairs"
            .to_owned();
    }
    let mut lines: Vec<&str> = message.lines().filter(|line| !line.starts_with('\t')).collect();
    lines.dedup();
    lines.join("; ")
}

/// Close enough to be shown: it cannot be much of a password.
fn is_nearly_a_port(value: &str) -> bool {
    value.len() <= 5 && value.starts_with(|c: char| c.is_ascii_digit())
}

/// What trying again may mend is *unavailable*; the rest is configuration.
fn refuse_connection(error: ConnectionError) -> Refusal {
    let message = words_of(&error);
    let passing = [
        "Connection refused",
        "timeout expired",
        "No such file or directory",
        "starting up",
        "shutting down",
        "too many",
        "no more connections",
        "remaining connection slots",
        "server closed the connection",
        "unexpected eof",
        "SYSCALL error",
        "Connection reset",
        "Broken pipe",
        "could not translate host name",
        "No route to host",
        "Network is unreachable",
        "in recovery mode",
        "hot standby mode",
        "session is read-only",
    ];
    // Once it has let us in, it is no more than busy or on its way down.
    let is_in = matches!(error, ConnectionError::CouldntSetupConfiguration(_));
    match is_in || passing.iter().any(|phrase| message.contains(phrase)) {
        true => unavailable(format!("cannot reach PostgreSQL: {message}")),
        false => config(format!("cannot connect to PostgreSQL: {message}")),
    }
}

/// A standby can be read only.
pub(super) fn refuse_standby(db: &mut PgConnection, access: Access) -> Result<()> {
    let standby: bool = diesel::select(sql::<Bool>("pg_is_in_recovery()")).get_result(db)?;
    match (standby, access) {
        (true, Access::Write) => {
            Err(unavailable("this server is a hot standby and cannot be written to: only --dry-run works on it").into())
        }
        (true, Access::ReadOnly) | (false, _) => Ok(()),
    }
}
