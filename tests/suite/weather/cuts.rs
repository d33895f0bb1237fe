//! Connections that are cut at any byte.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use sweep::cli::{DatabaseFlag, Format, ScopeFlags, SweepFlags};
use sweep::exit::{Exit, code_of};
use sweep::rules::Id;
use sweep::settings::{Environment, Settings};
use sweep::sweep::signals::Stop;

use crate::proxy::{Afterwards, Cut, Direction, Proxy};
use crate::world::{On, World};

/// Cuts that are spread over the whole length of a sweep, besides those about its COMMITs.
const SPREAD: usize = 100;

/// One issue to be continued and one to be escalated, put back as they were after each cut.
struct Company {
    world: World,
    fresh: Id,
    tried: Id,
    /// The outcomes that were reported.
    told: BTreeSet<String>,
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
        Company { world, fresh, tried, told: BTreeSet::new() }
    }

    fn put_back(&mut self) {
        self.world.run(&format!(
            "set session_replication_role = replica;
             do $$ declare name text; begin
                 execute 'truncate ' || (select string_agg(format('sweep.%I', tablename), ', ') from ({TABLES}) as tables);
                 for name in {TABLES} loop execute format('insert into sweep.%I overriding system value select * from saved.%1$I', name); end loop;
             end $$;
             reset session_replication_role"
        ));
    }

    /// The server may still be at work for a client that is gone.
    fn wait_for_the_dead(&mut self) {
        let others = "pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
        while 0 < self.world.count(others) {
            sleep(Duration::from_millis(1));
        }
    }

    /// Whether each issue was acted on: wholly or not at all.
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

    /// Through a proxy: how it ended, and its report, if it came to one.
    fn sweep_through(&self, proxy: &Proxy, dry_run: bool) -> (Exit, Value) {
        let database =
            DatabaseFlag { database: Some(proxy.url(self.world.name(), "disable")), ..DatabaseFlag::default() };
        let scope = ScopeFlags { database, connections: Some(1), ..ScopeFlags::default() };
        let flags = SweepFlags { scope, output: Some(Format::Json), dry_run, ..SweepFlags::default() };
        let settings = Settings::resolve(flags, &Environment::of(&[])).expect("settings");
        let mut out = Vec::new();
        let ended = sweep::sweep::run(&settings, &Stop::default(), &mut out);
        let exit = ended.map(|swept| swept.exit).unwrap_or_else(|error| {
            let exit = code_of(&error);
            assert_eq!(exit, Exit::Unavailable, "{error:#}");
            exit
        });
        let report =
            if out.is_empty() { Value::Null } else { crate::json::read(&String::from_utf8(out).expect("UTF-8")) };
        (exit, report)
    }

    fn sweep_and_compare(&mut self, cut: Cut) {
        self.put_back();
        let proxy = Proxy::start(Some(cut));
        let (exit, report) = self.sweep_through(&proxy, false);
        let when = format!("{cut:?}, {exit:?}, {report}");
        assert!(proxy.has_cut(), "{when}");
        assert!([Exit::Done, Exit::SomeFailed, Exit::Unavailable, Exit::Busy].contains(&exit), "{when}");
        self.wait_for_the_dead();

        let (continued, escalated) = self.acted_on(&when);
        for (id, expected, acted_on) in [(&self.fresh, "continued", continued), (&self.tried, "escalated", escalated)] {
            let row = report["subjects"].as_array().into_iter().flatten().find(|row| row["id"] == id.0);
            let outcome = row.and_then(|row| row["outcome"].as_str());
            let is_settled = row.is_some_and(|row| row["reason"] == "its commit was confirmed by the ledger");
            self.told.insert(if is_settled { "confirmed" } else { outcome.unwrap_or("nothing") }.to_owned());
            match outcome {
                Some("unknown") => assert_ne!(exit, Exit::Done, "{when}"),
                Some("failed") => assert!(!acted_on && exit != Exit::Done, "{when}"),
                Some("busy") | None => assert!(!acted_on && (exit != Exit::Done), "{when}"),
                Some(other) => assert!(other == expected && acted_on, "{when}"),
            }
        }

        let next = self.world.sweep();
        assert_eq!(next.exit, Exit::Done, "{when}, then {}", next.json);
        assert_eq!(self.acted_on(&when), (true, true), "then {}", next.json);
    }
}

/// Where cuts are made: spread over all that passes, and at every byte of a COMMIT, or of its answer.
fn places(passed: &[u8]) -> Vec<usize> {
    let commits = passed.windows(6).enumerate().filter(|(_, window)| window == b"COMMIT").map(|(at, _)| at);
    // A message is its kind, its length, the word and a zero; the answer is followed by another of six bytes.
    let around: Vec<usize> = commits.flat_map(|at| at - 5..at + 14).collect();
    assert!(60 < around.len(), "few commits have passed");
    let mut places: Vec<usize> = (0..SPREAD).map(|n| passed.len() * n / SPREAD).chain(around).collect();
    places.retain(|place| *place < passed.len());
    places.sort();
    places.dedup();
    places
}

/// The cuts are where it matters only if all of these outcomes came of them.
fn cut_at_many_bytes(direction: Direction, outcomes: &[&str]) {
    let mut company = Company::new();
    let undisturbed = Proxy::start(None);
    assert_eq!(company.sweep_through(&undisturbed, false).0, Exit::Done);
    assert_eq!(company.acted_on("undisturbed"), (true, true));
    for (n, byte) in places(&undisturbed.passed(direction)).into_iter().enumerate() {
        let afterwards = if n % 2 == 0 { Afterwards::Open } else { Afterwards::Closed };
        company.sweep_and_compare(Cut { direction, byte, afterwards });
    }
    for outcome in outcomes {
        assert!(company.told.contains(*outcome), "no cut came to {outcome}: {:?}", company.told);
    }
}

#[test]
fn a_sweep_cut_at_any_byte_to_the_server_tells_the_truth_and_the_next_one_finishes() {
    cut_at_many_bytes(Direction::ToServer, &["continued", "escalated", "failed", "nothing", "unknown"]);
}

#[test]
fn a_sweep_cut_at_any_byte_from_the_server_tells_the_truth_and_the_next_one_finishes() {
    cut_at_many_bytes(Direction::ToClient, &["confirmed", "continued", "escalated", "failed", "nothing", "unknown"]);
}

#[test]
fn a_dry_run_cut_at_any_byte_writes_nothing() {
    let mut company = Company::new();
    let sweeps = company.world.count("sweeps");
    let undisturbed = Proxy::start(None);
    assert_eq!(company.sweep_through(&undisturbed, true).0, Exit::Done);
    for direction in [Direction::ToServer, Direction::ToClient] {
        let length = undisturbed.passed(direction).len();
        for byte in (0..40).map(|n| length * n / 40) {
            let proxy = Proxy::start(Some(Cut { direction, byte, afterwards: Afterwards::Open }));
            let (exit, report) = company.sweep_through(&proxy, true);
            assert!(proxy.has_cut(), "{byte}");
            assert!([Exit::Done, Exit::SomeFailed, Exit::Unavailable].contains(&exit), "{byte}: {exit:?}, {report}");
        }
    }
    assert_eq!(company.acted_on("dry"), (false, false));
    assert_eq!(company.world.count("sweeps"), sweeps);
}
