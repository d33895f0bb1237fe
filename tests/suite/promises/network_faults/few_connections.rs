//! Servers that have few connections left.

use diesel::connection::SimpleConnection;
use sweep::store::Db;

use super::UNAVAILABLE;
use crate::support::databases::{connect, run};
use crate::support::program::{migrate_at, sweep_at};
use crate::support::scratch::Role;
use crate::support::server::Server;
use crate::support::world::{On, World};

#[test]
fn a_sweep_goes_on_with_the_connections_that_it_gets_and_calls_no_subject_failed() {
    let role = Role::new();
    let mut world = World::new(On::Postgres);
    world.run("begin");
    for _ in 0..100 {
        let agent = world.agent("idle");
        world.orphan(&agent);
    }
    world.run("commit");
    world.run(&format!(
        "grant usage on schema sweep to {0}; grant all on all tables in schema sweep to {0};
             grant execute on all functions in schema sweep to {0}",
        role.name
    ));
    // One connection for the scan, and two for six workers.
    world.run(&format!("alter role {} connection limit 3", role.name));

    let ran = sweep_at(&role.at(&world.url), ["--set", "connections=6", "--output", "json"]).run().done();

    assert_eq!(ran.err.matches("one connection less").count(), 4, "{ran}");
    let (json, issues) = (ran.json(), &ran.json()["kinds"]["issues"]);
    assert_eq!((issues["continued"].as_i64(), issues["scanned"].as_i64()), (Some(100), Some(100)), "{issues}");
    assert_eq!((json["ended"].as_str(), world.count("wakes")), (Some("completed"), 100));
}

#[test]
fn a_server_with_all_connections_taken_is_unavailable_until_some_are_given_back() {
    // Four connections for the sweeper, one for the observer, and two that are reserved.
    let server = Server::start_with(&["-c", "max_connections=7", "-c", "superuser_reserved_connections=2"]);
    migrate_at(&server.url, []).run().done();
    let mut observer = connect(&server.url);
    run(
        &mut observer,
        "create role sweeper login; grant usage on schema sweep to sweeper;
         grant all on all tables in schema sweep to sweeper; grant execute on all functions in schema sweep to sweeper;
         with agent as (insert into sweep.agents (id, name, status) values (gen_random_uuid(), 'Ada', 'idle') \
         returning id)
         insert into sweep.issues (id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
         select gen_random_uuid(), 'T-' || n, 'Mend', 'in_progress', id, since, since, since
         from agent, generate_series(1, 20) n, (select now() - interval '1 hour') as t (since)",
    );
    wait_for_the_others_to_be(0, &mut observer);
    let url = server.url.replace("postgres@", "sweeper@");
    let mut others: Vec<Db> = (0..4).map(|_| connect(&url)).collect();

    sweep_at(&url, []).run().refused(UNAVAILABLE, &["cannot reach PostgreSQL", "remaining connection slots"]);
    others.truncate(3);
    wait_for_the_others_to_be(3, &mut observer);
    let ran = sweep_at(&url, ["--output", "json"]).run();
    ran.says_once(UNAVAILABLE, &["the sweep could not go on", "cannot reach PostgreSQL"]);
    let json = ran.json();
    assert_eq!((json["ended"].as_str(), json["subjects"].as_array().map(Vec::len)), (Some("failed"), Some(0)));
    assert_eq!(json["kinds"]["issues"]["failed"], 0, "nothing was begun");

    others.truncate(2);
    wait_for_the_others_to_be(2, &mut observer);
    let ran = sweep_at(&url, ["--output", "json"]).run().done();
    assert_eq!(ran.json()["kinds"]["issues"]["continued"], 20);
}

/// Waits until so many others are connected: a backend ends a moment after its client, and gives its slot back after it
/// has left the list.
fn wait_for_the_others_to_be(count: usize, observer: &mut Db) {
    let gone = format!(
        "do $$ begin while {count} < (select count(*) from pg_stat_activity
                 where backend_type = 'client backend' and pid <> pg_backend_pid()) loop
             perform pg_sleep(0.001), pg_stat_clear_snapshot(); end loop; perform pg_sleep(0.2); end $$"
    );
    observer.batch_execute(&gone).expect("an observer");
}

/// A sweep that could not scan does not know that there is nothing to do.
#[test]
fn a_scan_that_takes_too_long_is_said_by_its_setting_and_not_called_nothing_to_do() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphan(&agent);
    world.stalled_steps(&agent, 0..2);
    world.run(
        "alter view issue_candidates rename to quick_candidates;
         create view issue_candidates as select q.* from quick_candidates q, (select pg_sleep(5)) slow",
    );
    for arguments in [vec!["--dry-run"], vec![]] {
        let ran = sweep_at(&world.url, [vec!["--set", "statement_timeout=1s"], arguments].concat()).run();
        let says = ["scanning issues", "SWEEP_STATEMENT_TIMEOUT", "Trying again helps if"];
        ran.says_once(UNAVAILABLE, &says);
        assert!(!ran.out.contains("Nothing to do"), "{ran}");
        assert!(ran.out.contains("Ended early by an error: not everything was looked at."), "{ran}");
    }
    let json = sweep_at(&world.url, ["--set", "statement_timeout=1s", "--dry-run", "--output", "json"]).run().json();
    let unswept = json["unswept"].as_array().expect("a list");
    assert!(unswept.len() == 1 && unswept[0].to_string().contains("issues could not be swept"), "{json}");
    // The other kinds were swept all the same.
    assert_eq!(world.count("wakes"), 2);
}

#[test]
fn rows_of_one_kind_that_do_not_fit_into_temporary_files_leave_the_other_kinds_theirs() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphan(&agent);
    world.stalled_step(Some(&agent));
    let database = world.name().to_owned();
    world.run(&format!(
        "alter view issue_candidates rename to quick_candidates;
         create view issue_candidates as select q.* from quick_candidates q
             where (select string_agg(text, '' order by text)
                    from (select n || repeat('x', 1000) from generate_series(1, 20000) n) many (text)) <> '';
         alter database \"{database}\" set temp_file_limit = '1MB'"
    ));

    let ran = sweep_at(&world.url, ["--no-guard"]).run();

    ran.says_once(UNAVAILABLE, &["issues could not be swept", "temporary file size exceeds"]);
    assert_eq!(world.count("wakes"), 1, "that of the step");
}
