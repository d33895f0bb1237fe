//! The database itself: is it reached, by whom, and what stands in between? And do the clocks agree?

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::diagnosis::{CheckName, CheckUp, DoctorOptions};
use crate::conclusion::conclusion_of;
use crate::store::connect::listen::{ListenMode, Source};
use crate::store::connect::open::conninfo::ServerPlace;
use crate::store::hosts::folders::Host;
use crate::store::read::installation::{DatabasePlace, Installation, ServerState};
use crate::store::{Access, Timeouts, Url};
use crate::sweep::clock;

/// A database that answers.
pub struct Reached {
    pub installation: Installation,
    /// The time until the first connection was there.
    took: Duration,
    /// The process that answered a second connection while the first was open.
    second_process: Option<i32>,
}

pub fn reach(url: &Url, timeouts: &Timeouts) -> Result<Reached> {
    url.ask(timeouts, |url| {
        let began = Instant::now();
        let mut db = url.connect(Access::ReadOnly)?;
        let took = began.elapsed();
        let installation = Installation::read(&mut db).map_err(|error| url.explain(error))?;
        let second_process = match &installation.place {
            DatabasePlace::File(_) => None,
            DatabasePlace::Server(_) => match Installation::read(&mut url.connect(Access::ReadOnly)?)?.place {
                DatabasePlace::Server(state) => Some(state.process),
                DatabasePlace::File(_) => None,
            },
        };
        Ok(Reached { installation, took, second_process })
    })
}

/// What there is to say of a database that is reached.
pub fn check(reached: &Reached, pooler: Option<&str>, url: &Url, options: &DoctorOptions) -> Vec<CheckUp> {
    let Installation { version, place } = &reached.installation;
    let connection =
        CheckUp::ok(CheckName::Connection, format!("{version}, connected in {}ms", reached.took.as_millis()));
    let rest = match place {
        DatabasePlace::Server(server) => {
            vec![
                check_server(server),
                check_tls(server, url),
                check_pooler(pooler, reached.second_process == Some(server.process), url, options),
            ]
        }
        DatabasePlace::File(mode) => vec![check_journal(mode)],
    };
    [connection].into_iter().chain(rest).collect()
}

/// What sweep has set up has a write-ahead log; another program's file has what that program chose.
fn check_journal(mode: &str) -> CheckUp {
    match mode {
        "wal" => CheckUp::ok(CheckName::Journal, "a write-ahead log (wal): nobody who reads waits for a sweep"),
        mode => CheckUp::ok(CheckName::Journal, format!("{mode}, as its program chose: readers wait for a sweep")),
    }
}

/// Is it a server to whose tables sweeps may write, and nobody else does from afar?
fn check_server(server: &ServerState) -> CheckUp {
    match server.subscribed_tables {
        _ if server.is_standby => CheckUp::warning(
            CheckName::Server,
            "it is a hot standby: it can be looked at, and not be swept",
            "give sweeps the URL of the primary",
        ),
        Some(1..) => CheckUp::warning(
            CheckName::Server,
            "another server writes to its tables by logical replication",
            "sweep the server that publishes them: what is written here is not written there",
        ),
        Some(_) | None => CheckUp::ok(CheckName::Server, "it can be written to"),
    }
}

fn check_tls(server: &ServerState, url: &Url) -> CheckUp {
    // Behind a pooler this is the pooler's own connection.
    let spoken = server.tls.as_deref().unwrap_or("not encrypted, as the server sees it");
    let Some(conninfo) = url.conninfo() else { return CheckUp::ok(CheckName::Tls, spoken) };
    if let Some(sslmode) = conninfo.unverified() {
        let found = format!("{spoken}, and others on the way could answer in the server's place (sslmode={sslmode})");
        let advice = "add sslmode=verify-full and sslrootcert to its URL: see the section TLS of docs/operating.md";
        return CheckUp::warning(CheckName::Tls, found, advice);
    }
    let places = conninfo.places();
    let version = server.tls.as_ref().map(|version| format!("{version}, and "));
    let found = if places.contains(&ServerPlace::Remote) {
        format!("{}the server proves who it is (sslmode=verify-full)", version.unwrap_or_default())
    } else if server.is_by_socket || places.contains(&ServerPlace::Socket) {
        "none is needed: a Unix socket of this machine".to_owned()
    } else {
        format!("{spoken}: the server is on this machine, or libpq's own files name it")
    };
    CheckUp::ok(CheckName::Tls, found)
}

/// Two connections that are open at once are answered by one process where a pooler lends it for a transaction.
fn check_pooler(known: Option<&str>, is_lent: bool, url: &Url, options: &DoctorOptions) -> CheckUp {
    let Some(listen_url) = &options.listen_url else {
        let advice =
            "have the daemon listen past it, by SWEEP_LISTEN_URL: see the section Runs that end of docs/daemon.md";
        return match known {
            _ if options.listen == ListenMode::Off && (known.is_some() || is_lent) => {
                CheckUp::ok(CheckName::Pooler, "a transaction pooler, through which sweeps go; nobody listens")
            }
            Some(name) => CheckUp::warning(
                CheckName::Pooler,
                format!("{name} is a transaction pooler: no notification passes it"),
                advice,
            ),
            None if is_lent => {
                CheckUp::warning(CheckName::Pooler, "a transaction pooler: no notification passes it", advice)
            }
            None => CheckUp::ok(CheckName::Pooler, "none is noticed"),
        };
    };
    let source = Source { database: url.clone(), connection: Some(listen_url.clone()), listening: options.listen };
    let asked = url.ask(&options.timeouts, move |_| source.refuse_another());
    match asked {
        Ok(()) => {
            CheckUp::ok(CheckName::Pooler, "the daemon listens at SWEEP_LISTEN_URL, which leads to the same database")
        }
        Err(error) => {
            let advice = "correct SWEEP_LISTEN_URL: see the section Runs that end of docs/daemon.md";
            CheckUp::problem(CheckName::Pooler, conclusion_of(&error), format!("SWEEP_LISTEN_URL: {error:#}"), advice)
        }
    }
}

/// The database's clock beside this machine's, and the host's; a file has none of its own.
pub fn check_clock(url: &Url, host: Option<&Arc<Host>>, timeouts: &Timeouts) -> Option<CheckUp> {
    if matches!(url, Url::Sqlite(_)) {
        return None;
    }
    let (host, its_timeouts) = (host.cloned(), *timeouts);
    let clocks = url.ask(timeouts, move |url| {
        let mut db = url.connect(Access::ReadOnly)?;
        let clocks = db.look(|db| clock::compare(db).context("reading the database's clock"))?;
        let behind = host.and_then(|host| clock::host_behind(&mut db, &host, &its_timeouts));
        Ok(clock::Clocks { host_behind_seconds: behind, ..clocks })
    });
    Some(match clocks {
        Err(error) => CheckUp::failed(CheckName::Clock, &error, "see the section SweepDatabaseDown of docs/runbook.md"),
        Ok(clocks) => match clocks.warnings().as_slice() {
            [] => CheckUp::ok(CheckName::Clock, "the database's and this machine's agree"),
            warnings => CheckUp::warning(
                CheckName::Clock,
                warnings.join(". "),
                "have all machines keep time by NTP: `timedatectl` says whether this one does",
            ),
        },
    })
}
