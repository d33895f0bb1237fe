//! P17: nothing is typed unless it is known to be right, whatever an agent does between the first key and the last.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::support::wait::wait_for;
use crate::support::watcher::{AS_USUAL, Watcher};
use crate::support::world::{On, World};

/// Claude Code's composer, with the cursor in it.
pub const COMPOSER: &str =
    r"printf '\033[H\033[2J────────────────\r\n❯ \r\n────────────────\r\n  ? for shortcuts\033[2A\r\033[2C'";

/// Claude Code's permission menu.
const MENU: &str = r"printf '\033[H\033[2J────────────────\r\n Bash command\r\n\r\n   rm -rf ./important\r\n\r\n Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n\r\n Esc to cancel'";

/// Keeps each key as it is read. The agent itself reads: what a child of an agent reads is none of its composer.
const KEEP: &str = r#"while IFS= read -rN1 key; do printf %s "$key" >> got; done"#;

/// Reads a line key by key and shows each, as agents do, in a terminal that does not; and keeps the line.
pub const READ: &str =
    r#"x=; while IFS= read -rN1 key && [ "$key" != $'\n' ]; do x+=$key; printf %s "$key"; done; echo "$x" >> got"#;

/// Does not read, and goes on when something was typed.
const UNTIL_TYPED: &str = "until read -t 0; do sleep 0.05 < /dev/null &> /dev/null; done";

/// A program that is called as an agent is, which nobody nudges but the test.
pub fn agent(world: &World, command: &str, script: &str) -> Watcher {
    agent_with(&[], world, command, script)
}

pub fn agent_with(flags: &[&str], world: &World, command: &str, script: &str) -> Watcher {
    let home = Arc::new(tempfile::tempdir().expect("a home"));
    let program = home.path().join(command);
    fs::write(&program, script).expect("a file");
    let program = program.display().to_string();
    let patient = ["--set", "session_silent_after=10m", "--set", "session_waiting_after=1s"];
    let words = ["--database", &world.url, "--name", "agent", AS_USUAL, "--", "bash", &program];
    Watcher::at_home(home, &[&patient[..], flags, &words].concat())
}

fn claude(world: &World, script: &str) -> Watcher {
    agent(world, "claude", script)
}

pub fn until_it_takes_nudges(world: &mut World) {
    wait_for("a prompt", || (world.count("sessions where takes_nudges") == 1).then_some(()));
}

pub fn until_refused(world: &mut World) {
    wait_for("a refusal", || (world.agents_commands("status = 'failed'") == 1).then_some(()));
}

#[test]
fn a_message_is_sent_when_it_stands_in_the_composer() {
    let mut world = World::new(On::Sqlite);
    let watcher = claude(&world, &format!("stty -echo -icanon; {COMPOSER}; {READ}; cat"));
    until_it_takes_nudges(&mut world);
    assert_eq!(world.of_agent("agent_state").as_deref(), Some("idle"));
    world.queue("nudge", "go on");

    let got = || fs::read_to_string(watcher.file("got")).ok().filter(|got| !got.is_empty());
    assert_eq!(wait_for("the message", got), "(sweep) go on\n");
    watcher.stop();
}

/// It is read, and shown nowhere: whatever takes the keys, it is no composer.
#[test]
fn a_message_that_is_not_shown_is_never_sent() {
    let mut world = World::new(On::Sqlite);
    let watcher = claude(&world, &format!("stty -echo -icanon; {COMPOSER}; {KEEP}"));
    until_it_takes_nudges(&mut world);
    world.queue("nudge", "go on");
    until_refused(&mut world);

    let got = fs::read_to_string(watcher.file("got")).expect("what it read");
    assert_eq!(got, "(", "its first key alone");
    watcher.stop();
}

/// Nobody has read it: it must not answer what is asked later.
#[test]
fn a_message_that_nobody_reads_is_taken_back() {
    let mut world = World::new(On::Sqlite);
    let script = format!(
        "stty -echo -icanon; {COMPOSER}; until [ -e read ]; do sleep 0.1 < /dev/null &> /dev/null; done; > got; {KEEP}"
    );
    let watcher = claude(&world, &script);
    until_it_takes_nudges(&mut world);
    world.queue("nudge", "go on");
    until_refused(&mut world);
    fs::write(watcher.file("read"), "").expect("a file");

    wait_for("somebody who reads", || watcher.file("got").exists().then_some(()));
    thread::sleep(Duration::from_millis(500));
    assert_eq!(fs::read_to_string(watcher.file("got")).expect("what it read"), "");
    watcher.stop();
}

#[test]
fn when_a_menu_comes_up_meanwhile_it_is_not_answered() {
    let mut world = World::new(On::Sqlite);
    let watcher = claude(&world, &format!("stty -echo -icanon; {COMPOSER}; read -N1; {MENU}; > got; {KEEP}"));
    until_it_takes_nudges(&mut world);
    world.queue("nudge", "yes");
    until_refused(&mut world);

    assert_eq!(fs::read_to_string(watcher.file("got")).expect("what it read"), "");
    wait_for("a question", || (world.recovered("escalate") == 1).then_some(()));
    let reason = world.text("reason", "recoveries where action = 'escalate'").expect("a reason");
    assert_eq!(reason, "it asks for permission: \"rm -rf ./important\"");
    watcher.stop();
}

/// It reads nothing while it is at work; its menu then takes what was typed meanwhile.
#[test]
fn what_a_busy_agent_has_not_read_answers_nothing() {
    let mut world = World::new(On::Sqlite);
    let script = format!("stty -echo -icanon; {COMPOSER}; {UNTIL_TYPED}; sleep 0.3; {MENU}; {KEEP}");
    let watcher = claude(&world, &script);
    until_it_takes_nudges(&mut world);
    world.queue("nudge", "yes");
    until_refused(&mut world);

    let got = fs::read_to_string(watcher.file("got")).unwrap_or_default();
    assert!(["", "("].contains(&got.as_str()), "no menu takes this key: {got:?}");
    watcher.stop();
}

/// Codex runs a command at a `p`, Gemini CLI and Qwen Code at a `1`; a paste answers none of their menus.
#[test]
fn all_but_the_first_key_is_pasted_where_pastes_are_distinguished() {
    let mut world = World::new(On::Sqlite);
    let script = format!(r"stty -echo -icanon; printf '\033[?2004h'; {COMPOSER}; read -N1; printf '('; > got; {KEEP}");
    let watcher = claude(&world, &script);
    until_it_takes_nudges(&mut world);
    world.queue("nudge", "go on");
    until_refused(&mut world);

    let got = fs::read_to_string(watcher.file("got")).expect("what it read");
    assert!(got.starts_with("\u{1b}[200~sweep) go on\u{1b}[201~") && !got.contains(['\r', '\n']), "{got:?}");
    watcher.stop();
}

/// It has read the first key, and shows that. Then it is busy, and its menu reads nothing before it is painted, or
/// before its picture is complete; nor does a child that is given the terminal in the mode in which the agent found it.
#[test]
fn what_is_on_its_way_when_a_menu_comes_up_is_discarded() {
    let unfinished = format!("printf '\\033[?2026h'; {MENU}");
    for comes_up in [MENU, r"stty icanon; printf '\033[H\033[2J[s]plit? '", &unfinished] {
        let mut world = World::new(On::Sqlite);
        let works = format!("read -N1; printf '('; {UNTIL_TYPED}; {comes_up}; sleep 1 < /dev/null; > got");
        let watcher = claude(&world, &format!("stty -echo -icanon; {COMPOSER}; {works}; {KEEP}"));
        until_it_takes_nudges(&mut world);
        world.queue("nudge", "yes");
        until_refused(&mut world);

        assert_eq!(wait_for("what it read", || fs::read_to_string(watcher.file("got")).ok()), "", "{comes_up}");
        watcher.stop();
    }
}

/// The agent shows the message, and is busy from then on until its menu takes what it finds: the return key is none of
/// that. The menu comes up after the nudge was refused, or during the nudge; its agent reads on after the refusal.
#[test]
fn a_return_key_that_nobody_has_read_answers_nothing() {
    const REFUSED: &str = "until [ -e refused ]; do sleep 0.05 < /dev/null &> /dev/null; done";
    let at_once = format!("sleep 0.2 < /dev/null &> /dev/null; {MENU}; {REFUSED}");
    for comes_up in [format!("{REFUSED}; {MENU}"), at_once] {
        let mut world = World::new(On::Sqlite);
        let message = "read -N1; printf '('; read -N12; printf 'sweep) go on'";
        let mut watcher = claude(&world, &format!("stty -echo -icanon; {COMPOSER}; {message}; {comes_up}; {KEEP}"));
        until_it_takes_nudges(&mut world);
        world.queue("nudge", "go on");
        until_refused(&mut world);
        fs::write(watcher.file("refused"), "").expect("a file");
        watcher.until_it_prints("Do you want to proceed?");
        watcher.screen.types("n");

        let got = || fs::read_to_string(watcher.file("got")).ok().filter(|got| got.contains('n'));
        assert_eq!(wait_for("the answer of a person", got), "n", "{comes_up}");
        watcher.stop();
    }
}

/// The person's key waits until what sweep has typed is taken back.
#[test]
fn a_person_who_types_during_a_nudge_finds_an_empty_composer() {
    let mut world = World::new(On::Sqlite);
    let mut watcher = claude(&world, &format!("stty -echo -icanon; {COMPOSER}; read -N1; printf '('; {KEEP}"));
    until_it_takes_nudges(&mut world);
    world.queue("nudge", "go on");
    let got = || fs::read_to_string(watcher.file("got")).unwrap_or_default();
    wait_for("the message", || got().ends_with("go on").then_some(()));
    watcher.screen.types("x");
    until_refused(&mut world);

    let got = || fs::read_to_string(watcher.file("got")).ok().filter(|got| got.ends_with('x'));
    assert_eq!(wait_for("the person's key", got), "sweep) go on\u{15}x");
    watcher.stop();
}

#[test]
fn a_person_at_work_is_not_interrupted() {
    let mut world = World::new(On::Sqlite);
    let mut watcher = claude(&world, &format!("stty -echo -icanon; {COMPOSER}; {READ}; cat"));
    until_it_takes_nudges(&mut world);
    watcher.screen.types("my own draft");
    wait_for("a draft", || (world.count("sessions where not takes_nudges") == 1).then_some(()));
    world.queue("nudge", "go on");
    until_refused(&mut world);

    watcher.screen.types("\r");
    let got = || fs::read_to_string(watcher.file("got")).ok().filter(|got| !got.is_empty());
    assert_eq!(wait_for("the draft", got), "my own draft\n");
    watcher.stop();
}

#[test]
fn a_program_that_nobody_knows_is_not_typed_into_and_a_person_is_notified() {
    let mut world = World::new(On::Sqlite);
    let words = ["--database", &world.url, "--name", "agent", AS_USUAL, "--", "sh", "-c", "printf '> '; cat > got"];
    let watcher = Watcher::with(&words);
    world.until_recovered("escalate");

    let reason = world.text("reason", "recoveries where action = 'escalate'");
    assert_eq!(reason.as_deref(), Some("nothing is typed into it, since it is not known to be idle at its prompt"));
    assert_eq!(world.agents_commands("true"), 0);
    assert_eq!(fs::read_to_string(watcher.file("got")).expect("what it read"), "");
    watcher.stop();
}
