//! The database goes away, and comes back: the agent does not notice.

use crate::support::databases::connect;
use crate::support::program::{migrate_at, sweep};
use crate::support::server::Server;
use crate::support::wait::wait_for;
use crate::support::watcher::Watcher;
use crate::support::world::{On, World};

const COUNTING: &str = "while :; do n=$((n + 1)); echo \"step $n\"; sleep 0.05; done";

fn steps(watcher: &Watcher) -> usize {
    watcher.screen.text().matches("step").count()
}

#[track_caller]
fn until_further_steps(watcher: &Watcher) {
    let before = steps(watcher);
    wait_for("further steps", || (before + 20 < steps(watcher)).then_some(()));
}

#[test]
fn an_agent_outlives_a_crash_of_the_server() {
    let server = Server::start();
    migrate_at(&server.url, []).run().done();
    let watcher = Watcher::watch_script(&server.url, &[], COUNTING);
    watcher.until_it_prints("step 5");

    server.crash();
    watcher.until_it_prints("the session's row cannot be kept");
    until_further_steps(&watcher);
    server.restart();
    watcher.until_it_prints("the session's row is kept again");

    let mut db = connect(&server.url);
    let mut last_step = || {
        let sql = "select recent_output as value from sweep.sessions";
        let output = diesel::RunQueryDsl::get_result::<Output>(diesel::sql_query(sql), &mut db).expect("a row").value;
        output.rsplit(' ').next().and_then(|step| step.parse::<usize>().ok()).expect("a step")
    };
    let seen = steps(&watcher);
    wait_for("the present step", || (seen < last_step()).then_some(()));
    let ended = watcher.stop();
    assert_eq!(ended.code, 143);
    assert_eq!(ended.text.matches("cannot be kept").count(), 1, "{}", ended.text);
    assert_eq!(ended.text.matches("is kept again").count(), 1, "{}", ended.text);
    assert!(!ended.text.contains("panicked"), "{}", ended.text);
}

#[derive(diesel::QueryableByName)]
struct Output {
    #[diesel(sql_type = diesel::sql_types::Text)]
    value: String,
}

#[test]
fn an_agent_that_ends_without_a_database_ends_as_it_would() {
    let server = Server::start();
    migrate_at(&server.url, []).run().done();
    let mut watcher = Watcher::watch_script(&server.url, &[], "echo ready; read x; exit 5");
    watcher.until_it_prints("ready");
    server.crash();
    watcher.until_it_prints("the session's row cannot be kept");

    watcher.screen.types("\r");

    let ended = watcher.end();
    assert_eq!(ended.code, 5);
    assert!(ended.text.contains("the session crashed (exit code 5)"), "{}", ended.text);
}

#[test]
fn an_agent_does_not_wait_for_a_database_that_somebody_else_has_locked() {
    let mut world = World::new(On::Sqlite);
    let watcher = Watcher::watch_script(&world.url, &[], COUNTING);
    watcher.until_it_prints("step 5");
    world.run("begin exclusive");
    until_further_steps(&watcher);
    world.run("rollback");
    let step = steps(&watcher);
    wait_for("the present step", || {
        let output = world.of_agent("recent_output")?;
        output.rsplit(' ').next()?.parse::<usize>().ok().filter(|last| step < *last)
    });
    let ended = watcher.stop();
    assert!(!ended.text.contains("cannot be kept"), "{}", ended.text);
}

#[test]
fn without_a_database_no_session_begins() {
    let words = ["watch", "--database", "postgres://sweep@127.0.0.1:1/sweep", "--", "touch", "ran"];
    sweep(words).run().refused(69, &["cannot reach PostgreSQL"]);
}
