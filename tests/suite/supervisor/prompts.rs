//! Whatever stands on a screen, recorded from real agents and programs (`tests/agents`): no question of any kind is
//! ever given a byte, and each is reported once.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::planted::quoted;
use crate::support::rounds::rounds;
use crate::support::tmux::Tmux;
use crate::support::wait::wait_for;
use crate::support::watcher::{AS_USUAL, Watcher};
use crate::support::world::{On, World};

/// How many recordings are played beside one another: most of the time they wait.
const PLAYERS: usize = 12;

/// On a busy machine a command is taken a little later than at the next look of its watcher.
const FLAGS: [&str; 4] = ["--set", "session_silent_after=10m", "--set", "nudge_delay=15s"];

/// No question waits for so long by itself: its row says so when all of the screen is there, which a busy machine draws
/// in pieces.
const UNTIL_ITS_ROW_SAYS_SO: [&str; 2] = ["--set", "session_waiting_after=10m"];

/// What is taken for a question is reported while the test looks on.
const SOON: [&str; 2] = ["--set", "session_waiting_after=4s"];

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents/recordings")
}

/// A terminal answers what the recorded program asked it.
const ANSWERS: &str = "timeout --foreground 1 cat > answers";

/// What a person would say stands on the screen at the end of each recording.
fn states() -> BTreeMap<String, Value> {
    serde_json::from_str(&fs::read_to_string(recordings().join("states.json")).expect("states.json")).expect("JSON")
}

/// Writes a program that is called like the recorded one, shows what that showed, and keeps what it reads.
fn player(home: &Path, name: &str, command: &str) -> PathBuf {
    let text = fs::read_to_string(recordings().join(format!("{name}.cast"))).expect("a recording");
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let header = lines.next().expect("a header");
    let shown: String =
        lines.filter(|event| event[1] == "o").filter_map(|event| Some(event[2].as_str()?.to_owned())).collect();
    fs::write(home.join("shown"), shown).expect("a file");
    let mode = |field: &str, mode: &str| match header[field].as_bool() {
        Some(true) => mode.to_owned(),
        Some(false) => format!("-{mode}"),
        None => String::new(),
    };
    let modes = format!("{} {}", mode("echo", "echo"), mode("canonical", "icanon"));
    let program = home.join(command);
    // Without isig a key that interrupts is kept as well.
    fs::write(&program, format!("stty -opost -isig {modes}\ncat shown\n{ANSWERS}\ncat > got\n")).expect("a file");
    program
}

/// What became of a session that somebody would have typed into.
struct Played {
    /// Why people were notified.
    alerts: Vec<String>,
    question: String,
    failed: i64,
    typed: String,
}

/// The agent has been as it is for twenty minutes.
fn pass_for(world: &mut World, name: &str) {
    let long_ago = world.ago(20);
    world.run(&format!(
        "update sessions set agent_state_since = {long_ago} where identifier = '{name}' and agent_state is not null"
    ));
}

fn contains(words: &str) -> String {
    format!("instr(lower(coalesce(agent_question, '')), {}) > 0", quoted(words))
}

fn look_at(world: &mut World, name: &str, home: &Path, question: Option<&str>) -> Played {
    let of_it = format!("sessions where identifier = '{name}'");
    let session = format!("(select id from {of_it})");
    let escalations = format!("recoveries where subject_id = {session} and action = 'escalate'");
    let alerts = |world: &mut World| world.texts("reason", &escalations).into_iter().flatten().collect();
    let alerts_so_far: Option<Vec<String>> = if let Some(question) = question {
        wait_for(&format!("all of {name} shown"), || home.join("got").exists().then_some(()));
        let told = format!("{of_it} and agent_state in ('waiting', 'exhausted') and {}", contains(question));
        wait_for(&format!("the question of {name}"), || (0 < world.count(&told)).then_some(()));
        wait_for(&format!("{name} reported"), || {
            pass_for(world, name);
            (0 < world.count(&escalations)).then_some(())
        });
        // Another question is due at once as well, and examined before the nudge is refused.
        pass_for(world, name);
        None
    } else {
        // Nothing marks that no alert comes: so long it would take, from the first screen on. Later, while the nudge is
        // refused, a program that has rung the bell, as an editor may have, does wait for a person.
        thread::sleep(Duration::from_secs(5));
        Some(alerts(world))
    };
    world.run(&format!(
        "insert into session_commands (id, session_id, command, message, requested_by)
         values (lower(hex(randomblob(16))), {session}, 'nudge', 'yes', 'a person')"
    ));
    let failed = format!("session_commands where session_id = {session} and status = 'failed'");
    let began = Instant::now();
    while world.count(&failed) == 0 && began.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(50));
    }
    // What is refused was typed before it was refused, if at all: a moment for the program to keep what it reads.
    thread::sleep(Duration::from_millis(200));
    Played {
        alerts: alerts_so_far.unwrap_or_else(|| alerts(world)),
        question: world
            .text("coalesce(agent_question, '')", &format!("sessions where identifier = '{name}'"))
            .unwrap_or_default(),
        failed: world.count(&failed),
        typed: fs::read_to_string(home.join("got")).unwrap_or_default(),
    }
}

/// Plays each, several at a time; in a terminal of the watcher's, or in a pane of tmux.
fn play_all(names: Vec<(String, Value)>, in_tmux: bool) {
    let names: VecDeque<_> = rounds(names).collect();
    let world = World::new(On::Sqlite);
    let (queue, wrong) = (Mutex::new(names), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..PLAYERS {
            scope.spawn(|| {
                let next = || queue.lock().expect("a queue").pop_front();
                while let Some((name, expected)) = next() {
                    if let Err(why) = play(&world.url, &name, &expected, in_tmux) {
                        wrong.lock().expect("a list").push(format!("{name}: {why}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("a list");
    assert!(wrong.is_empty(), "{} went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn play(url: &str, name: &str, expected: &Value, in_tmux: bool) -> Result<(), String> {
    let command = expected["command"].as_str().expect("a command");
    let is_question = matches!(expected["state"].as_str(), Some("waiting" | "exhausted"));
    let mut world = World::at(On::Sqlite, url.to_owned(), None);
    // Into a program that nobody knows something may be typed if the operator says so, and of these nobody says so.
    let typing = if is_question { "--nudge=idle" } else { AS_USUAL };
    let waiting_after = if is_question { UNTIL_ITS_ROW_SAYS_SO } else { SOON };
    let base = [&["--database", url, "--name", name, typing], &FLAGS[..], &waiting_after].concat();
    let words = expected["question"].as_str().unwrap_or_default().to_lowercase();
    let asked = is_question.then_some(words.as_str());
    let played = if in_tmux {
        let tmux = Tmux::of_the_usual_size();
        let program = player(tmux.home.path(), name, command);
        tmux.ask(&["new-window", "-t", "main:", &format!("sh {}", program.display())]);
        let watcher = Watcher::at_home(Arc::clone(&tmux.home), &[&base[..], &["--tmux", "%1"]].concat());
        let played = look_at(&mut world, name, tmux.home.path(), asked);
        watcher.stop();
        played
    } else {
        let home: Arc<TempDir> = Arc::new(tempfile::tempdir().expect("a home"));
        let program = player(home.path(), name, command).display().to_string();
        let watcher = Watcher::of_size((24, 80), Arc::clone(&home), &[&base[..], &["sh", &program]].concat());
        let played = look_at(&mut world, name, home.path(), asked);
        watcher.stop();
        played
    };
    let Played { alerts, question, failed, typed } = played;
    let is_told = question.to_lowercase().contains(&words);
    match (typed.as_str(), failed, alerts.len(), is_told) {
        ("", 1, 1, true) if is_question => Ok(()),
        ("", 1, 0, _) if !is_question => Ok(()),
        _ => Err(format!("typed {typed:?}, {failed} refused, alerts {alerts:?}, question {question:?}")),
    }
}

fn chosen(is_chosen: impl Fn(&str, &str) -> bool) -> Vec<(String, Value)> {
    let chosen =
        states().into_iter().filter(|(name, state)| is_chosen(name, state["state"].as_str().unwrap_or_default()));
    chosen.collect()
}

#[test]
fn no_question_in_a_terminal_is_given_a_byte_and_each_is_reported_once() {
    let questions = chosen(|_, state| ["waiting", "exhausted"].contains(&state));
    assert!(40 < questions.len(), "{}", questions.len());
    play_all(questions, false);
}

#[test]
fn no_question_in_tmux_is_given_a_byte_and_each_is_reported_once() {
    // What programs say of themselves by sequences tmux keeps to itself; their screens say it as well.
    let questions = chosen(|name, state| ["waiting", "exhausted"].contains(&state) && !name.contains("-status-"));
    play_all(questions, true);
}

#[test]
fn into_shells_editors_and_agents_at_work_nothing_is_typed() {
    let others = chosen(|name, state| {
        state == "unknown" || name.ends_with("-typed") || state == "working" && !name.starts_with("h")
    });
    assert!(20 < others.len(), "{}", others.len());
    play_all(others, false);
}
