//! Whose database it is, and that nothing of the host's is touched.

use super::*;

#[rstest]
#[case::native(Scratch::empty(), "host native")]
#[case::paperclip(Scratch::paperclip(), "host paperclip")]
fn a_host_is_recognised_and_nothing_outside_of_our_schema_changes(#[case] database: Scratch, #[case] host: &str) {
    let before = database.catalog_of_host();
    let ran = migrate_at(&database.url, []).run().done();
    assert!(ran.out.contains(host), "{ran}");
    assert_eq!(database.catalog_of_host(), before);
    let said = sweep_at(&database.url, []).run().done();
    assert!(said.out.contains(host.trim_start_matches("host ")), "{said}");
    assert_eq!(database.catalog_of_host(), before);
}

#[test]
fn a_database_with_unknown_tables_is_refused_until_the_operator_says_native() {
    let database = Scratch::empty();
    database.run("create table orders (id int); create table clients (id int)");
    let before = database.catalog();

    let ran = migrate_at(&database.url, []).run();
    ran.refused(
        CONFIG,
        &["has 2 tables", "lacks Paperclip's companies", "heartbeat_runs", "`sweep migrate --host native`"],
    );
    assert_eq!(database.catalog(), before);

    migrate_at(&database.url, ["--host", "native"]).run().done();
    assert_eq!(database.catalog_of_host(), before);
    sweep_at(&database.url, []).run().done();
    let again = migrate_at(&database.url, []).run().done();
    assert!(again.out.contains("up to date (host native)"), "{again}");
}

#[test]
fn what_is_called_paperclips_must_have_its_tables() {
    let database = Scratch::empty();
    let before = database.catalog();
    for arguments in [vec!["--host", "paperclip"], vec!["--host", "paperclip", "--print"]] {
        let ran = migrate_at(&database.url, arguments).run();
        ran.refused(CONFIG, &["is not Paperclip's", "lacks the tables companies, agents, issues"]);
    }
    assert_eq!(database.catalog(), before);
}

#[test]
fn a_paperclip_without_a_column_that_is_read_is_refused_by_its_name_and_nothing_is_left_behind() {
    let database = Scratch::paperclip();
    database.run("alter table issues drop column execution_run_id cascade");
    let before = database.catalog();

    let ran = migrate_at(&database.url, []).run();

    ran.refused(CONFIG, &["nothing was changed", "execution_run_id does not exist"]);
    assert_eq!(database.catalog(), before);
}

#[rstest]
#[case(Scratch::empty(), "paperclip", "native")]
#[case(Scratch::paperclip(), "native", "paperclip")]
fn a_host_that_contradicts_the_schema_is_refused(#[case] database: Scratch, #[case] wanted: &str, #[case] found: &str) {
    migrate_at(&database.url, []).run().done();
    let ran = migrate_at(&database.url, ["--host", wanted]).run();
    ran.refused(CONFIG, &[&format!("--host {wanted}"), &format!("host is {found}")]);
}

#[test]
fn a_sqlite_file_is_nobodys_but_ours() {
    let (_directory, _, url) = new_file();
    let ran = migrate_at(&url, ["--host", "paperclip"]).run();
    ran.refused(CONFIG, &["--host paperclip", "host is native"]);
}

#[test]
fn a_role_that_may_not_create_a_schema_is_refused() {
    let role = Role::new();
    let database = Scratch::empty();
    let ran = migrate_at(&role.at(&database.url), []).run();
    ran.refused(CONFIG, &["cannot create the schema sweep: permission denied for database sweep_test_scratch_"]);
}
