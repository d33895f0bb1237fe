//! Tests beside the real Prefect server, with real workers, on PostgreSQL and on SQLite. A server takes half a minute
//! to start, so one server plays all scenarios of a database.

mod api;
mod escalations;
mod left;
mod run_ends;
mod runs;
mod server;
mod store;
mod wakes;

use server::Server;
use store::Store;

#[test]
fn on_postgresql() {
    play(Store::on_postgresql());
}

#[test]
fn on_sqlite() {
    play(Store::on_sqlite());
}

fn play(store: Store) {
    let server = Server::start(store);
    let before = server.store.schema();
    server.migrate();
    let writer = server.keep_writing();

    wakes::a_run_whose_worker_and_process_were_killed_is_completed_once_by_a_live_worker(&server);
    run_ends::however_a_continued_run_ends_that_is_noticed_at_once(&server);
    left::a_healthy_run_that_says_nothing_between_two_heartbeats_is_left(&server);
    left::a_run_without_any_heartbeat_is_given_more_time(&server);
    left::what_others_write_stops_no_look_at_a_run(&server);
    left::a_pause_of_its_deployment_its_queue_or_its_pool_is_respected(&server);
    left::a_run_that_waits_or_is_being_cancelled_is_left(&server);
    escalations::an_escalation_is_read_back_frees_the_slot_and_can_be_retried(&server);
    escalations::a_comment_alone_leaves_the_run_as_it_is(&server);
    escalations::what_no_worker_can_take_up_goes_to_a_person_at_once(&server);

    let written = writer.end();
    server.uninstall();
    assert_eq!(server.store.schema(), before, "its schema is as it was, to the letter");
    server.kill();
    server.verify();
    let found = server.store.text("select count(*) from log where name = 'writer'");
    assert_eq!(found, Some(written.to_string()), "no write of the server's is lost");
}
