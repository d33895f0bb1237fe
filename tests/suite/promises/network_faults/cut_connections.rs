//! Connections that are cut at any byte.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sweep::conclusion::{Conclusion, conclusion_of};
use sweep::report::{Detail, Format, Report};
use sweep::rules::Id;
use sweep::store::connect::open::Url;
use sweep::sweep::{Cancel, Options};

use crate::support::proxy::{Afterwards, Cut, Direction, Proxy};
use crate::support::rounds::rounds;
use crate::support::world::{On, World};

/// The number of cuts over the whole length of a sweep, besides those around its COMMITs.
const SPREAD: usize = 100;

/// One issue to continue and one to escalate, reset after each cut.
struct Company {
    world: World,
    fresh: Id,
    tried: Id,
    /// The outcomes that were reported.
    reported: BTreeSet<String>,
    /// The states that cuts have left behind, and the next sweep has finished.
    finished: BTreeSet<Left>,
}

/// The state that a cut has left behind, as the next sweep can see it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Left {
    continued: bool,
    escalated: bool,
    unfinished_sweeps: i64,
    failures: i64,
}

const TABLES: &str =
    "select tablename from pg_tables where schemaname = 'sweep' and tablename <> '__diesel_schema_migrations'";

impl Company {
    fn new() -> Company {
        let mut world = World::new(On::Postgres);
        let agent = world.agent("idle");
        let tried = world.orphan(&agent);
        world.sweep();
        world.end_continuations("failed");
        world.pass(10);
        let fresh = world.orphan(&agent);
        world.run(&format!(
            "create schema saved;
             do $$ declare name text; begin
                 for name in {TABLES} loop execute format('create table saved.%I as table sweep.%1$I', name); end loop;
             end $$"
        ));
        Company { world, fresh, tried, reported: BTreeSet::new(), finished: BTreeSet::new() }
    }

    fn put_back(&mut self) {
        self.world.run(&format!(
            "set session_replication_role = replica;
             do $$ declare name text; begin
                 for name in {TABLES} loop
                     execute format('delete from sweep.%I', name);
                     execute format('insert into sweep.%I overriding system value select * from saved.%1$I', name);
                 end loop;
             end $$;
             reset session_replication_role"
        ));
    }

    /// Whether a sweep acted on each issue: wholly or not at all.
    #[track_caller]
    fn acted_on(&mut self, when: &str) -> (bool, bool) {
        let (fresh, tried, world) = (&self.fresh, &self.tried, &mut self.world);
        let entries = |action, id| format!("recoveries where action = '{action}' and subject_id = '{id}'");
        let continued = (world.count(&entries("continue", fresh)), world.wakes_for(fresh));
        let blocked = world.count(&format!("issues where id = '{tried}' and status = 'blocked'"));
        let escalated = (world.count(&entries("escalate", tried)), world.comments_on(tried), blocked);
        assert!([(0, 0), (1, 1)].contains(&continued), "{when}: {continued:?}");
        assert!([(0, 0, 0), (1, 1, 1)].contains(&escalated), "{when}: {escalated:?}");
        assert_eq!((world.count(&entries("continue", tried)), world.wakes_for(tried)), (1, 1), "{when}");
        assert_eq!((world.count(&entries("escalate", fresh)), world.comments_on(fresh)), (0, 0), "{when}");
        (continued == (1, 1), escalated == (1, 1, 1))
    }

    /// Sweeps through a proxy. Returns how the sweep ended, and its report, if there is one.
    fn sweep_through(&self, proxy: &Proxy, dry_run: bool) -> (Conclusion, Value) {
        let database = Url::parse(&proxy.url(self.world.name(), "disable")).expect("a URL");
        let options = Options { connections: 1, dry_run, ..Options::of(database) };
        let mut out = Vec::new();
        let mut report = Report::new(Format::Json, Detail::Table, &mut out);
        let ended = sweep::sweep::run(&options, &Cancel::default(), &mut report);
        let exit = ended.map(|summary| summary.conclusion).unwrap_or_else(|error| {
            let exit = conclusion_of(&error);
            assert_eq!(exit, Conclusion::Unavailable, "{error:#}");
            exit
        });
        let report = if out.is_empty() {
            Value::Null
        } else {
            crate::support::json::parse_valid(&String::from_utf8(out).expect("UTF-8"))
        };
        (exit, report)
    }

    /// Compares the report about each issue with what was done about it.
    #[track_caller]
    fn compare(&mut self, exit: Conclusion, report: &Value, when: &str) {
        let (continued, escalated) = self.acted_on(when);
        for (id, expected, acted_on) in [(&self.fresh, "continued", continued), (&self.tried, "escalated", escalated)] {
            let row = report["subjects"].as_array().into_iter().flatten().find(|row| row["id"] == id.0);
            let outcome = row.and_then(|row| row["outcome"].as_str());
            let is_settled = row.is_some_and(|row| row["reason"] == "its commit was confirmed by the ledger");
            self.reported.insert(if is_settled { "confirmed" } else { outcome.unwrap_or("nothing") }.to_owned());
            match outcome {
                Some("unknown") => assert_ne!(exit, Conclusion::Done, "{when}"),
                Some("failed") => assert!(!acted_on && exit != Conclusion::Done, "{when}"),
                Some("busy") | None => assert!(!acted_on && (exit != Conclusion::Done), "{when}"),
                Some(other) => assert!(other == expected && acted_on, "{when}"),
            }
        }
    }

    fn sweep_and_compare(&mut self, cut: Cut) {
        self.put_back();
        let proxy = Proxy::start(Some(cut));
        let (exit, report) = self.sweep_through(&proxy, false);
        let when = format!("{cut:?}, {exit:?}, {report}");
        assert!(proxy.has_cut(), "{when}");
        assert!(
            [Conclusion::Done, Conclusion::SomeFailed, Conclusion::Unavailable, Conclusion::Busy].contains(&exit),
            "{when}"
        );
        self.world.wait_for_the_dead();

        self.compare(exit, &report, &when);

        let (continued, escalated) = self.acted_on(&when);
        let unfinished_sweeps = self.world.count("sweeps where finished_at is null");
        let failures = self.world.count("failures");
        if !self.finished.insert(Left { continued, escalated, unfinished_sweeps, failures }) {
            return;
        }
        let next = self.world.sweep();
        assert_eq!(next.exit, Conclusion::Done, "{when}, then {}", next.json);
        assert_eq!(self.acted_on(&when), (true, true), "then {}", next.json);
    }
}

/// The bytes at which to cut: spread over everything that passes, and each byte of a COMMIT or of its answer.
fn places(passed: &[u8]) -> Vec<usize> {
    let commits = passed.windows(6).enumerate().filter(|(_, window)| window == b"COMMIT").map(|(at, _)| at);
    // A message is its kind, its length, the word and a zero; another one of six bytes follows the answer.
    let around: Vec<usize> = commits.flat_map(|at| at - 5..at + 14).collect();
    assert!(60 < around.len(), "few commits have passed");
    let mut places: Vec<usize> = (0..SPREAD).map(|n| passed.len() * n / SPREAD).chain(around).collect();
    places.retain(|place| *place < passed.len());
    places.sort();
    places.dedup();
    places
}

/// Cuts at many bytes. The cuts are where they matter only if all of these outcomes came of them.
fn cut_at_many_bytes(direction: Direction, outcomes: &[&str]) {
    let mut company = Company::new();
    let undisturbed = Proxy::start(None);
    assert_eq!(company.sweep_through(&undisturbed, false).0, Conclusion::Done);
    assert_eq!(company.acted_on("undisturbed"), (true, true));
    for (n, byte) in rounds(places(&undisturbed.passed(direction))).enumerate() {
        let afterwards = if n % 2 == 0 { Afterwards::Open } else { Afterwards::Closed };
        company.sweep_and_compare(Cut { direction, byte, afterwards });
    }
    for outcome in outcomes {
        assert!(company.reported.contains(*outcome), "no cut came to {outcome}: {:?}", company.reported);
    }
}

#[test]
fn a_sweep_cut_at_any_byte_to_the_server_reports_the_truth_and_the_next_one_finishes() {
    cut_at_many_bytes(Direction::ToServer, &["continued", "escalated", "failed", "nothing", "unknown"]);
}

#[test]
fn a_sweep_cut_at_any_byte_from_the_server_reports_the_truth_and_the_next_one_finishes() {
    cut_at_many_bytes(Direction::ToClient, &["confirmed", "continued", "escalated", "failed", "nothing", "unknown"]);
}

#[test]
fn a_dry_run_cut_at_any_byte_writes_nothing() {
    let mut company = Company::new();
    let sweeps = company.world.count("sweeps");
    let undisturbed = Proxy::start(None);
    assert_eq!(company.sweep_through(&undisturbed, true).0, Conclusion::Done);
    for direction in [Direction::ToServer, Direction::ToClient] {
        let length = undisturbed.passed(direction).len();
        for byte in rounds((0..40).map(|n| length * n / 40)) {
            let proxy = Proxy::start(Some(Cut { direction, byte, afterwards: Afterwards::Open }));
            let (exit, report) = company.sweep_through(&proxy, true);
            assert!(proxy.has_cut(), "{byte}");
            assert!(
                [Conclusion::Done, Conclusion::SomeFailed, Conclusion::Unavailable].contains(&exit),
                "{byte}: {exit:?}, {report}"
            );
        }
    }
    assert_eq!(company.acted_on("dry"), (false, false));
    assert_eq!(company.world.count("sweeps"), sweeps);
}

/// The negative control: half of a continuation, its ledger row without its wake.
#[test]
#[should_panic(expected = "half applied: (1, 0)")]
fn a_continuation_of_which_half_was_lost_would_be_caught() {
    let mut company = Company::new();
    company.world.sweep();
    let fresh = company.fresh.clone();
    company.world.run(&format!("delete from wakes where issue_id = '{fresh}'"));
    company.acted_on("half applied");
}

/// The negative control: a sweep whose commit never reached the server, and that reports success.
#[test]
#[should_panic(expected = "success without a commit")]
fn a_report_of_success_without_a_commit_would_be_caught() {
    let mut company = Company::new();
    let report =
        json!({ "subjects": [{ "id": company.fresh.0, "outcome": "continued", "reason": "nobody is working on it" }] });
    company.compare(Conclusion::SomeFailed, &report, "success without a commit");
}
