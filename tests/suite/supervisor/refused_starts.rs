//! What `sweep watch` refuses, before anything runs.

use crate::support::program::{Program, sweep};
use crate::support::watcher::path;
use crate::support::world::{On, World, on_each_database};

const USAGE: i32 = 64;
const CONFIG: i32 = 78;
const NOT_FOUND: i32 = 127;

fn watch(url: &str, words: &[&str]) -> Program {
    sweep(["watch", "--database", url].into_iter().chain(words.iter().copied())).env("PATH", path())
}

on_each_database! {
    fn names_that_mean_nothing_are_refused_and_nothing_is_registered(world) {
        let url = world.url.clone();
        let refused = |code, words: &[&str], says: &[&str]| watch(&url, words).run().refused(code, says);
        refused(USAGE, &["--agent", "Ada", "--", "true"], &["--agent: there is no agent Ada"]);
        refused(USAGE, &["--issue", "ACM-1", "--", "true"], &["there is no issue ACM-1"]);
        refused(USAGE, &["--session", "S-1", "--", "true"], &["there is no session S-1"]);
        refused(NOT_FOUND, &["--", "no-such-agent", "--fast"], &["no-such-agent --fast: command not found"]);
        refused(NOT_FOUND, &["--", "/no/such/agent"], &["/no/such/agent: command not found"]);
        refused(USAGE, &[], &["PROGRAM"]);
        refused(USAGE, &["--tmux", "%1", "--", "true"], &["--tmux"]);
        refused(USAGE, &["--session", "S-1", "--name", "x", "--", "true"], &["--session"]);
        refused(USAGE, &["--silent-after", "1500ms", "--", "true"], &["1500ms", "whole seconds"]);
        refused(USAGE, &["--silent-after", "-5s", "--", "true"], &["-5s"]);
        watch(&url, &["--", "true"]).env("SWEEP_NUDGE_DELAY", "often").run()
            .refused(CONFIG, &["SWEEP_NUDGE_DELAY", "often"]);
        assert_eq!(world.count("sessions"), 0);

        world.agent("idle");
        world.agent("idle");
        refused(USAGE, &["--agent", "Ada", "--", "true"], &["more than one agent is called Ada"]);
    }

    fn the_name_of_a_session_that_has_ended_is_taken_up_and_one_that_goes_on_keeps_it(world) {
        let first = watch(&world.url, &["--name", "agent", "--silent-after", "90s", "--", "true"]).run();
        assert_eq!(first.code, 0, "{first}");
        let again = watch(&world.url, &["--name", "agent", "--", "echo", "again"]).run();
        assert_eq!((again.code, world.count("sessions")), (0, 1), "{again}");
        assert_eq!(world.of_agent("title").as_deref(), Some("echo again"));
        assert_eq!(world.of_agent("silent_after_seconds").as_deref(), Some("90"), "what is not given stays");

        world.run("update sessions set status = 'active', ended_at = null");
        let refusal = "a session that has not ended is called agent; take it up with --session agent";
        watch(&world.url, &["--name", "agent", "true"]).run().refused(USAGE, &[refusal]);
        assert_eq!(world.count("sessions"), 1);
    }

    fn a_session_belongs_to_its_issues_tenant_and_has_its_own_threshold(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.set("issues", &issue, "tenant = 'acme'");
        let words =
            ["--name", "agent", "--issue", &issue.0, "--agent", &agent.0, "--silent-after", "90s", "--", "true"];
        assert_eq!(watch(&world.url, &words).run().code, 0);
        assert_eq!(world.of_agent("tenant").as_deref(), Some("acme"));
        assert_eq!(world.of_agent("silent_after_seconds").as_deref(), Some("90"));
        assert_eq!(world.of_agent("title").as_deref(), Some("true"));
    }
}

#[test]
fn tmux_that_is_not_there_or_has_no_such_pane_is_refused() {
    let world = World::new(On::Sqlite);
    let tmux = |path: &str| {
        let directory = tempfile::tempdir().expect("a directory");
        let ran = watch(&world.url, &["--tmux", "%99"]).env("PATH", path).env("TMUX_TMPDIR", directory.path()).run();
        ran.refused(USAGE, &["--tmux: “%99”"]);
    };
    tmux("/nonexistent");
    tmux(&path());
}

#[test]
fn paperclip_has_no_sessions_that_take_commands() {
    let world = World::new(On::Paperclip);
    watch(&world.url, &["--", "true"]).run().refused(USAGE, &["not provided by this database"]);
}
