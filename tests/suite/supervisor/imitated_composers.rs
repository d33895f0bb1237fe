//! P17: children of an agent that show what looks like its composer get no key, and their questions are reported.

use std::fs;

use super::nudge_fence::{COMPOSER, READ, agent, agent_with, until_it_takes_nudges, until_refused};
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

/// A child that asks for a line.
const CHILD: &str = "cat > child <<'END'\nprintf '> '; read -r x; echo \"$x\" > got\nEND\n";

/// The agent gives its child a terminal of its own and passes all keys on to it, as aider's `/run` does.
const PASSED_ON: &str = "script -qec 'bash child' /dev/null";

/// What the agent's child has read when a nudge was refused.
fn read_by_the_child(command: &str, script: &str, prompt: &str) -> Option<String> {
    read_with(&[], command, script, prompt)
}

fn read_with(flags: &[&str], command: &str, script: &str, prompt: &str) -> Option<String> {
    let mut world = World::new(On::Sqlite);
    let watcher = agent_with(flags, &world, command, script);
    watcher.until_it_prints(prompt);
    world.queue("nudge", "go on");
    until_refused(&mut world);
    // Before it types something, the watcher finds out who else reads beside a program that the operator vouches for.
    assert!(!flags.is_empty() || world.count("sessions where takes_nudges") == 0);
    let got = fs::read_to_string(watcher.file("got")).ok();
    watcher.stop();
    got
}

#[test]
fn a_child_that_reads_a_line_is_given_none() {
    let script = format!("{CHILD}bash child; sleep 10");
    assert_eq!(read_by_the_child("aider", &script, "> "), None);
}

#[test]
fn a_child_to_which_its_agent_passes_the_keys_on_is_given_none() {
    let script = format!("{CHILD}{PASSED_ON}; sleep 10");
    assert_eq!(read_by_the_child("aider", &script, "> "), None);
}

/// Its agent is not even at work: it has put itself into raw mode, and its composer stands there.
#[test]
fn a_child_behind_the_composer_of_its_agent_is_given_none() {
    let script = format!("stty -echo -icanon; {COMPOSER}; bash -c 'read -r x; echo \"$x\" > got'; sleep 10");
    assert_eq!(read_by_the_child("claude", &script, "for shortcuts"), None);
}

/// So `fzf` reads keys, whose stdin is the list that it filters.
#[test]
fn a_child_that_opens_the_terminal_itself_is_given_none() {
    let child = "bash -c 'read -ru 3 x; echo \"$x\" > got' < /dev/null 3< /dev/tty";
    let script = format!("stty -echo -icanon; {COMPOSER}; {child}; sleep 10");
    assert_eq!(read_by_the_child("claude", &script, "for shortcuts"), None);
}

/// Nothing of the tree of processes leads from the agent to a child whose own parent has ended.
#[test]
fn a_child_that_outlives_its_parent_is_given_none() {
    let child = "(bash -c 'read -r x; echo \"$x\" > got' < /dev/tty &)";
    let script = format!("stty -echo -icanon; {child}; {COMPOSER}; sleep 60 < /dev/null &> /dev/null");
    assert_eq!(read_by_the_child("claude", &script, "for shortcuts"), None);
}

/// The operator vouches for the program, and not for what that starts: in its place, behind a terminal of its own, or
/// in the place of an agent that is known.
#[test]
fn a_child_of_a_program_that_the_operator_vouches_for_is_given_none() {
    let child = r#"exec perl -e 'system("bash", "child"); sleep 10'"#;
    for (command, script) in [
        ("chat", format!("{CHILD}{child}")),
        ("chat", format!("{CHILD}{PASSED_ON}; sleep 10")),
        ("claude", format!("{CHILD}set -m; bash child; sleep 10")),
    ] {
        assert_eq!(read_with(&["--nudge", "idle"], command, &script, "> "), None, "{command}: {script}");
    }
}

/// What has started an agent shows the prompt of one, and reads the answer to its own question there: in the terminal
/// of the agent or before that, edited by itself or by the terminal.
#[test]
fn what_has_started_an_agent_and_asks_itself_is_given_none() {
    let asks = |reads: &str| format!("printf 'Branch to delete\\n\\n'; {reads}; echo \"$x\" > got; sleep 10");
    let hidden = "script -qc 'bash ./aider' /dev/null &> /dev/null & sleep 1";
    for (name, wrapper) in [
        ("a script", format!("bash ./aider & {}", asks("read -rep '> ' x"))),
        ("a script before a terminal of the agent's", format!("{hidden}; {}", asks("read -rp '> ' x"))),
        ("a shell", "printf \"PS1='> '; set +m; bash ./aider &\n\" > rc; exec bash --rcfile rc -i".to_owned()),
    ] {
        let mut world = World::new(On::Sqlite);
        let script = format!("echo 'stty raw -echo < /dev/tty; exec -a aider sleep 60' > aider\n{wrapper}");
        let watcher = agent_with(&[], &world, "wrapper", &script);
        watcher.until_it_prints("> ");
        world.queue("nudge", "go on");
        until_refused(&mut world);
        assert_eq!(fs::read_to_string(watcher.file("got")).ok(), None, "{name}");
        assert!(!watcher.screen.text().contains("sweep"), "{name}: {}", watcher.screen.text());
        watcher.stop();
    }
}

#[test]
fn the_same_prompt_of_the_agent_itself_is_given_the_message() {
    let mut world = World::new(On::Sqlite);
    let watcher = agent(&world, "aider", &format!("stty -echo -icanon; printf '> '; {READ}; sleep 10"));
    until_it_takes_nudges(&mut world);
    world.queue("nudge", "go on");

    let got = || fs::read_to_string(watcher.file("got")).ok().filter(|got| !got.is_empty());
    assert_eq!(wait_for("the message", got), "(sweep) go on\n");
    watcher.stop();
}

#[test]
fn what_a_child_asks_is_reported() {
    let mut world = World::new(On::Sqlite);
    let child = "echo precious > kept; printf '> /run rm -i kept\\n\\n'; echo 'rm -i kept' > child";
    let watcher = agent(&world, "aider", &format!("{child}; {PASSED_ON}; sleep 10"));
    world.until_recovered("escalate");

    let reason = world.text("reason", "recoveries where action = 'escalate'").expect("a reason");
    assert!(reason.contains("remove regular file 'kept'?"), "{reason}");
    assert!(watcher.file("kept").exists());
    watcher.stop();
}
