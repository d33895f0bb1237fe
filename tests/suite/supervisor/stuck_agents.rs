//! What becomes of agents that fall silent, repeat themselves, crash, answer and end.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::wait::wait_for;
use crate::support::watcher::{PATIENT, READ, STUCK, Watcher};
use crate::support::world::on_each_database;

const NUDGE: &str = "You seem to be stuck.";

on_each_database! {
    /// The terminal shows what is typed, and the child says nothing: an echo is no recovery.
    fn a_silent_agent_is_nudged_twice_then_a_person_is_notified(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let identifier = world.text("identifier", &format!("issues where id = '{issue}'")).expect("a name");
        let flags = ["--agent", "Ada", "--issue", &identifier];
        let script = format!("echo working; while {READ}; do echo \"$x\" >> got; done");
        let watcher = Watcher::watch_script(&world.url, &flags, &script);
        world.until_recovered("escalate");

        watcher.until_it_prints(STUCK);
        let got = fs::read_to_string(watcher.file("got")).expect("what it read");
        assert_eq!(got.matches(NUDGE).count(), 2, "{got}");
        let ended = watcher.stop();

        assert_eq!(ended.code, 143);
        assert_eq!(ended.text.matches(STUCK).count(), 1, "{}", ended.text);
        assert_eq!((world.agents_commands("status = 'delivered'"), world.agents_commands("true")), (2, 2));
        assert_eq!((world.recovered("escalate"), world.recovered("recover"), world.comments_on(&issue)), (1, 0, 1));
        assert_eq!(world.of_agent("recent_output").as_deref(), Some("working"));
        assert_eq!(world.of_agent("status").as_deref(), Some("interrupted"));
        assert_eq!(world.of_agent("agent_id"), Some(agent.0));
        assert_eq!(world.of_agent("issue_id"), Some(issue.0));
        assert!(world.of_agent("ended_at").is_some());
        assert_eq!(ended.log(), None);
    }

    /// It is queued with the escalation; the next sweep delivers it.
    fn a_watcher_that_knows_whom_has_people_notified(world) {
        let settings = tempfile::NamedTempFile::new().expect("a file");
        fs::write(settings.path(), "SWEEP_SLACK_URL=https://hooks.example/x\n").expect("settings");
        let file = settings.path().to_str().expect("a path");
        let flags = ["--set", "nudges_max=0", "--config", file];
        let watcher = Watcher::watch_script(&world.url, &flags, "echo working; read a");
        watcher.until_it_prints(STUCK);
        watcher.stop();

        assert_eq!(world.text("event", "notifications").as_deref(), Some("session_stuck"));
        assert_eq!(world.count("notifications n join recoveries r on r.subject_id = n.subject_id and r.sweep_id = \
            n.sweep_id"), 1);
    }

    fn an_agent_that_answers_a_nudge_goes_on_and_is_left_alone(world) {
        let script = format!("echo working; {READ}; while :; do n=$((n + 1)); echo \"step $n\"; sleep 0.1; done");
        let watcher = Watcher::watch_script(&world.url, &PATIENT, &script);
        world.until_recovered("recover");

        let n = watcher.screen.text().matches("step").count();
        wait_for("further steps", || (n + 15 < watcher.screen.text().matches("step").count()).then_some(()));

        assert_eq!((world.agents_commands("true"), world.recovered("escalate")), (1, 0));
        assert!(world.of_agent("recent_output").is_some_and(|output| output.contains("step")));
        watcher.stop();
    }

    /// It is reported once, and once that the session goes on.
    fn an_agent_that_answers_a_person_goes_on(world) {
        let script = "echo working; read a; while :; do n=$((n + 1)); echo \"step $n\"; sleep 0.1; done";
        let mut watcher = Watcher::watch_script(&world.url, &["--set", "nudges_max=0"], script);
        watcher.until_it_prints(STUCK);

        watcher.screen.types("go\r");
        watcher.until_it_prints("sweep: the session goes on");

        let ended = watcher.stop();
        assert_eq!(ended.text.matches(STUCK).count(), 1);
        assert_eq!((world.recovered("escalate"), world.recovered("recover")), (1, 1));
    }

    /// It is at work, and what it repeats may be a question.
    fn to_an_agent_that_repeats_itself_nothing_is_typed_and_a_person_is_notified(world) {
        let script = "while :; do echo 'Error: connection refused'; sleep 0.03; done";
        let watcher = Watcher::watch_script(&world.url, &[], script);
        world.until_recovered("escalate");
        watcher.stop();

        assert_eq!((world.agents_commands("true"), world.recovered("recover")), (0, 0));
        let output = world.of_agent("recent_output").expect("output");
        assert!(output.lines().all(|line| line == "Error: connection refused"), "{output}");
    }

    fn a_crash_is_escalated_once_and_its_output_is_kept(world) {
        let script = "echo 'export API_KEY=hunter2hunter2'; echo 'out of memory'; exit 3";
        let ended = Watcher::watch_script(&world.url, &[], script).end();

        assert_eq!(ended.code, 3);
        assert_eq!((world.recovered("escalate"), world.agents_commands("true")), (1, 0));
        assert_eq!(world.of_agent("status").as_deref(), Some("active"));
        assert_eq!(world.of_agent("exit_code").as_deref(), Some("3"));
        let log = ended.log().expect("a log");
        let reported = format!("sweep: the session crashed (exit code 3); its output is kept in {}", log.display());
        assert!(ended.text.contains(&reported), "{}", ended.text);
        assert_eq!(fs::read_to_string(&log).expect("a log"), "export API_KEY=***\nout of memory\n");
        assert_eq!(log.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
        assert_eq!(world.of_agent("recent_output").as_deref(), Some("export API_KEY=***\nout of memory"));
    }

    fn a_crashed_agent_is_started_again_once_then_a_person_is_notified(world) {
        let script = "echo run >> runs; echo \"run $(wc -l < runs | tr -d ' ')\"; exit 3";
        let flags = ["--set", "auto_relaunch=on", "--set", "session_silent_after=1m"];
        let ended = Watcher::watch_script(&world.url, &flags, script).end();

        assert_eq!(ended.code, 3);
        assert!(ended.text.contains("run 1") && ended.text.contains("run 2"), "{}", ended.text);
        assert_eq!(ended.text.matches("was started again").count(), 1, "{}", ended.text);
        assert_eq!(fs::read_to_string(ended.home.path().join("runs")).expect("runs"), "run\nrun\n");
        assert_eq!(world.agents_commands("command = 'relaunch' and status = 'delivered'"), 1);
        assert_eq!((world.agents_commands("true"), world.recovered("escalate")), (1, 1));
        let log = fs::read_to_string(ended.log().expect("a log")).expect("a log");
        assert_eq!(log, "run 1\n(started again)\nrun 2\n");
        assert!(world.of_agent("ended_at").is_some());
    }

    fn an_agent_that_was_started_again_is_watched_on(world) {
        let script = format!("echo run >> runs; [ $(wc -l < runs) = 1 ] && exit 3; {READ}; echo \"got $x\"; exit 0");
        let flags = ["--set", "auto_relaunch=on", "--set", "nudge_message=hello there agent"];
        let watcher = Watcher::watch_script(&world.url, &flags, &script);

        let ended = watcher.end();

        assert_eq!(ended.code, 0, "{}", ended.text);
        assert!(ended.text.contains("got (sweep) hello there agent"), "{}", ended.text);
        assert_eq!(world.of_agent("status").as_deref(), Some("terminated"));
        assert_eq!(world.agents_commands("status = 'delivered'"), 2);
        assert_eq!(ended.log(), None);
    }

    fn a_good_end_is_recorded_and_leaves_nothing_open(world) {
        let ended = Watcher::watch_script(&world.url, &[], &format!("echo working; {READ}; exit 0")).end();

        assert_eq!((ended.code, ended.log()), (0, None));
        assert_eq!(world.of_agent("status").as_deref(), Some("terminated"));
        assert_eq!(world.of_agent("exit_code").as_deref(), Some("0"));
        assert_eq!(world.count("recoveries where settled_at is null"), 0);
    }

    fn an_agent_killed_by_a_signal_has_crashed(world) {
        let ended = Watcher::watch_script(&world.url, &[], "kill -9 $$").end();

        assert_eq!(ended.code, 137);
        assert!(ended.text.contains("crashed (signal 9)"), "{}", ended.text);
        assert_eq!((world.of_agent("exit_code").as_deref(), world.of_agent("ended_at").is_some()), (Some("137"), true));
        assert_eq!(world.recovered("escalate"), 1);
    }
}
