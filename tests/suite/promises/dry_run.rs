//! P7: a dry run writes nothing, and reports what a sweep would do.

use diesel::RunQueryDsl;
use diesel::dsl::sql;
use diesel::sql_types::Bool;
use sweep::rules::Id;
use sweep::rules::issue::IssueFacts;
use sweep::rules::session::SessionFacts;
use sweep::rules::step::StepFacts;
use sweep::store::work::candidates::{Nominated, Part};
use sweep::store::{Access, Db, Subject, Timeouts};

use crate::support::in_process::wake;
use crate::support::world::{On, World, on_each_host};

/// Makes subjects to continue, to escalate and to recover.
fn work(world: &mut World) -> Vec<Id> {
    let agent = world.agent("idle");
    let issues: Vec<Id> = (0..3).map(|_| world.orphan(&agent)).collect();
    world.sweep();
    world.end_continuations("failed");
    world.pass(10);
    world.set("issues", &issues[0], "status = 'done'");
    let fresh = world.orphan(&agent);
    issues.into_iter().chain([fresh]).collect()
}

on_each_host! {
    fn a_dry_run_decides_what_the_sweep_then_does_and_writes_nothing(world) {
        let issues = work(world);
        let before = (world.count("recoveries"), world.count("sweeps"));

        let dry = world.dry_run();
        let again = world.dry_run();
        assert_eq!((world.count("recoveries"), world.count("sweeps")), before);
        let wet = world.sweep();

        assert_eq!(dry.json["mode"], "dry_run");
        for issue in issues {
            for field in ["finding", "decision", "reason", "attempt", "outcome"] {
                assert_eq!(dry.subject(&issue)[field], wet.subject(&issue)[field], "{field}");
                assert_eq!(dry.subject(&issue)[field], again.subject(&issue)[field], "{field}");
            }
            assert!(dry.subject(&issue)["outcome"].is_string());
        }
    }
}

#[test]
fn a_dry_run_of_sqlite_leaves_the_file_as_it_was() {
    let mut world = World::new(On::Sqlite);
    work(&mut world);
    world.run("pragma wal_checkpoint(truncate)");
    let path = world.url.strip_prefix("sqlite://").expect("a path").to_owned();
    let before = std::fs::read(&path).expect("the file");

    let dry = world.dry_run();

    assert_eq!(dry.count("issues", "continued"), 1);
    assert!(before == std::fs::read(&path).expect("the file"));
}

fn has_transaction_id(db: &mut Db) -> bool {
    let Db::Postgres(db) = db else { panic!("PostgreSQL only") };
    diesel::select(sql::<Bool>("pg_current_xact_id_if_assigned() is not null")).get_result(db).expect("an answer")
}

#[test]
fn a_dry_run_is_never_assigned_a_transaction_id() {
    let mut world = World::new(On::Postgres);
    let issues = work(&mut world);
    let (_, step) = world.stalled_step(None);
    let session = world.session(None, Some(&issues[1]));
    let (mut db, timeouts) = (world.connect_as_sweep(), Timeouts::default());
    let dry = db.in_transaction(Access::ReadOnly, &timeouts, |db| -> diesel::QueryResult<_> {
        IssueFacts::candidates(db, &Part::whole(), 1000)?;
        IssueFacts::read(db, &issues[1])?.expect("an issue");
        StepFacts::candidates(db, &Part::whole(), 1000)?;
        StepFacts::read(db, &step)?.expect("a step");
        SessionFacts::candidates(db, &Part::whole(), 1000)?;
        SessionFacts::read(db, &session)?.expect("a session");
        Ok(has_transaction_id(db))
    });
    assert!(!dry.expect("a dry run"));
}

/// The negative control: the row locks of a sweep assign a transaction id before anything is written.
#[test]
fn a_sweep_is_assigned_a_transaction_id_by_its_first_lock() {
    let mut world = World::new(On::Postgres);
    let issues = work(&mut world);
    let wet =
        world.connect_as_sweep().in_transaction(Access::Write, &Timeouts::default(), |db| -> diesel::QueryResult<_> {
            IssueFacts::take(db, &issues[1])?;
            Ok(has_transaction_id(db))
        });
    assert!(wet.expect("a lock"));
}

#[test]
fn a_write_in_a_dry_run_is_refused_by_the_database() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let mut db = sweep::store::connect::open::Url::parse(&world.url)
            .expect("a URL")
            .connect(Access::ReadOnly)
            .expect("a connection");
        let written = db.in_transaction(Access::ReadOnly, &Timeouts::default(), |db| -> diesel::QueryResult<_> {
            let facts = IssueFacts::read(db, &issue)?.expect("an issue");
            wake(db, &facts)
        });
        assert!(written.is_err(), "{on:?}");
        assert_eq!(world.count("wakes"), 0);
    }
}
