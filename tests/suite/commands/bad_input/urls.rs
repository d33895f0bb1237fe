//! Where the database is: URLs and the variables that hold them.

use super::*;

#[test]
fn without_any_database_it_says_where_it_looked_and_what_to_do_and_makes_no_file() {
    let says = ["sweep.db: there is no such database", "DATABASE_URL", "--database", "`sweep migrate`"];
    sweep([]).run().refused(CONFIG, &says);
    sweep(["--dry-run"]).run().refused(CONFIG, &says);
}

#[rstest]
#[case::of_another_database("mysql://root:secret@db/app", "expected postgres://… or sqlite://PATH, found mysql://…")]
#[case::without_a_scheme("secret", "expected postgres://… or sqlite://PATH")]
#[case::without_a_path("sqlite://", "sqlite:// needs a path")]
#[case::with_an_at_in_the_password("postgres://app:se@secret@db/app", "@ as %40")]
#[case::with_a_slash_in_the_password("postgres://app:12/secret@db/app", "/ as %2F")]
fn a_url_that_is_wrong_is_refused_without_its_password(#[case] url: &str, #[case] says: &str) {
    sweep(["--database", url]).run().refused(USAGE, &["--database: ", says]);
    sweep([]).env("DATABASE_URL", url).run().refused(CONFIG, &["DATABASE_URL: ", says]);
    sweep(["migrate"]).env("DATABASE_URL", url).run().refused(CONFIG, &["DATABASE_URL: ", says]);
}

#[rstest]
#[case::with_a_space("postgres://app:secret word@db/app", "%20")]
#[case::with_a_bare_percent("postgres://app:secret%zz@db/app", "encode special characters")]
#[case::unquoted("host=db password=my secret", "quote values")]
#[case::with_an_unknown_option("host=db password=secret nonsense=1", "invalid connection option \"nonsense\"")]
#[case::with_an_unknown_parameter("postgres://app:secret@db/app?sslmoed=require", "\"sslmoed\"")]
#[case::with_a_malformed_port("postgres://app:secret@db:5x/app", "\"5x\" for connection option \"port\"")]
fn what_libpq_refuses_is_reported_without_the_password(#[case] url: &str, #[case] says: &str) {
    sweep_at(url, []).run().refused(CONFIG, &["cannot connect to PostgreSQL", says]);
}

#[rstest]
#[case::encoded("postgres://app:p%40ss%2Fword@127.0.0.1:1/app")]
#[case::with_a_question_mark("postgres://app:what?@127.0.0.1:1/app")]
#[case::in_the_query("postgres:///app?host=127.0.0.1&port=1&user=app@corp&password=a/b")]
#[case::as_pairs("host=127.0.0.1 port=1 user=app@corp password='a b@c/d'")]
fn a_url_that_is_right_reaches_for_the_server(#[case] url: &str) {
    sweep_at(url, []).run().refused(UNAVAILABLE, &["\"127.0.0.1\", port 1 failed: Connection refused"]);
}

#[test]
fn a_url_in_the_wrong_place_is_not_repeated_with_its_password() {
    for arguments in [
        vec!["postgres://app:secret@db/app"],
        vec!["--limit", "postgres://app:secret@db/app"],
        vec!["host=db password=secret user=app"],
        vec!["--dry-run=postgres://app:secret@db/app"],
        vec!["--databse", "postgres://app:secret@db/app"],
    ] {
        sweep(arguments).run().refused(USAGE, &[]);
    }
}

#[test]
fn the_url_can_be_in_a_file_and_may_end_in_a_newline() {
    let world = World::new(On::Sqlite);
    let file = file_with(&format!("{}\n", world.url));
    sweep(["--dry-run"]).env("DATABASE_URL_FILE", file.path()).run().done();
    sweep(["--dry-run"]).env("DATABASE_URL", format!(" {}\n", world.url)).run().done();
}

#[test]
fn a_file_for_the_url_that_cannot_serve_is_named() {
    let (directory, empty) = (tempfile::tempdir().expect("a directory"), file_with("\n"));
    let (wrong, missing) = (file_with("secret"), directory.path().join("missing"));
    for (path, says) in [
        (missing.as_path(), "No such file"),
        (directory.path(), "Is a directory"),
        (empty.path(), "is empty"),
        (wrong.path(), "expected postgres://"),
    ] {
        let ran = sweep([]).env("DATABASE_URL_FILE", path).run();
        ran.refused(CONFIG, &["DATABASE_URL_FILE", &path.display().to_string(), says]);
    }
}

#[test]
fn libpqs_own_variables_are_enough() {
    let ran = sweep([]).env("PGHOST", "127.0.0.1").env("PGPORT", "1").run();
    ran.refused(UNAVAILABLE, &["cannot reach PostgreSQL", "\"127.0.0.1\", port 1", "Connection refused"]);
}

fn file_with(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("its text");
    file
}
