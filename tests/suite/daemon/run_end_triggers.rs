//! That a run has ended is heard at once, by LISTEN or by a look at the file, and telling of it never stands in the
//! host's way.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rstest::rstest;
use sweep::store::connect::listen::{HEARD_MAX, ListenMode, Listener, Source};
use sweep::store::connect::open::Url;

use crate::support::daemon::{NEVER, daemon};
use crate::support::databases::{connect, run};
use crate::support::pooler::Pooler;
use crate::support::scratch::Role;
use crate::support::world::{On, World};

const CONFIG: i32 = 78;
const SOON: Duration = Duration::from_secs(10);
const BRIEFLY: Duration = Duration::from_millis(300);

pub fn listener(world: &World) -> Listener {
    open(Url::parse(&world.url).expect("a URL")).expect("a listener")
}

fn open(database: Url) -> anyhow::Result<Listener> {
    Listener::open(&Source { database, connection: None, listening: ListenMode::On })
}

#[rstest]
#[case::native(On::Postgres)]
#[case::sqlite(On::Sqlite)]
#[case::paperclip(On::Paperclip)]
fn only_a_run_that_ends_is_heard_and_only_once(#[case] on: On) {
    let mut world = World::with_listen(on);
    let agent = world.agent("idle");
    let (issue, other) = (world.orphan(&agent), world.orphan(&agent));
    let run = world.issue_run(&issue, &agent, "queued", 5);
    let mut listener = listener(&world);

    world.set_run(&run, "status = 'running'");
    world.set_run(&run, "status = 'running'");
    world.issue_run(&other, &agent, "running", 1);
    assert_eq!(listener.wait(BRIEFLY).expect("silence"), BTreeSet::new());

    world.set_run(&run, "status = 'failed'");
    assert_eq!(listener.wait(SOON).expect("news"), BTreeSet::from([issue]));
    world.set_run(&run, "status = 'timed_out'");
    assert_eq!(listener.wait(BRIEFLY).expect("silence"), BTreeSet::new());
}

/// A daemon would otherwise listen for ever to a host that notifies nobody.
#[test]
fn a_paperclip_that_notifies_nobody_is_found_out() {
    let world = World::new(On::Paperclip);
    let url = Url::parse(&world.url).expect("a URL");
    let refused = || format!("{:#}", open(url.clone()).err().expect("a refusal"));
    assert!(refused().contains("run `sweep migrate --with-listen`"), "{}", refused());

    let mut world = World::with_listen(On::Paperclip);
    let url = Url::parse(&world.url).expect("a URL");
    assert!(open(url.clone()).is_ok());
    world.run("alter table heartbeat_runs disable trigger sweep_run_ended");
    let refused = format!("{:#}", open(url.clone()).err().expect("a refusal"));
    assert!(refused.contains("nothing notifies of runs that end"), "{refused}");
}

#[test]
fn tables_of_sweeps_own_whose_trigger_is_gone_or_disabled_are_found_out() {
    let mut world = World::new(On::Postgres);
    let url = Url::parse(&world.url).expect("a URL");
    assert!(open(url.clone()).is_ok());
    for spoiled in ["alter table runs disable trigger notify_of_run_end", "drop trigger notify_of_run_end on runs"] {
        world.run(spoiled);
        let refused = format!("{:#}", open(url.clone()).err().expect("a refusal"));
        assert!(refused.contains("the trigger notify_of_run_end on runs is gone or disabled"), "{refused}");
        daemon(&world.url, NEVER, ["--listen=on"]).run().says_once(CONFIG, &["is gone or disabled"]);
    }
}

/// Whatever a run says its issue is, the host can end it.
#[rstest]
#[case::nothing("'{}'")]
#[case::null("null")]
#[case::no_object("'[1]'")]
#[case::too_long("jsonb_build_object('issueId', repeat('x', 9000))")]
#[case::no_uuid("jsonb_build_object('issueId', repeat('x', 36))")]
#[case::nested("'{\"issueId\": {\"a\": 1}}'")]
fn notifying_never_stands_in_the_hosts_way(#[case] context: &str) {
    let mut world = World::with_listen(On::Paperclip);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let run = world.issue_run(&issue, &agent, "running", 5);
    let mut listener = listener(&world);
    world.set_run(&run, &format!("context_snapshot = {context}"));
    world.set_run(&run, "status = 'failed'");
    assert_eq!(world.status("heartbeat_runs", &run), "failed");
    assert_eq!(listener.wait(BRIEFLY).expect("silence"), BTreeSet::new());
}

#[test]
fn a_lost_connection_is_an_error_and_not_silence() {
    let mut world = World::with_listen(On::Postgres);
    let mut listener = listener(&world);
    world.run(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> \
        pg_backend_pid()",
    );
    let began = Instant::now();
    assert!(listener.wait(SOON).is_err());
    assert!(began.elapsed() < SOON);
}

/// Otherwise a daemon behind a pooler would believe that it listens, and hear nothing for ever.
#[test]
fn a_pooler_that_swallows_notifications_is_found_out() {
    let world = World::with_listen(On::Postgres);
    let pooler = Pooler::start(4);
    let url = Url::parse(&pooler.url(world.name())).expect("a URL");
    let refused = open(url).err().expect("a refusal");
    assert!(format!("{refused:#}").contains("through a transaction pooler none does"), "{refused:#}");
}

/// Whatever arrives is kept in memory, and any role of the database may notify.
#[test]
fn a_flood_of_notifications_is_not_listened_to() {
    let world = World::new(On::Postgres);
    let mut listener = listener(&world);
    let flood = |n: usize| {
        let mut stranger = connect(&Role::new().at(&world.url));
        let notify = "perform pg_notify('sweep_run_ended', gen_random_uuid()::text)";
        run(&mut stranger, &format!("do $$ begin {notify} from generate_series(1, {n}); end $$"));
    };
    flood(HEARD_MAX);
    let mut heard = 0;
    while heard < HEARD_MAX {
        heard += listener.wait(SOON).expect("news").len();
    }
    flood(50 * HEARD_MAX);
    let said = (0..50).find_map(|_| listener.wait(SOON).err()).expect("the end of listening").to_string();
    assert!(said.contains("more than 1000 notifications at once"), "{said}");
}
