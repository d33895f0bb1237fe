//! The dead-man's switch hears of each scheduled sweep, and of nothing else.

use crate::support::program::sweep_at;
use crate::support::receiver::{Answer, Receiver};
use crate::support::world::{On, World, on_each_database};

fn paths(receiver: &Receiver) -> Vec<String> {
    receiver.requests().into_iter().map(|request| format!("{} {}", request.method, request.path)).collect()
}

on_each_database! {
    fn a_sweep_pings_at_its_beginning_and_at_its_end(world) {
        let receiver = Receiver::new();
        let agent = world.agent("idle");
        world.orphan(&agent);
        sweep_at(&world.url, []).env("SWEEP_PING_URL", format!("{}?rid=1", receiver.url())).run().done();
        assert_eq!(paths(&receiver), ["GET /services/hunter2/start?rid=1", "GET /services/hunter2?rid=1"]);
    }

    fn a_dry_run_and_what_is_swept_by_name_say_nothing_of_the_schedule(world) {
        let receiver = Receiver::new();
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        for arguments in [vec!["--dry-run"], vec!["--issue", &issue.0]] {
            sweep_at(&world.url, arguments).env("SWEEP_PING_URL", receiver.url()).run().done();
        }
        assert!(paths(&receiver).is_empty(), "{:?}", paths(&receiver));
    }

    fn a_sweep_that_the_guard_stopped_is_a_failure_to_the_switch(world) {
        let receiver = Receiver::new();
        let agent = world.agent("idle");
        world.orphans(&agent, 0..25);
        let sweep = sweep_at(&world.url, ["--set", "guard_share=0.5"]).env("SWEEP_PING_URL", receiver.url());
        assert_eq!(sweep.run().code, 4);
        assert_eq!(paths(&receiver)[1], "GET /services/hunter2/fail");
    }

    fn a_sweep_whose_report_could_not_be_printed_is_a_failure_to_the_switch(world) {
        let receiver = Receiver::new();
        let sweep = sweep_at(&world.url, ["--output", "json"]).env("SWEEP_PING_URL", receiver.url());
        assert_eq!(sweep.with_a_full_stdout().run().code, 1);
        assert_eq!(paths(&receiver)[1], "GET /services/hunter2/fail");
    }

    fn a_switch_that_fails_is_a_warning(world) {
        for answer in [Answer::Status(500), Answer::Reset] {
            let receiver = Receiver::answering(answer);
            let ran = sweep_at(&world.url, []).env("SWEEP_PING_URL", receiver.url()).run().done();
            assert!(ran.err.contains("the ping URL was not notified that the sweep began: "), "{ran}");
            assert!(!ran.err.contains("hunter2"), "{ran}");
        }
    }
}

#[test]
fn a_database_that_is_gone_is_a_failure_to_the_switch() {
    let receiver = Receiver::new();
    let ran = sweep_at("postgres://127.0.0.1:1/nowhere", []).env("SWEEP_PING_URL", receiver.url()).run();
    assert_eq!(ran.code, 69, "{ran}");
    assert_eq!(paths(&receiver), ["GET /services/hunter2/start", "GET /services/hunter2/fail"]);
}

/// Five seconds for each ping: one that hangs delays a sweep, and does not stop it.
#[test]
fn a_switch_that_hangs_delays_a_sweep_by_seconds() {
    let (world, receiver) = (World::new(On::Sqlite), Receiver::answering(Answer::Hang));
    let began = std::time::Instant::now();
    sweep_at(&world.url, []).env("SWEEP_PING_URL", receiver.url()).run().done();
    assert!(began.elapsed().as_secs() < 15, "{:?}", began.elapsed());
}
