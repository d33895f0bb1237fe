//! What a guarded connection refuses, and what it lets through.

use chrono::TimeDelta;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Binary, Text};
use rstest::rstest;

use super::*;
use crate::store::db::connection::Timeouts;

const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

fn guarded(milliseconds: i64) -> SqliteConnection {
    let statement = TimeDelta::milliseconds(milliseconds);
    open(":memory:", &Allowance::new(Timeouts { statement, ..Timeouts::default() })).expect("a connection")
}

/// A file in which somebody else has executed this, and a guarded connection to that file.
fn board(statements: &str) -> (tempfile::TempDir, SqliteConnection) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("board.db").display().to_string();
    SqliteConnection::establish(&path).expect("a file").batch_execute(statements).expect("a board");
    let db = open(&path, &Allowance::new(Timeouts::default())).expect("a connection");
    (directory, db)
}

fn refusal(statement: &str) -> String {
    let done = guarded(60_000).batch_execute(statement);
    done.map_or_else(|error| error.to_string(), |()| "nothing".to_owned())
}

#[rstest]
#[case::attach("ATTACH ':memory:' AS other")]
#[case::a_copy("VACUUM INTO '/dev/null'")]
#[case::vacuum("VACUUM")]
#[case::a_pragma_that_nobody_needs("PRAGMA writable_schema = ON")]
#[case::a_pragma_as_a_table("SELECT * FROM pragma_compile_options")]
#[case::a_directory_for_temporary_files("PRAGMA temp_store_directory = '/tmp'")]
#[case::a_virtual_table("CREATE VIRTUAL TABLE t USING fts5(x)")]
#[case::an_extension("SELECT load_extension('evil')")]
#[case::diesels_own("SELECT diesel_manage_updated_at('t')")]
fn what_reaches_beyond_the_file_is_refused(#[case] statement: &str) {
    let refusal = refusal(statement);
    assert!(refusal.contains("not authorized") || refusal == "authorization denied", "{refusal}");
}

#[rstest]
#[case("CREATE TABLE t (x); CREATE VIEW v AS SELECT x FROM t; INSERT INTO t VALUES (json('[1]'))")]
#[case("PRAGMA FOREIGN_KEYS = ON; PRAGMA journal_mode = WAL; SELECT * FROM pragma_table_info('t')")]
fn what_stays_within_it_is_not(#[case] statement: &str) {
    assert_eq!(refusal(statement), "nothing");
}

/// A new SQLite, or a new diesel, may bring functions that do more than compute.
#[test]
fn each_function_that_sqlite_itself_does_not_call_innocuous_is_refused() {
    const IS_NOT_INNOCUOUS: &str =
        "SELECT DISTINCT name FROM pragma_function_list WHERE flags & 0x200000 = 0 ORDER BY name";
    let mut plain = SqliteConnection::establish(":memory:").expect("a connection");
    assert_eq!(sql::<Text>(IS_NOT_INNOCUOUS).load::<String>(&mut plain).expect("names"), FUNCTIONS_WITH_EFFECTS);
}

/// Control planes search their titles so.
#[test]
fn a_trigger_may_keep_a_full_text_index() {
    let tables = "CREATE TABLE t (x); CREATE VIRTUAL TABLE f USING fts5(x); \
         CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO f VALUES (new.x); END";
    let (_directory, mut db) = board(tables);
    db.batch_execute("INSERT INTO t VALUES ('a title')").expect("a row");
    assert_eq!(sql::<BigInt>("SELECT count(*) FROM f").get_result(&mut db), Ok(1));
}

/// Its nodes may be chained so that one call, which looks at no clock, visits them for ever.
#[test]
fn a_search_in_a_virtual_table_of_another_kind_is_refused() {
    let tables = "CREATE VIRTUAL TABLE r USING rtree(id, a, b); CREATE VIRTUAL TABLE f USING fts4(x)";
    let (_directory, mut db) = board(tables);
    for (table, module) in [("r", "rtree"), ("f", "fts4")] {
        let read = sql::<BigInt>(&format!("SELECT count(*) FROM {table}")).get_result::<i64>(&mut db);
        assert_eq!(read.expect_err("a refusal").to_string(), format!("no such module: {module}"));
    }
}

#[test]
fn an_endless_statement_ends_after_its_time_and_the_next_one_has_its_own() {
    let mut db = guarded(50);
    let ended = sql::<BigInt>(ENDLESS).get_result::<i64>(&mut db).expect_err("an interruption");
    assert_eq!(ended.to_string(), "interrupted");
    assert_eq!(sql::<BigInt>("SELECT count(*) FROM json_each('[1, 2]')").get_result(&mut db), Ok(2));
}

/// SQLite counts the rows of a table in one step of its machine. Here each page but the last names the next one, for
/// each of its entries.
#[test]
fn a_count_of_rows_that_has_no_end_is_ended() {
    const PAGE: usize = 512;
    let (directory, db) = board("PRAGMA page_size = 512; CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    drop(db);
    let path = directory.path().join("board.db");
    let mut file = std::fs::read(&path).expect("a file");
    assert_eq!(file.len(), 2 * PAGE, "the schema, and the table's only page");
    let interior = |below: u32| {
        let (entry, mut page) = ([&below.to_be_bytes()[..], &[1]].concat(), vec![0; PAGE]);
        let entries = (PAGE - 12) / 7;
        for at in 0..entries {
            let place = PAGE - 5 * (at + 1);
            page[place..place + 5].copy_from_slice(&entry);
            page[12 + 2 * at..14 + 2 * at].copy_from_slice(&(place as u16).to_be_bytes());
        }
        page[0] = 5;
        page[3..5].copy_from_slice(&(entries as u16).to_be_bytes());
        page[5..7].copy_from_slice(&((PAGE - 5 * entries) as u16).to_be_bytes());
        page[8..12].copy_from_slice(&below.to_be_bytes());
        page
    };
    file.extend_from_within(PAGE..);
    (3..10).for_each(|below| file.extend(interior(below)));
    file.splice(PAGE..2 * PAGE, interior(10));
    file[28..32].copy_from_slice(&10_u32.to_be_bytes());
    std::fs::write(&path, file).expect("a file");

    let timeouts = Timeouts { statement: TimeDelta::milliseconds(50), ..Timeouts::default() };
    let allowance = Allowance::new(timeouts);
    let [mut db, other] = [(); 2].map(|()| open(&path.display().to_string(), &allowance).expect("a connection"));
    drop(other);
    let ended = sql::<BigInt>("SELECT count(*) FROM t").get_result::<i64>(&mut db).expect_err("an interruption");
    assert_eq!(ended.to_string(), "interrupted");
}

/// A call of a function cannot be interrupted, so that no text may be long.
#[rstest]
#[case::a_text("SELECT length(hex(zeroblob(600000)))", "string or blob too big")]
#[case::a_pattern("SELECT 'x' LIKE hex(zeroblob(60))", "LIKE or GLOB pattern too complex")]
#[case::a_replacement(
    "SELECT length(replace(hex(zeroblob(1000)), '0', hex(zeroblob(1000))))",
    "string or blob too big"
)]
#[case::what_nobody_needs("SELECT unhex('aa', 'b')", "wrong number of arguments to function unhex()")]
#[case::patches("SELECT json_patch('{}', '{}')", "not authorized to use function: json_patch")]
#[case::patches_of_blobs("SELECT jsonb_patch('{}', '{}')", "not authorized to use function: jsonb_patch")]
fn what_a_call_would_take_long_for_is_refused(#[case] statement: &str, #[case] why: &str) {
    assert_eq!(refusal(statement), why);
}

/// SQLite looks at the clock between two jumps of its machine.
#[test]
fn a_row_of_too_many_calls_is_refused() {
    let calls = |n: usize| refusal(&format!("SELECT {}", vec![["random()"; 10].join(" + "); n].join(",")));
    assert_eq!((calls(700).as_str(), calls(400).as_str()), ("out of memory", "nothing"));
}

/// Each of them may take milliseconds.
#[test]
fn a_statement_whose_time_is_over_calls_few_more_functions() {
    let mut db = guarded(0);
    let calls = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
        SELECT length(hex(randomblob(400000))) FROM n";
    let rows = sql::<BigInt>(calls).load_iter::<i64, _>(&mut db).expect("rows").take_while(Result::is_ok).count();
    assert!(rows < 100, "{rows}");
}

#[test]
fn rows_of_which_none_is_kept_may_be_any_number() {
    let blobs = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) \
        SELECT zeroblob(1000000) FROM n";
    let count = |is_kept: bool| {
        let mut db = guarded(60_000);
        let rows = sql::<Binary>(blobs).load_iter::<Vec<u8>, _>(&mut db).expect("rows");
        let rows = rows.inspect(|_| {
            if !is_kept {
                forget_row()
            }
        });
        rows.take_while(Result::is_ok).count()
    };
    assert_eq!((count(true) < 150, count(false)), (true, 200));
}

/// As of a database that fell silent, and whose thread was left behind.
#[test]
fn one_connection_cannot_take_the_memory_of_the_next() {
    let blobs = format!("SELECT {}", vec!["randomblob(1000000)"; 90].join(","));
    let rows = || sql::<Binary>(&blobs);
    let connection = || {
        let mut allowance = Allowance::new(Timeouts::default());
        Arc::get_mut(&mut allowance).expect("nobody else's").answer_max = i64::MAX;
        open(":memory:", &allowance).expect("a connection")
    };
    let (mut hog, query) = (connection(), rows());
    let mut held = query.load_iter::<Vec<u8>, _>(&mut hog).expect("rows");
    held.next().expect("a row").expect("a blob");
    assert_eq!(rows().load::<Vec<u8>>(&mut connection()).map(|rows| rows.len()), Ok(1));
}

/// SQLite's own functions take seconds, or an hour.
#[rstest]
#[case::trim("length(trim(TEXT, TEXT))", 0)]
#[case::instr("instr(TEXT, substr(TEXT, 1, 500000) || 'b')", 0)]
#[case::replace("length(replace(TEXT, substr(TEXT, 1, 500000) || 'b', ''))", 1_000_000)]
fn of_long_texts_functions_answer_at_once(#[case] call: &str, #[case] answer: i64) {
    let call = call.replace("TEXT", "replace(hex(zeroblob(500000)), '0', 'a')");
    assert_eq!(sql::<BigInt>(&format!("SELECT {call}")).get_result(&mut guarded(60_000)), Ok(answer));
}

#[rstest]
#[case("trim('\u{e4}xay\u{e4}', 'a\u{e4}')")]
#[case("ltrim('\u{e4}xay\u{e4}', '\u{e4}')")]
#[case("rtrim('\u{e4}xay\u{e4}', '\u{e4}x')")]
#[case("trim('\u{e4}', '\u{c4}') || '.' || trim('', 'a') || '.' || trim('aaa', 'a') || '.' || trim('  a ')")]
#[case("coalesce(trim(null, 'a'), trim('a', null), ltrim(12321, 1), 'x') || rtrim(' a', '')")]
#[case("instr('aäaäb', 'äb') || instr('', '') || instr('ä', '') || instr('a', 'b') || instr(x'c3a4b1', x'b1')")]
#[case(
    "coalesce(instr(null, 'a'), instr('a', null), 'x') || instr('bäa', x'61') || instr(x'c3a4', 'ä') || instr(12, 2)"
)]
#[case("replace('aäaäb', 'ä', 'xyz') || replace('aaa', 'aa', 'b') || replace('a', '', 'b') || replace('aba', 'a', '')")]
#[case("coalesce(replace(null, 'a', 'b'), replace('a', null, 'b'), replace('a', 'a', null), replace(121, 1, 3))")]
#[case("typeof(replace(12, '', 3)) || typeof(replace(12, 3, 4)) || typeof(instr('a', 'a'))")]
fn functions_of_texts_answer_as_sqlites_own(#[case] call: &str) {
    let query = || sql::<Text>(&format!("SELECT {call}"));
    let mut plain = SqliteConnection::establish(":memory:").expect("a connection");
    let its_own: String = query().get_result(&mut plain).expect("a text");
    assert_eq!(query().get_result(&mut guarded(60_000)), Ok(its_own));
}

/// A control plane may keep files in its rows.
#[test]
fn a_row_with_a_long_text_is_read_but_for_that_text() {
    let table = "CREATE TABLE t (a, file, b); INSERT INTO t VALUES ('x', zeroblob(9000000), 'y'), ('x', 0, 'y')";
    let (_directory, mut db) = board(table);
    let read: QueryResult<Vec<String>> = sql::<Text>("SELECT a || length(a) || b FROM t WHERE a = 'x'").load(&mut db);
    assert_eq!(read, Ok(vec!["x1y".to_owned(), "x1y".to_owned()]));
    let long = sql::<BigInt>("SELECT count(hex(file)) FROM t").get_result::<i64>(&mut db);
    assert_eq!(long.expect_err("a refusal").to_string(), "string or blob too big");
}

/// Without the guard this would wait for somebody who writes into the pipe.
#[test]
fn a_pipe_in_place_of_a_journal_is_not_opened() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("board.db").display().to_string();
    let mut db = open(&path, &Allowance::new(Timeouts::default())).expect("a connection");
    db.batch_execute("CREATE TABLE t (a)").expect("a table");
    let made = std::process::Command::new("mkfifo").arg(format!("{path}-journal")).status().expect("mkfifo");
    assert!(made.success());
    let refused = db.batch_execute("SELECT a FROM t").expect_err("a refusal").to_string();
    assert_eq!(refused, "unable to open database file");
}

/// A command has all of an answer in memory.
#[rstest]
#[case::texts("hex(zeroblob(500000))", 60, 120)]
#[case::rows("i", 1_000_000, 10_000_000)]
fn an_answer_that_is_too_large_ends(#[case] column: &str, #[case] fits: u32, #[case] too_many: u32) {
    let mut db = guarded(60_000);
    let mut rows = |n: u32| {
        let numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
        let rows: QueryResult<Vec<String>> =
            sql::<Text>(&format!("{numbers} SELECT {column} FROM n LIMIT {n}")).load(&mut db);
        rows.map(|rows| rows.len()).map_err(|error| error.to_string())
    };
    assert_eq!(rows(too_many), Err("interrupted".to_owned()));
    assert_eq!(rows(fits), Ok(fits as usize), "the next one begins anew");
}

/// What shows all that a file holds keeps the answers to a dozen questions.
#[test]
fn answers_within_a_transaction_that_are_too_large_together_end() {
    let mut db = guarded(60_000);
    let texts = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60) \
        SELECT hex(zeroblob(500000)) FROM n";
    let mut read = |begin: &str| {
        db.batch_execute(begin).expect("a transaction");
        let rows: QueryResult<Vec<String>> = sql::<Text>(texts).load(&mut db);
        rows.map(|rows| rows.len()).map_err(|error| error.to_string())
    };
    assert_eq!([""; 3].map(&mut read), [Ok(60), Ok(60), Ok(60)], "each is all there is to keep");
    assert_eq!(["BEGIN", ""].map(&mut read), [Ok(60), Err("interrupted".to_owned())]);
}

/// A trigger would begin the time anew each time.
#[test]
fn a_trigger_that_never_ends_has_the_time_of_its_statement() {
    let mut db = guarded(50);
    let insert = "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    db.batch_execute("CREATE TABLE t (x); CREATE TRIGGER tr AFTER INSERT ON t BEGIN DELETE FROM t; END").expect("t");
    assert_eq!(db.batch_execute(insert).expect_err("an interruption").to_string(), "interrupted");
}

#[test]
fn a_connection_that_is_not_opened_here_is_none_of_the_guards() {
    drop(guarded(60_000));
    let mut plain = SqliteConnection::establish(":memory:").expect("a connection");
    plain.batch_execute("ATTACH ':memory:' AS other").expect("another database");
}
