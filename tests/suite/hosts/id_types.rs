//! Ids of any type: they are text in Rust, and of the host's own type in its rows.

use diesel::prelude::*;
use diesel::sql_types::Text;
use rstest::rstest;
use sweep::rules::{Id, Kind};
use sweep::store::Db;
use sweep::store::db::types::IdType;
use sweep::store::work::quarantine;

use crate::support::databases::run;
use crate::support::scratch::Scratch;

/// A database with one table of sweep's, for a host with ids of this type.
fn failures_by(id: &str) -> (Scratch, Db) {
    let database = Scratch::empty();
    let mut db = database.connect();
    run(
        &mut db,
        &format!(
            "create schema sweep; set search_path = sweep; create domain id as {id};
             create table failures (kind text, subject_id {id}, sweeps integer, reason text, last_at timestamptz,
                 quarantined_at timestamptz, primary key (kind, subject_id))"
        ),
    );
    (database, db)
}

#[rstest]
#[case::uuid("uuid", "0192f0c1-0000-7000-8000-000000000001", IdType::Uuid)]
#[case::text("text", "t_0a1b2c3d", IdType::Text)]
#[case::text_that_looks_like_a_uuid("text", "0192F0C1-0000-7000-8000-000000000001", IdType::Text)]
#[case::integer("integer", "12", IdType::Integer)]
#[case::bigint("bigint", "4000000000", IdType::Bigint)]
fn an_id_is_written_found_and_read_as_it_was_whatever_its_type(
    #[case] id: &str,
    #[case] word: &str,
    #[case] id_type: IdType,
) {
    let (_database, mut db) = failures_by(id);
    let subject = Id(word.to_owned());
    assert_eq!(IdType::of(&mut db), Ok(id_type));
    assert_eq!(id_type.parse(word), Some(subject.clone()));

    let now = db.now().expect("a time");
    quarantine::record(&mut db, Kind::Issue, &subject, "why", now).expect("a row");
    let failing = quarantine::failing(&mut db, Kind::Issue).expect("the rows");
    assert!(failing.contains(&subject), "{failing:?}");
    quarantine::forget(&mut db, Kind::Issue, &subject).expect("the row");
    assert!(quarantine::failing(&mut db, Kind::Issue).expect("the rows").is_empty());
}

#[rstest]
#[case::uuid("uuid")]
#[case::text("text")]
#[case::bigint("bigint")]
fn the_text_of_an_id_finds_its_row_by_the_key(#[case] id: &str) {
    #[derive(QueryableByName)]
    struct Line {
        #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
        line: String,
    }
    let (_database, mut db) = failures_by(id);
    run(
        &mut db,
        "set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_bitmapscan = off;
         prepare found (text) as
         select reason from failures where kind = 'issue' and subject_id = cast($1 as sweep.id)",
    );
    let plan: Vec<Line> = diesel::sql_query("explain execute found (null)").load(&mut db).expect("a plan");
    let condition = plan.iter().find(|line| line.line.contains("Index Cond")).map(|line| line.line.as_str());
    assert!(condition.is_some_and(|condition| condition.contains("subject_id")), "{condition:?}");
}
