//! Upgrades: what was in flight in a database of a released version is there after `sweep migrate`, and goes on.
//!
//! A release (`deploy/release`) has databases of its version written to `tests/released/VERSION`, by `TEST_RELEASE`.
//! Each of them is upgraded here; and, as if it had been released, one of today's that lacks the latest migrations.

use std::path::{Path, PathBuf};

use chrono::{NaiveDateTime, TimeDelta, Utc};
use regex::{Captures, Regex};
use sweep::conclusion::Conclusion;
use sweep::rules::Id;
use sweep::store::connect::snapshot;

use super::migrations::{beside_versions, revert};
use crate::support::databases::{connect, database_url, files, load, new_database, paperclip_schema, run};
use crate::support::program::{command_at, migrate_at, sweep_at};
use crate::support::receiver::Receiver;
use crate::support::scratch::{Scratch, catalog, unique};
use crate::support::world::notifications::deliver;
use crate::support::world::{On, World, on_each_host};

const CONFIG: i32 = 78;
const MOMENT: &str = "%Y-%m-%d %H:%M:%S";
/// Before the moment at which a database was written; after that line come its rows.
const WRITTEN: &str = "-- Written at ";

/// What is undone in a made-up release, whose version had the rest.
const LATEST_ON_SQLITE: [&str; 2] = ["board/step", "keep/both"];
const LATEST_ON_POSTGRES: [&str; 4] = ["take/step", "take/all", "keep/both", "keep/postgres"];

/// Makes one subject in each state that must outlast an upgrade: in quarantine, exempt, escalated with a message that
/// is not delivered, and continued.
fn put_in_flight(world: &mut World) {
    let agent = world.agent("idle");
    let bad = world.orphan(&agent);
    world.poison(&bad);
    world.orphan(&agent);
    world.sweep();
    world.end_continuations("failed");
    world.pass(10);
    world.sweep_as(&world.notifying_the_webhook(&Receiver::new()).sweep);
    let exempt = world.orphan(&agent);
    command_at(&world.url, ["exempt", "add", "issue", &exempt.0, "--reason", "a customer's call"]).run().done();
    world.orphan(&agent);
    world.sweep();
    world.heal(&bad);
}

#[expect(
    clippy::disallowed_methods,
    reason = "a database that was written is of this moment, whichever server reads it"
)]
fn now() -> NaiveDateTime {
    Utc::now().naive_utc()
}

/// The SQL that makes a database like this one, with its rows. SQLite holds no trigger back while they are inserted.
fn written(world: &mut World) -> String {
    let at = now().format(MOMENT);
    let rows = inserts(world);
    let mut made = |which| {
        let query =
            format!("select sql || ';' from sqlite_master where sql is not null and type {which} order by rowid");
        snapshot::texts(&mut world.db, &query).expect("what was made").join("\n")
    };
    match world.on {
        On::Sqlite => format!("{}\n{WRITTEN}{at}\n{rows}\n{}\n", made("= 'table'"), made("<> 'table'")),
        On::Postgres | On::Paperclip => {
            format!("{}\n{WRITTEN}{at}\nset session_replication_role = replica;\n{rows}\n", printed(world.on))
        }
    }
}

/// The statements that insert the rows of all tables.
fn inserts(world: &World) -> String {
    // Names are written with their schemas.
    let mut db = world.connect();
    let queries = match world.on {
        On::Sqlite => include_str!("upgrades/inserts.sqlite.sql"),
        On::Postgres | On::Paperclip => {
            run(&mut db, "set timezone = 'UTC'; set search_path = pg_catalog");
            include_str!("upgrades/inserts.postgres.sql")
        }
    };
    let queries = snapshot::texts(&mut db, queries).expect("tables");
    let inserts = queries.iter().flat_map(|query| snapshot::texts(&mut db, query).expect("rows"));
    inserts.collect::<Vec<_>>().join("\n")
}

/// What `sweep migrate --print` prints on an empty database of this host.
fn printed(on: On) -> String {
    let empty = if on == On::Paperclip { Scratch::paperclip() } else { Scratch::empty() };
    migrate_at(&empty.url, ["--print"]).run().done().out
}

/// Moves the rows to now, as if the database had been written a moment ago.
fn of_today(sql: &str) -> String {
    let (schema, rest) = sql.split_once(WRITTEN).expect("a moment");
    let (at, rows) = rest.split_once('\n').expect("rows");
    let moment = |text: &str| NaiveDateTime::parse_from_str(&text.replace('T', " "), MOMENT).expect("a moment");
    let gone_by = TimeDelta::seconds((now() - moment(at)).num_seconds());
    let moments = Regex::new(r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d").expect("an expression");
    let moved = |line| {
        moments.replace_all(line, |found: &Captures| {
            (moment(&found[0]) + gone_by).format(MOMENT).to_string().replace(' ', &found[1])
        })
    };
    // The row of `host` has the definitions of views, whose constants stay.
    let is_row = |line: &str| line.starts_with("insert ") && !line.starts_with("insert into \"host\"");
    let rows = rows.lines().map(|line| if is_row(line) { moved(line) } else { line.into() });
    format!("{schema}{}", rows.collect::<Vec<_>>().join("\n"))
}

/// A database that was written earlier.
fn restored(on: On, sql: &str) -> World {
    let sql = of_today(sql);
    if on == On::Sqlite {
        let directory = files().expect("a directory");
        let url = format!("sqlite://{}", directory.path().join("test.db").display());
        std::fs::write(directory.path().join("test.db"), "").expect("a file");
        run(&mut connect(&url), &format!("pragma foreign_keys = off; begin; {sql} commit;"));
        return World::at(on, url, Some(directory));
    }
    let host = if on == On::Paperclip { "paperclip" } else { "native" };
    let name = format!("sweep_test_{host}_{}", unique());
    new_database(&name);
    if on == On::Paperclip {
        load(&name, &paperclip_schema());
    }
    load(&name, &sql);
    World::at(on, database_url(&name), None)
}

/// Undoes the latest migrations, so that the database is one of an earlier version.
fn make_earlier(world: &mut World) {
    let mut db = world.connect();
    match world.on {
        On::Sqlite => revert(&mut db, &LATEST_ON_SQLITE),
        On::Postgres | On::Paperclip => {
            run(&mut db, "set search_path = sweep");
            revert(&mut db, &LATEST_ON_POSTGRES);
        }
    }
    sweep_at(&world.url, []).run().refused(CONFIG, &["run `sweep migrate`"]);
}

/// A column that a migration adds is the last one.
fn assert_nothing_lost(before: &snapshot::Rows, after: &snapshot::Rows) {
    for (table, rows) in before.iter().filter(|(table, _)| !table.ends_with("host")) {
        for (key, row) in rows {
            let now = after.get(table).and_then(|rows| rows.get(key));
            let longer = format!("{},", row.strip_suffix(')').unwrap_or(row));
            let is_kept = now.is_some_and(|now| now == row || now.starts_with(&longer));
            assert!(is_kept, "{table}: {row} has become {now:?}");
        }
    }
}

fn upgraded(world: &mut World) {
    let before = snapshot::rows(&mut world.db).expect("rows");
    migrate_at(&world.url, []).run().done();
    assert_nothing_lost(&before, &snapshot::rows(&mut world.db).expect("rows"));
    let mut fresh = World::new(world.on);
    assert_eq!(beside_versions(catalog(&mut world.db)), beside_versions(catalog(&mut fresh.db)));
}

/// What was in flight is taken up where it was left.
fn goes_on(world: &mut World) {
    let of = |world: &mut World, rows: &str| Id(world.text("subject_id", rows).unwrap_or_else(|| panic!("no {rows}")));
    let bad = of(world, "failures where quarantined_at is not null");
    let exempt = of(world, "exemptions");
    let continued = of(world, "recoveries where action = 'continue' and settled_at is null");
    let agent = world.agent("idle");
    let other = world.orphan(&agent);
    let wakes = world.wakes_for(&continued);

    let swept = world.sweep();

    assert_eq!(
        [&continued, &exempt, &bad, &other].map(|issue| swept.outcome(issue)),
        ["healthy", "waiting", "not examined", "continued"],
        "{}",
        swept.json
    );
    assert_eq!((swept.exit, swept.count("issues", "in_quarantine")), (Conclusion::Done, 1));
    assert_eq!((wakes, world.wakes_for(&continued), world.pending()), (1, 1, 1));
    let receiver = Receiver::new();
    deliver(&world.notifying_the_webhook(&receiver));
    assert_eq!((receiver.received().len(), world.pending()), (1, 0));
    world.end_continuations("failed");
    world.pass(10);
    assert_eq!(world.sweep().outcome(&continued), "escalated");
}

fn released() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released")
}

/// The databases of this host that releases have written, with their paths.
fn databases(on: On) -> Vec<(PathBuf, String)> {
    let versions = std::fs::read_dir(released()).into_iter().flatten().map(|entry| entry.expect("a folder").path());
    let files = versions.map(|version| version.join(file_of(on)));
    files.filter(|file| file.exists()).map(|file| (file.clone(), std::fs::read_to_string(file).expect("SQL"))).collect()
}

fn file_of(on: On) -> String {
    format!("{on:?}.sql").to_lowercase()
}

/// Writes a database of today's as one of the version that is being released.
#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
fn release(on: On, sql: &str) {
    let Ok(version) = std::env::var("TEST_RELEASE") else { return };
    std::fs::create_dir_all(released().join(&version)).expect("a folder");
    std::fs::write(released().join(version).join(file_of(on)), sql).expect("a file");
}

on_each_host! {
    fn what_is_in_flight_goes_on_after_an_upgrade_from_each_release_and_from_a_made_up_one(world) {
        put_in_flight(world);
        let today = written(world);
        release(world.on, &today);
        let mut earlier = restored(world.on, &today);
        make_earlier(&mut earlier);
        upgraded(&mut earlier);
        goes_on(&mut earlier);
        for (path, sql) in databases(world.on) {
            eprintln!("{}", path.display());
            let mut earlier = restored(world.on, &sql);
            upgraded(&mut earlier);
            goes_on(&mut earlier);
        }
    }
}

/// The control: a lost row is found.
#[test]
fn a_row_that_is_gone_or_altered_is_found() {
    let rows = |row: &str| snapshot::Rows::from([("sweeps".into(), [("(1)".into(), row.into())].into())]);
    assert_nothing_lost(&rows("(1,a)"), &rows("(1,a,new)"));
    assert_nothing_lost(&rows("(1,)"), &rows("(1,)"));
    for (before, after) in
        [("(1,a)", rows("(1,b)")), ("(1,a)", rows("(1,ab)")), ("(1,)", rows("(1,0)")), ("(1,a)", snapshot::Rows::new())]
    {
        let found = std::panic::catch_unwind(|| assert_nothing_lost(&rows(before), &after));
        assert!(found.is_err(), "{before}: {after:?}");
    }
}
