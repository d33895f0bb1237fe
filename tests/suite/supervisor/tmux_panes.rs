//! The stories of watched agents, in panes of a real tmux on a server of the test's own.

use rustix::process::Signal;

use super::hostile_output::HOSTILE;
use crate::support::tmux::Tmux;
use crate::support::wait::wait_for;
use crate::support::watcher::{PATIENT, READ, STUCK};
use crate::support::world::on_each_database;

const NUDGE: &str = "You seem to be stuck.";

on_each_database! {
    fn an_agent_that_repeats_itself_is_left_alone_and_its_watcher_stopped(world) {
        let tmux = Tmux::running("while :; do echo 'Error: connection refused'; sleep 0.05; done");
        let watcher = tmux.watch(world, &[]);
        world.until_recovered("escalate");

        watcher.until_it_prints(STUCK);
        assert_eq!((world.agents_commands("true"), world.recovered("recover")), (0, 0));
        let ended = watcher.stop();
        assert_eq!((ended.code, ended.text.matches(STUCK).count()), (143, 1));
        assert_eq!(world.of_agent("status").as_deref(), Some("interrupted"));
        assert_eq!(world.of_agent("ended_at"), None, "it goes on in its pane");
    }

    fn a_silent_agent_that_answers_a_nudge_goes_on(world) {
        let script = "echo \"got $x\"; while :; do n=$((n + 1)); echo \"step $n\"; sleep 0.1; done";
        let tmux = Tmux::running(&format!("echo working; {READ}; {script}"));
        let watcher = tmux.watch(world, &PATIENT);
        world.until_recovered("recover");

        tmux.until_it_shows(&format!("got (sweep) {NUDGE}"));
        tmux.until_it_shows("step 20");
        assert_eq!((world.agents_commands("true"), world.recovered("escalate")), (1, 0));
        watcher.stop();
    }

    fn the_echo_of_a_nudge_in_a_pane_is_no_recovery(world) {
        let tmux = Tmux::running("echo working; while printf '> '; read x; do :; done");
        let watcher = tmux.watch(world, &[]);
        world.until_recovered("escalate");

        wait_for("both nudges", || (world.agents_commands("status = 'delivered'") == 2).then_some(()));
        wait_for("both messages", || (tmux.pane().matches(NUDGE).count() == 2).then_some(()));
        assert_eq!((world.agents_commands("status = 'delivered'"), world.recovered("recover")), (2, 0));
        assert_eq!(world.of_agent("recent_output").as_deref(), Some("working"));
        watcher.stop();
    }

    fn an_agent_that_crashes_in_its_pane_is_started_again_there(world) {
        let script = "echo run >> runs; echo \"run $(wc -l < runs)\"; [ $(wc -l < runs) = 1 ] && sleep 1 && exit 3; \
            cat";
        let tmux = Tmux::running(script);
        let watcher = tmux.watch(world, &["--set", "auto_relaunch=on", "--silent-after", "60s"]);
        watcher.until_it_prints("the agent crashed and was started again");

        tmux.until_it_shows("run 2");
        wait_for("a new process", || world.of_agent("recent_output").filter(|output| output.contains("run 2")));
        assert_eq!((world.of_agent("ended_at"), world.of_agent("exit_code")), (None, None));
        assert_eq!(world.agents_commands("command = 'relaunch' and status = 'delivered'"), 1);
        watcher.stop();
    }

    fn an_agent_that_crashes_in_its_pane_is_reported_with_its_exit_code(world) {
        let tmux = Tmux::running("echo working; sleep 1; echo 'out of memory'; exit 3");
        let ended = tmux.watch(world, &[]).end();
        // tmux 3.3 now and then forgets it.
        let dead = tmux.ask(&["display-message", "-p", "-t", "%1", "#{pane_dead_status}"]);
        let known: Option<u32> = dead.trim().parse().ok();
        assert_eq!(ended.code, known.unwrap_or(1), "{}", ended.text);
        assert_eq!(world.of_agent("exit_code").as_deref(), known.map(|_| "3"));
        assert_eq!(world.recovered("escalate"), 1);
        let log = std::fs::read_to_string(ended.log().expect("a log")).expect("a log");
        assert!(log.contains("working\nout of memory\n"), "{log}");
    }

    fn a_pane_that_is_gone_has_crashed_unseen(world) {
        let tmux = Tmux::running("echo working; cat");
        let watcher = tmux.watch(world, &["--set", "auto_relaunch=on", "--silent-after", "60s"]);
        wait_for("output", || world.of_agent("recent_output").filter(|output| output == "working"));
        tmux.ask(&["kill-pane", "-t", "%1"]);
        let ended = watcher.end();
        assert_eq!(ended.code, 1, "{}", ended.text);
        assert!(ended.text.contains("crashed (nobody saw its end)"), "{}", ended.text);
        let log = std::fs::read_to_string(ended.log().expect("a log")).expect("a log");
        assert_eq!(log, "working\n");
        assert_eq!(world.agents_commands("command = 'relaunch' and status = 'failed'"), 1);
        assert_eq!(world.recovered("escalate"), 1);
    }

    /// The agent, cat, was begun by hand in a shell. The watcher is stopped meanwhile, so that the shell and the nudge
    /// are there before the watcher sees either.
    fn into_a_shell_that_took_over_nothing_is_typed(world) {
        let tmux = Tmux::running("exec sh");
        tmux.ask(&["send-keys", "-t", "%1", "cat", "Enter"]);
        let runs = || tmux.ask(&["display-message", "-p", "-t", "%1", "#{pane_current_command}"]);
        wait_for("cat", || (runs().trim() == "cat").then_some(()));
        let watcher = tmux.watch(world, &["--no-examine"]);
        wait_for("a session", || world.of_agent("id"));

        watcher.signal(Signal::STOP);
        tmux.ask(&["send-keys", "-t", "%1", "C-d"]);
        wait_for("a shell", || (runs().trim() != "cat").then_some(()));
        world.queue("nudge", "touch ran");
        watcher.signal(Signal::CONT);

        let ended = watcher.end();
        assert_eq!(ended.code, 1, "{}", ended.text);
        assert!(!tmux.pane().contains("touch ran") && tmux.has_no_trace_of_a_shell());
        assert_eq!(world.agents_commands("status = 'failed'"), 1);
        assert_eq!((world.of_agent("exit_code"), world.of_agent("ended_at").is_some()), (None, true));
    }

    fn while_somebody_reads_the_history_nothing_is_typed(world) {
        let tmux = Tmux::running("echo working; printf '> '; cat > got");
        let watcher = tmux.watch(world, &["--no-examine"]);
        wait_for("output", || world.of_agent("recent_output").filter(|output| output == "working"));
        tmux.ask(&["copy-mode", "-t", "%1"]);
        world.queue("nudge", "hello there");
        wait_for("a refusal", || (world.agents_commands("status = 'failed'") == 1).then_some(()));
        tmux.ask(&["send-keys", "-t", "%1", "-X", "cancel"]);
        world.queue("nudge", "a word; and another;");
        wait_for("delivery", || (world.agents_commands("status = 'delivered'") == 1).then_some(()));
        let got = || std::fs::read_to_string(tmux.home.path().join("got")).unwrap_or_default();
        wait_for("the message", || (got() == "(sweep) a word; and another;\n").then_some(()));
        watcher.stop();
    }

    /// What a person types into a pane goes past sweep.
    fn what_a_person_typed_into_an_agent_that_hangs_is_left_there(world) {
        let tmux = Tmux::running(
            "stty -echo -icanon; printf '> '; while ! [ -e go ]; do sleep 0.1 < /dev/null; done; head -c 8 > got; cat");
        let watcher = tmux.watch(world, &["--no-examine"]);
        wait_for("a prompt", || (world.count("sessions where takes_nudges") == 1).then_some(()));
        tmux.ask(&["send-keys", "-t", "%1", "my words"]);
        wait_for("a refusal", || (world.count("sessions where not takes_nudges") == 1).then_some(()));
        world.queue("nudge", "go on");
        wait_for("a refusal", || (world.agents_commands("status = 'failed'") == 1).then_some(()));

        std::fs::write(tmux.home.path().join("go"), "").expect("a file");
        let got = || std::fs::read_to_string(tmux.home.path().join("got")).unwrap_or_default();
        wait_for("a person's words", || (got() == "my words").then_some(()));
        watcher.stop();
    }

    fn what_a_person_types_into_a_pane_during_a_nudge_is_not_erased(world) {
        let tmux = Tmux::running("stty -echo -icanon; printf '> '; head -c 1 > first; printf '(mine'; cat > got");
        let watcher = tmux.watch(world, &["--no-examine"]);
        wait_for("a prompt", || (world.count("sessions where takes_nudges") == 1).then_some(()));
        world.queue("nudge", "go on");
        wait_for("a refusal", || (world.agents_commands("status = 'failed'") == 1).then_some(()));
        assert_eq!(std::fs::read_to_string(tmux.home.path().join("got")).expect("what it read"), "");
        watcher.stop();
    }

    fn a_message_in_a_pane_is_pasted_where_pastes_are_distinguished(world) {
        let tmux = Tmux::running(
            "stty -echo -icanon; printf '\\033[?2004h> '; head -c 1 > first; printf '('; cat > got");
        let watcher = tmux.watch(world, &["--no-examine"]);
        wait_for("a prompt", || (world.count("sessions where takes_nudges") == 1).then_some(()));
        world.queue("nudge", "it''s; #{pane_id} $HOME;");
        wait_for("a refusal", || (world.agents_commands("status = 'failed'") == 1).then_some(()));

        let got = std::fs::read_to_string(tmux.home.path().join("got")).expect("what it read");
        assert!(got.starts_with("\u{1b}[200~sweep) it's; #{pane_id} $HOME;\u{1b}[201~"), "{got:?}");
        watcher.stop();
    }

    fn hostile_output_in_a_pane_neither_runs_nor_reaches_the_operators_terminal(world) {
        let tmux = Tmux::running(&format!("{HOSTILE} printf '#(touch ran) #{{session_name}}\n'; read x; read x"));
        let screen = tmux.attach();
        let watcher = tmux.watch(world, &["--set", "nudges_max=0"]);
        watcher.until_it_prints(STUCK);
        wait_for("the status line", || screen.text().contains("⚠").then_some(()));

        let ended = watcher.stop();
        assert!(!ended.text.chars().any(|c| c.is_control() && !"\r\n".contains(c)), "{:?}", ended.text);
        let kept = world.of_agent("recent_output").expect("output");
        assert!(!kept.chars().any(|c| c.is_control() && c != '\n'), "{kept:?}");
        assert!(kept.contains("#(touch ran) #{session_name}"), "{kept}");
        assert!(tmux.has_no_trace_of_a_shell());
    }
}
