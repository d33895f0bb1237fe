//! Servers that restart, or hand over to their standby, in the middle of a sweep.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use diesel::RunQueryDsl;
use diesel::dsl::sql;
use diesel::sql_types::Text;
use serde_json::Value;
use sweep::store::Db;

use super::{BUSY, DONE, SOME_FAILED, UNAVAILABLE};
use crate::support::databases::{connect, run};
use crate::support::json;
use crate::support::program::{BINARY, sweep_at};
use crate::support::server::Server;
use crate::support::wait::wait_until;

/// Enough orphans that their sweep is under way when its server goes.
const ORPHANS: usize = 400;

pub fn texts(url: &str, query: &str) -> Vec<String> {
    match &mut connect(url) {
        Db::Postgres(db) => sql::<Text>(query).load(db).unwrap_or_else(|error| panic!("{error}: {query}")),
        Db::Sqlite(_) => unreachable!("a URL of PostgreSQL"),
    }
}

/// The report of a disturbed sweep about its subjects.
pub struct Told {
    pub code: i32,
    rows: Vec<Value>,
}

impl Told {
    pub fn ids(&self, outcome: &str) -> BTreeSet<String> {
        let rows = self.rows.iter().filter(|row| row["outcome"] == outcome);
        rows.map(|row| row["id"].as_str().expect("an id").to_owned()).collect()
    }
}

/// Runs a sweep with four connections, and disturbs it when so many subjects are done.
pub fn sweep_disturbed_by(url: &str, after: usize, happens: impl FnOnce()) -> Told {
    let mut command = Command::new(BINARY);
    command
        .args(["--database", url, "--output", "ndjson", "--no-guard", "--set", "wakes_per_agent_max=1000000"])
        .env("SWEEP_LOG", "off");
    let mut sweep = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("sweep");
    let (mut out, mut text) = (BufReader::new(sweep.stdout.take().expect("a pipe")), String::new());
    while text.matches("\"continued\"").count() < after {
        if out.read_line(&mut text).expect("a line") == 0 {
            let output = sweep.wait_with_output().expect("an end");
            panic!("it ended before, {}: {text}{}", output.status, String::from_utf8_lossy(&output.stderr));
        }
    }
    happens();
    out.read_to_string(&mut text).expect("a report");
    let output = sweep.wait_with_output().expect("an end");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{errors}");
    let code = output.status.code().expect("an exit code");
    assert!([DONE, SOME_FAILED, UNAVAILABLE, BUSY].contains(&code), "{code}: {errors}");
    Told { code, rows: text.lines().map(json::parse_valid).collect() }
}

/// Checks that the report holds on the present server, and that the next sweep finishes.
fn assert_truth(reported: &Told, url: &str) {
    let woken: BTreeSet<String> = texts(url, "select issue_id::text from sweep.wakes").into_iter().collect();
    let in_ledger: BTreeSet<String> = texts(url, "select subject_id::text from sweep.recoveries").into_iter().collect();
    assert_eq!(woken, in_ledger, "half applied");
    let (continued, unknown, failed) = (reported.ids("continued"), reported.ids("unknown"), reported.ids("failed"));
    assert!(continued.is_subset(&woken), "lost: {:?}", continued.difference(&woken));
    assert!(failed.is_disjoint(&woken), "done, and called failed: {:?}", failed.intersection(&woken));
    let notified_of: BTreeSet<String> = continued.union(&unknown).cloned().collect();
    assert!(woken.is_subset(&notified_of), "done, and not reported: {:?}", woken.difference(&notified_of));
    // Every worker was in the middle of something.
    assert!(!failed.is_empty() || !unknown.is_empty(), "nothing was disturbed");
    assert_ne!(reported.code, DONE);
    assert!(20 <= continued.len() && continued.len() < ORPHANS, "{} continued", continued.len());

    sweep_at(url, []).run().done();
    let wakes = texts(url, "select count(*) || ' of ' || count(distinct issue_id) from sweep.wakes");
    assert_eq!(wakes, [format!("{ORPHANS} of {ORPHANS}")]);
    assert_eq!(texts(url, "select count(*)::text from sweep.recoveries"), [ORPHANS.to_string()]);
}

#[test]
fn a_server_that_restarts_at_once_in_mid_sweep_loses_and_doubles_nothing() {
    let server = Server::start().with_orphans(ORPHANS);
    let reported = sweep_disturbed_by(&server.url, 20, || {
        server.crash();
        server.restart();
    });
    assert_truth(&reported, &server.url);
}

/// The replication is synchronous, so the standby has all that the primary confirmed.
#[test]
fn what_was_reported_holds_on_a_standby_that_was_promoted_in_mid_sweep() {
    let primary = Server::start().with_orphans(ORPHANS);
    let standby = primary.standby();
    // Only now, since the standby's own settings are a copy, and it will have no standby to wait for.
    run(&mut connect(&primary.url), "alter system set synchronous_standby_names = '*'");
    run(&mut connect(&primary.url), "select pg_reload_conf()");
    let place = |server: &Server| server.directory.path().display().to_string();
    let url = format!(
        "host={},{} port={},{} user=postgres dbname=postgres target_session_attrs=read-write",
        place(&primary),
        place(&standby),
        primary.port(),
        standby.port()
    );
    wait_until("a standby that is waited for", || {
        texts(&primary.url, "select sync_state from pg_stat_replication") == ["sync"]
    });

    let reported = sweep_disturbed_by(&url, 20, || {
        primary.crash();
        // There is no server to write to before the standby is promoted.
        sweep_at(&url, []).run().refused(UNAVAILABLE, &["cannot reach PostgreSQL"]);
        standby.promote();
    });

    assert_truth(&reported, &url);
    assert_eq!(texts(&url, "select pg_is_in_recovery()::text"), ["false"]);
}
