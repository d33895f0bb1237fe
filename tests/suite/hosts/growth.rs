//! What a sweep reads of a host's own tables grows with the stranded work in a straight line.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use sweep::store::Access;
use sweep::store::connect::open::Url;
use sweep::store::connect::snapshot;

use crate::support::folder::{Folder, example};
use crate::support::program::sweep_at;
use crate::support::scratch::Scratch;

const STRANDED: i64 = 1000;
/// The rows that may be read for each subject, some of them where a table is read whole while that is short.
const READ_MAX: i64 = 400;

/// The plans were made when the table was known to be empty, and the sweep itself fills it.
#[test]
fn plans_that_were_made_on_an_empty_table_are_made_anew_while_it_fills() {
    let database = installed();

    let swept = sweep_at(&database.url, []).run().done();

    assert!(swept.out.contains(&format!("{STRANDED} continued")), "{swept}");
    let read = rows_read(&database, "wake_jobs");
    assert!(read < STRANDED * READ_MAX, "{read} rows were read where the table was read whole");
}

/// The wakes of the last minute are many, and the statistics know of none: all of them would be read for each issue.
#[test]
fn an_idle_sweep_reads_in_proportion_to_what_waits() {
    let database = installed();
    sweep_at(&database.url, []).run().done();

    let swept = sweep_at(&database.url, []).run().done();

    assert!(swept.out.contains(&format!("{STRANDED} × a run is live")), "{swept}");
    let mut db = Url::parse(&database.url).expect("a URL").connect(Access::ReadOnly).expect("a connection");
    let read = snapshot::work(&mut db, "SELECT * FROM issue_candidates", |_| Ok(())).expect("a plan");
    assert!(read < (STRANDED * READ_MAX).unsigned_abs(), "{read} rows and pages");
}

/// The team's tables, with a thousand tasks that are stranded, and the host's views.
fn installed() -> Scratch {
    let database = Scratch::empty();
    database.run(&std::fs::read_to_string(example("tables.sql")).expect("the tables"));
    Folder::new().migrate(&database).done();
    database.run(&format!(
        "insert into workers (name) select 'Ada ' || n from generate_series(1, {STRANDED}) n;
         insert into tasks (title, state, worker_id, changed_at)
         select 'Mend', 'doing', id, now() - interval '1 hour' from workers"
    ));
    database.run("vacuum analyze");
    database
}

fn rows_read(database: &Scratch, table: &str) -> i64 {
    let read = format!("(select seq_tup_read from pg_stat_user_tables where relid = 'sweep.{table}'::regclass)");
    diesel::select(sql::<BigInt>(&read)).get_result(&mut database.connect()).expect("what was read")
}
