//! Connecting to PostgreSQL, through libpq.

use anyhow::{Result, bail, ensure};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Text};

use super::conninfo::{self, Conninfo};
use super::patience::{self, Patience};
use super::unanswered::Asking;
use crate::conclusion::{Failure, config, unavailable};
use crate::store::db::connection::StatementCache;
use crate::store::hosts::migrate::SetUp;
use crate::store::{Access, Db, DbConnection};

/// Connects to a server.
pub(super) fn connect(url: &str, cache: &StatementCache) -> Result<DbConnection> {
    refuse_ports(url)?;
    let mut asking = Asking::of(url);
    asking.asks("the request for a connection".to_owned());
    let connection = match patience::to_connect(url) {
        None => establish(url),
        Some(patience) => {
            let its_url = url.to_owned();
            patience::within(Patience::of(patience), url, move || establish(&its_url))
                .map_err(|why| unavailable(format!("cannot reach PostgreSQL: {why}")))?
        }
    };
    let mut connection = connection.map_err(refuse_connection)?;
    connection.set_instrumentation(Asking::of(url));
    let mut db = DbConnection::new(Db::Postgres(connection), cache.clone(), None);
    db.repeats(false);
    Ok(db)
}

/// libpq gives a password to whoever asks for it, in clear text as well: whatever answers at the address, or stands in
/// between. Here it is given so only over TLS, or when the URL's own `require_auth` lets it be.
fn establish(url: &str) -> ConnectionResult<PgConnection> {
    let guarded = || PgConnection::establish(&conninfo::with(url, "require_auth", "!password"));
    match ClearText::of(&Conninfo::read(url)) {
        ClearText::AsSaid | ClearText::Encrypted => PgConnection::establish(url),
        ClearText::Refused => guarded(),
        ClearText::OverTls => guarded().or_else(|refused| match asked_for_clear_text(&refused.to_string()) {
            // What cannot be encrypted is refused for its first reason.
            true => PgConnection::establish(&conninfo::with(url, "sslmode", "require"))
                .map_err(|error| if error.to_string().contains("does not support SSL") { refused } else { error }),
            false => Err(refused),
        }),
    }
}

/// What becomes of a password that the server wants in clear text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClearText {
    /// The URL says itself how the server may ask.
    AsSaid,
    /// There will be TLS, or no connection.
    Encrypted,
    /// libpq would use TLS if the server has it: with TLS and only with it, the password is given.
    OverTls,
    /// There will be no TLS, or it cannot be known before: it is not given.
    Refused,
}

impl ClearText {
    fn of(url: &Conninfo) -> ClearText {
        match (url.get("require_auth"), url.get("sslmode")) {
            (Some(_), _) => ClearText::AsSaid,
            (None, _) if url.is_encrypted() => ClearText::Encrypted,
            (None, None | Some("prefer" | "allow")) if url.can_be_encrypted() => ClearText::OverTls,
            (None, _) => ClearText::Refused,
        }
    }
}

fn asked_for_clear_text(message: &str) -> bool {
    message.contains("authentication method requirement ") && message.contains("!password\" failed")
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

/// Shortens the words of libpq, which repeats itself for each way that it tried, adds advice, and quotes what it cannot
/// parse: maybe a password.
fn words_of(error: &ConnectionError) -> String {
    let message = error.to_string();
    // Without its host, a URL's password is taken for the port.
    let about_the_port = ["connection option \"port\"", "invalid port number"].iter().any(|it| message.contains(it));
    if about_the_port && message.split('"').nth(1).is_some_and(|value| !is_nearly_a_port(value)) {
        return NO_PORT.to_owned();
    }
    let about_a_name =
        ["invalid connection option", "invalid URI query parameter"].iter().any(|it| message.contains(it));
    let is_unlike_a_name = || message.split('"').nth(1).is_some_and(|name| !conninfo::is_name(name));
    if ["connection info string", "percent-encoded", "key/value separator"].iter().any(|it| message.contains(it))
        || (about_a_name && is_unlike_a_name())
    {
        return "the connection string is malformed: encode special characters in a URL (a space as %20), \
                quote values in key='value' pairs"
            .to_owned();
    }
    if asked_for_clear_text(&message) {
        return "the server asks for the password in clear text over a connection without TLS, so it was not given: use \
                sslmode=verify-full, or add require_auth=password to the URL if the way to this server is safe"
            .to_owned();
    }
    let mut lines: Vec<&str> = message.lines().filter(|line| !line.starts_with('\t')).collect();
    lines.dedup();
    lines.join("; ")
}

const NO_PORT: &str = "the port is no number from 1 to 65535; behind the password of a URL stands @ and the host";

/// libpq looks at the port of a further host only when it gets there.
fn refuse_ports(url: &str) -> Result<(), Failure> {
    let is_too_large = |port: &&str| {
        !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()) && port.parse::<u16>().is_err()
    };
    let why = match Conninfo::read(url).ports().find(is_too_large) {
        None => return Ok(()),
        Some(port) if is_nearly_a_port(port) => format!("the port {port} is above 65535"),
        Some(_) => NO_PORT.to_owned(),
    };
    Err(config(format!("cannot connect to PostgreSQL: {why}")))
}

/// Is it close enough to a port to be shown? Then it cannot be much of a password.
fn is_nearly_a_port(value: &str) -> bool {
    value.len() <= 5 && value.starts_with(|c: char| c.is_ascii_digit())
}

/// What trying again does not mend, in the words of libpq, which are always English, and of the SQLSTATEs 28, 3D000,
/// 42501 and 42704, which a server says before libpq knows their codes: in another language it is taken for what may
/// pass.
const LASTING: [&str; 34] = [
    // libpq
    "invalid connection option", "invalid URI", "invalid integer value", "invalid port number", " value: \"",
    " value \"", "the connection string is malformed", NO_PORT, "certificate", "private key", "does not support SSL",
    "over a connection without TLS", "authentication method requirement", "channel binding", "no password supplied",
    "could not match", "service file", "definition of service", "requirepeer", "require_auth", "is too long",
    // PostgreSQL, poolers
    "authentication failed", "pg_hba.conf", "does not exist", "is not permitted to log in",
    "permission denied for database", "permission denied to set parameter", "unrecognized configuration parameter",
    "invalid value for parameter", "unsupported frontend protocol", "unsupported startup parameter",
    "no such database", "no such user", "auth failed",
];

/// Distinguishes what lasts from what may pass: the server starts, is full, shuts down or is out of reach, for us or
/// for the pooler in between.
fn refuse_connection(error: ConnectionError) -> Failure {
    let message = words_of(&error);
    // Once it has let us in, it is no more than busy or on its way down.
    let is_in = matches!(error, ConnectionError::CouldntSetupConfiguration(_));
    match !is_in && will_last(&message) {
        false => unavailable(format!("cannot reach PostgreSQL: {message}")),
        true => config(format!("cannot connect to PostgreSQL: {message}")),
    }
}

/// Is it in vain to try again? If several servers were tried, one that may be back is enough.
fn will_last(message: &str) -> bool {
    let mut tries = message.split("connection to server ").filter(|tried| !tried.is_empty());
    tries.all(|tried| LASTING.iter().any(|phrase| tried.contains(phrase)))
}

/// Is it a standby, is there a schema `sweep`, with what says who set it up; is this role a superuser, and to which
/// lesser role does the schema belong then?
const FIRST_LOOK: &str = "SELECT pg_is_in_recovery() AS is_standby, \
    EXISTS (SELECT FROM pg_namespace WHERE nspname = 'sweep') AS is_there, \
    2 = (SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace \
         WHERE nspname = 'sweep' AND relname IN ('host', '__diesel_schema_migrations')) AS has_record, \
    (SELECT rolsuper FROM pg_roles WHERE rolname = session_user) AS is_superuser, \
    (SELECT format('%I', o.rolname) FROM pg_namespace JOIN pg_roles o ON o.oid = nspowner JOIN pg_roles r \
     ON r.rolname = session_user WHERE nspname = 'sweep' AND r.rolsuper AND NOT o.rolsuper) AS owner";

#[derive(QueryableByName)]
struct FirstLook {
    #[diesel(sql_type = Bool)]
    is_standby: bool,
    #[diesel(sql_type = Bool)]
    is_there: bool,
    #[diesel(sql_type = Bool)]
    has_record: bool,
    #[diesel(sql_type = Nullable<Bool>)]
    is_superuser: Option<bool>,
    /// The lesser role that the schema belongs to, where this one is a superuser.
    #[diesel(sql_type = Nullable<Text>)]
    owner: Option<String>,
}

/// What others could do there with a superuser's rights. Planning it takes longer than all else that is asked of a
/// database with nothing to do: no other role asks it.
const REFUSAL: &str =
    concat!(include_str!("../../hosts/migrate/trusted.sql"), include_str!("../../hosts/migrate/strangers.sql"));

#[derive(QueryableByName)]
struct Stranger {
    #[diesel(sql_type = Text)]
    sentence: String,
}

/// Is there anything to look at; and if so, what says who set it up? Whoever owns the schema is trusted with the rights
/// of the role that sweeps, but not with a superuser's; and a standby can be read only.
pub(super) fn first_look(db: &mut PgConnection, access: Access) -> Result<Option<SetUp>> {
    let look: FirstLook = diesel::sql_query(FIRST_LOOK).get_result(db)?;
    let cannot = "this server is a hot standby and cannot be written to: only a dry run works on it";
    ensure!(!look.is_standby || access == Access::ReadOnly, unavailable(cannot));
    if let Some(owner) = look.owner {
        bail!(config(format!(
            "this role is a superuser, and the schema sweep belongs to {owner}: what stands there would run with a \
             superuser's rights. Use {owner}, or a role of deploy/postgres/role.sql"
        )));
    }
    if look.is_superuser == Some(true) {
        let refusal: Option<Stranger> = diesel::sql_query(REFUSAL).get_result(db).optional()?;
        refusal.map_or(Ok(()), |refusal| Err(config(refusal.sentence)))?;
    }
    Ok(look.is_there.then_some(if look.has_record { SetUp::Recorded } else { SetUp::Unknown }))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::will_last;

    #[rstest]
    #[case::it_starts("FATAL:  the database system is starting up")]
    #[case::it_recovers(
        "FATAL:  the database system is not yet accepting connections; DETAIL:  Consistent recovery state has not been \
            yet reached."
    )]
    #[case::it_starts_in_german("FATAL:  das Datenbanksystem startet")]
    #[case::it_starts_in_french("FATAL:  le système de bases de données se lance")]
    #[case::it_starts_in_japanese("FATAL:  データベースシステムは起動処理中です")]
    #[case::it_shuts_down_in_german("FATAL:  das Datenbanksystem fährt herunter")]
    #[case::it_is_full("FATAL:  sorry, too many clients already")]
    #[case::it_is_full_in_spanish("FATAL:  lo siento, ya tenemos demasiados clientes")]
    #[case::it_has_no_memory("FATAL:  out of memory; DETAIL:  Failed on request of size 64.")]
    #[case::the_poolers_server_is_away("FATAL:  server login has been failing, try again later (server_login_retry)")]
    #[case::the_pooler_waited("FATAL:  query_wait_timeout")]
    #[case::nobody_has_thought_of_it("something that nobody has seen yet")]
    fn what_may_pass_is_no_fault_of_the_settings(#[case] says: &str) {
        assert!(!will_last(&format!("connection to server at \"db\" (10.0.0.1), port 5432 failed: {says}")), "{says}");
    }

    #[rstest]
    #[case("FATAL:  password authentication failed for user \"app\"")]
    #[case("FATAL:  role \"app\" does not exist")]
    #[case("FATAL:  database \"agents\" does not exist")]
    #[case("FATAL:  permission denied for database \"agents\"; DETAIL:  User does not have CONNECT privilege.")]
    #[case("FATAL:  no pg_hba.conf entry for host \"10.0.0.2\", user \"app\", database \"agents\", no encryption")]
    #[case("server does not support SSL, but SSL was required")]
    #[case("SSL error: certificate verify failed: self-signed certificate")]
    #[case("fe_sendauth: no password supplied")]
    fn what_will_not_pass_is(#[case] says: &str) {
        assert!(will_last(&format!("connection to server at \"db\" (10.0.0.1), port 5432 failed: {says}")), "{says}");
    }

    #[test]
    fn of_several_servers_one_that_may_be_back_is_enough() {
        let down = "connection to server at \"a\", port 5432 failed: Connection refused; ";
        let wrong = "connection to server at \"b\", port 5432 failed: FATAL:  role \"app\" does not exist";
        assert!(!will_last(&format!("{down}{wrong}")) && will_last(&format!("{wrong}; {wrong}")));
    }
}
