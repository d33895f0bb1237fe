//! P17: with `--nudge idle`, what a person has begun, what a shell would run and what is being drawn gets no message.

use std::fs;
use std::sync::Arc;

use super::nudge_fence::{agent_with, until_it_takes_nudges, until_refused};
use crate::support::tmux::Tmux;
use crate::support::wait::wait_for;
use crate::support::watcher::Watcher;
use crate::support::world::{On, World};

const IDLE: [&str; 2] = ["--nudge", "idle"];

/// The program prints something and draws its prompt anew, without what the person has typed.
#[test]
fn a_line_that_a_person_has_begun_is_not_sent_when_the_prompt_is_drawn_anew() {
    for mode in ["", "stty -echo -icanon; "] {
        let mut world = World::new(On::Sqlite);
        let until_drawn = "until [ -e drawn ]; do sleep 0.05 < /dev/null &> /dev/null; done";
        let script = format!("{mode}printf '> '; {until_drawn}; printf '\\r\\033[Kdone\\r\\n> '; head -n 1 > got; cat");
        let mut watcher = agent_with(&IDLE, &world, "chat", &script);
        until_it_takes_nudges(&mut world);
        watcher.screen.types("drop database prod");
        wait_for("a draft", || (world.count("sessions where not takes_nudges") == 1).then_some(()));
        fs::write(watcher.file("drawn"), "").expect("a file");
        watcher.until_it_prints("done");
        // A person who has just typed a key is typing.
        std::thread::sleep(std::time::Duration::from_secs(4));
        world.queue("nudge", "go on");
        until_refused(&mut world);

        watcher.screen.types("\n");
        let got = || fs::read_to_string(watcher.file("got")).ok().filter(|got| !got.is_empty());
        assert_eq!(wait_for("the line", got), "drop database prod\n", "{mode}");
        watcher.stop();
    }
}

/// In a pane nobody sees what a person types: the terminal drops the line, and takes the prompt off the screen with it.
#[test]
fn a_line_that_a_person_has_begun_in_a_pane_is_not_sent_when_the_prompt_is_drawn_anew() {
    let mut world = World::new(On::Sqlite);
    let until_drawn = "until [ -e drawn ]; do sleep 0.05 < /dev/null &> /dev/null; done";
    let tmux =
        Tmux::running(&format!("printf '> '; {until_drawn}; printf '\\r\\033[Kdone\\n> '; head -n 1 > got; cat"));
    let watcher = tmux.watch(&world, &["--no-examine"]);
    until_it_takes_nudges(&mut world);
    tmux.ask(&["send-keys", "-t", "%1", "drop database prod"]);
    wait_for("a draft", || (world.count("sessions where not takes_nudges") == 1).then_some(()));
    fs::write(tmux.home.path().join("drawn"), "").expect("a file");
    until_it_takes_nudges(&mut world);
    world.queue("nudge", "go on");
    until_refused(&mut world);

    tmux.ask(&["send-keys", "-t", "%1", "n", "Enter"]);
    let got = || fs::read_to_string(tmux.home.path().join("got")).ok().filter(|got| !got.is_empty());
    assert_eq!(wait_for("the line", got), "n\n");
    watcher.stop();
}

#[test]
fn a_shell_is_not_typed_into_whatever_it_calls_itself() {
    let shells: [&[&str]; 3] = [
        &["bash", "--norc", "--noprofile", "+H"],
        &["bash", "--norc", "--noprofile"],
        &["bash", "-c", "PS1='> ' exec -a chat bash --norc --noprofile"],
    ];
    for shell in shells {
        let (mut world, home) = (World::new(On::Sqlite), Arc::new(tempfile::tempdir().expect("a home")));
        let patient = ["--set", "session_silent_after=10m", "--nudge=idle"];
        let words = [&["--database", &world.url, "--name", "agent"][..], &patient, &["--"], shell].concat();
        let watcher = Watcher::given(home, &[("PS1", "> ")], &words);
        watcher.until_it_prints("> ");
        world.queue("nudge", "(true) && touch typed");
        until_refused(&mut world);

        assert!(!watcher.file("typed").exists(), "{shell:?}");
        watcher.stop();
    }
}

#[test]
fn a_program_in_a_pane_that_is_drawing_is_not_typed_into() {
    let mut world = World::new(On::Sqlite);
    let draws = "while :; do n=$((n + 1)); printf '\\033[H\\033[2Jstep %s\\n> ' $n; sleep 0.1 < /dev/null; done";
    let tmux = Tmux::running(draws);
    let watcher =
        tmux.watch(&world, &["--no-examine", "--set", "session_silent_after=20s", "--set", "nudge_delay=20s"]);
    tmux.until_it_shows("step 9");
    world.queue("nudge", "go on");
    until_refused(&mut world);

    assert!(!tmux.pane().contains("sweep"), "{}", tmux.pane());
    watcher.stop();
}
