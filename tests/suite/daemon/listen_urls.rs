//! SWEEP_LISTEN_URL: sweeps go through a pooler, and the one connection that listens goes past it.

use crate::support::daemon::{Daemon, EACH_SECOND, NEVER, daemon};
use crate::support::pooler::Pooler;
use crate::support::program::{Program, sweep};
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

const CONFIG: i32 = 78;
const LISTENING: &str = "listening for runs that end";

/// A daemon that listens, and sweeps through this pooler.
fn behind(pooler: &Pooler, world: &World) -> Program {
    let url = pooler.url(world.name());
    daemon(&url, NEVER, ["--listen", "on"])
}

#[test]
fn past_a_transaction_pooler_it_is_heard_at_once_that_a_run_has_ended() {
    let (mut world, pooler) = (World::with_listen(On::Postgres), Pooler::start(4));
    let (issue, run) = world.issue_at_work();
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &world.url).expect("a file");
    let mut listening = Daemon::start(behind(&pooler, &world).env("SWEEP_LISTEN_URL_FILE", file.path()));
    listening.says(LISTENING);

    world.end_run(&run);

    wait_for("a wake", || (0 < world.wakes_for(&issue)).then_some(()));
    listening.ends_well();
    // The control: through the pooler nothing is heard, and what would help is named.
    let deaf = Daemon::start(behind(&pooler, &world));
    assert!(deaf.says("WARN runs that end are not heard of").ends_with("by SWEEP_LISTEN_URL"));
}

#[test]
fn behind_a_transaction_pooler_who_asked_for_nothing_has_the_schedule_and_one_line_that_says_so() {
    let (mut world, pooler) = (World::with_listen(On::Postgres), Pooler::start(4));
    let (issue, run) = world.issue_at_work();
    let mut deaf = Daemon::start(daemon(&pooler.url(world.name()), EACH_SECOND, ["--set", "orphan_grace=1s"]));
    assert!(deaf.says("INFO runs that end are not heard of").ends_with("by SWEEP_LISTEN_URL"));
    world.end_run(&run);
    wait_for("a wake", || (0 < world.wakes_for(&issue)).then_some(()));
    let swept = deaf.count("sweep completed");
    deaf.says_times(swept + 3, "sweep completed");
    deaf.ends_well();
    assert_eq!((deaf.count("are not heard of"), deaf.count(LISTENING)), (1, 0), "{:?}", deaf.log());
}

#[test]
fn another_database_is_refused_at_the_start_with_the_names_of_both() {
    let (world, other) = (World::with_listen(On::Postgres), World::with_listen(On::Postgres));
    let program = daemon(&world.url, NEVER, ["--listen", "on"]).env("SWEEP_LISTEN_URL", &other.url);
    let mut refused = Daemon::start(program);
    assert_eq!(refused.ended().0, CONFIG);
    let line = refused.says("SWEEP_LISTEN_URL leads to the database");
    assert!(line.contains(world.name()) && line.contains(other.name()), "{line}");
}

/// Nothing depends on it: its server may come later.
#[test]
fn that_it_cannot_be_reached_is_no_reason_not_to_sweep() {
    let world = World::with_listen(On::Postgres);
    let arguments = ["--listen", "on", "--at-start", "on"];
    let away = "postgres://postgres@127.0.0.1:1/agents";
    let mut daemon = Daemon::start(daemon(&world.url, NEVER, arguments).env("SWEEP_LISTEN_URL", away));
    daemon.says("sweep completed");
    daemon.says("runs that end are not heard of, the schedule finds them: SWEEP_LISTEN_URL: cannot reach PostgreSQL");
    daemon.ends_well();
}

#[test]
fn it_must_be_a_postgresql_server_and_its_password_is_never_shown() {
    let world = World::new(On::Postgres);
    let sqlite = daemon(&world.url, NEVER, []).env("SWEEP_LISTEN_URL", "sqlite://a.db");
    sqlite.run().refused(CONFIG, &["SWEEP_LISTEN_URL", "expected postgres://"]);
    let shown = sweep(["config"]).env("SWEEP_LISTEN_URL", "postgres://ada:hunter2@db.example/agents").run().done().out;
    assert!(shown.contains("postgres://***@db.example/agents") && !shown.contains("hunter2"), "{shown}");
}

mod known_poolers {
    use rstest::rstest;

    use sweep::settings::Environment;
    use sweep::settings::database::pooler_at;
    use sweep::store::connect::open::Url;

    use crate::support::daemon::{Daemon, NEVER, daemon};
    use crate::support::databases::over_tcp;
    use crate::support::program::sweep_at;
    use crate::support::world::{On, World};

    const NEON: &str = "ep-cool-rain-123-pooler.eu-central-1.aws.neon.tech";
    const OF_LISTENING: &str = "no notification arrives: set SWEEP_LISTEN_URL";

    /// A world's database, as if its server stood behind this name.
    fn named(world: &World, host: &str) -> String {
        over_tcp(world.name(), "sslmode=require").replace("host=localhost", &format!("host={host}"))
    }

    #[test]
    fn are_warned_of_before_anything_has_failed_and_once() {
        let world = World::new(On::Postgres);
        let url = named(&world, NEON);

        let ran = sweep_at(&url, []).run().done();
        assert!(!ran.err.contains("transaction pooler"), "{ran}");
        let mut listening = Daemon::start(daemon(&url, NEVER, ["--listen", "on"]));
        listening.says(OF_LISTENING);
        listening.says("listening for runs that end");
        listening.ends_well();
        let program = daemon(&url, NEVER, ["--listen", "on"]).env("SWEEP_LISTEN_URL", &world.url);
        let mut listening = Daemon::start(program);
        listening.says("listening for runs that end");
        listening.ends_well();
        assert_eq!(listening.count(OF_LISTENING), 0);
    }

    #[rstest]
    #[case::supabase_in_transaction_mode("host=aws-0-eu.pooler.supabase.com port=6543", true)]
    #[case::supabase_in_session_mode("host=aws-0-eu.pooler.supabase.com port=5432", false)]
    #[case::supabase_by_default("host=aws-0-eu.pooler.supabase.com", false)]
    #[case::neon("host=ep-cool-rain-123-pooler.eu-central-1.aws.neon.tech", true)]
    #[case::neon_itself("host=ep-cool-rain-123.eu-central-1.aws.neon.tech", false)]
    #[case::somebody_else("host=a-pooler.example", false)]
    fn are_known_by_their_names(#[case] url: &str, #[case] is_known: bool) {
        let url = Url::parse(url).expect("a URL");
        assert_eq!(pooler_at(&url, &Environment::of(&[])).is_some(), is_known);
    }

    #[test]
    fn the_port_of_libpqs_variable_counts_as_well() {
        let url = Url::parse("host=aws-0-eu.pooler.supabase.com").expect("a URL");
        assert!(pooler_at(&url, &Environment::of(&[("PGPORT", "6543")])).is_some());
    }
}
