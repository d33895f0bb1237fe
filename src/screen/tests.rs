//! Recorded screens of real agents and programs (`tests/agents`), and what the rules make of them.

mod composers;
mod questions;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::read_to_string;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use super::*;
use crate::rules::session::Activity;

/// How a person would read the screen at the end of a recording.
#[derive(Debug, Deserialize)]
struct Expected {
    command: String,
    state: String,
    kind: Option<String>,
    question: Option<String>,
}

/// One recording, as asciinema writes it.
struct Recording {
    size: (u16, u16),
    mode: Option<LineMode>,
    /// The time and the text of each output.
    output: Vec<(Duration, String)>,
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/agents/recordings")
}

fn expectations() -> BTreeMap<String, Expected> {
    let text = read_to_string(directory().join("states.json")).expect("states.json");
    serde_json::from_str(&text).expect("states.json")
}

impl Recording {
    fn read(name: &str) -> Recording {
        let text = read_to_string(directory().join(format!("{name}.cast"))).expect("a recording");
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let header = lines.next().expect("a header");
        let number = |name: &str| u16::try_from(header[name].as_u64().expect("a number")).expect("a size");
        let mode = header["echo"].as_bool().zip(header["canonical"].as_bool());
        let output = lines.filter(|event| event[1] == "o").map(|event| {
            let at = Duration::from_secs_f64(event[0].as_f64().expect("a time"));
            (at, event[2].as_str().expect("output").to_owned())
        });
        Recording {
            size: (number("height"), number("width")),
            mode: mode.map(|(echo, canonical)| LineMode { echo, canonical }),
            output: output.collect(),
        }
    }

    /// Plays the recording, looks at the screen every two seconds, and once a while after the end.
    fn play(&self, mut look_at: impl FnMut(&Look, &mut Emulator, Instant)) {
        let (mut emulator, began) = (Emulator::new(self.size), Instant::now());
        let mut next = Duration::from_secs(2);
        for (at, text) in &self.output {
            while next <= *at {
                let look = emulator.current_look(self.mode, began + next);
                look_at(&look, &mut emulator, began + next);
                next += Duration::from_secs(2);
            }
            emulator.process(text.as_bytes(), began + *at);
        }
        let end = began + self.output.last().map_or(Duration::ZERO, |(at, _)| *at) + Duration::from_secs(6);
        let look = emulator.current_look(self.mode, end);
        look_at(&look, &mut emulator, end);
    }
}

fn agent_of(command: &str) -> Option<&'static Agent> {
    Agents::get().find_by_command(&[OsString::from(command)])
}

/// What is known at the end of a recording from all sources, and the screen.
fn at_the_end(name: &str, expected: &Expected) -> (Option<Statement>, String) {
    let (agent, mut tracker, mut screen) = (agent_of(&expected.command), ActivityTracker::default(), String::new());
    Recording::read(name).play(|look, emulator, now| {
        let signals = emulator.take_signals();
        let of_signals = signals.iter().filter_map(|signal| Agents::get().read_signal(agent, signal));
        of_signals.for_each(|said| tracker.add(said, now));
        tracker.set_title(Agents::get().read_title(agent, &look.title), now);
        tracker.set_screen(Agents::get().read_screen(agent, look, |_| true), now);
        screen = format!(
            "{}\n[cursor in row {}: {:?}‸{:?}, title {:?}]",
            look.rows.join("\n"),
            look.cursor_row + 1,
            look.before_cursor,
            look.behind_cursor,
            look.title
        );
    });
    (tracker.current().map(|known| known.statement.clone()), screen)
}

#[test]
fn every_recorded_screen_is_read_as_a_person_reads_it() {
    let mut wrong = Vec::new();
    for (name, expected) in expectations() {
        let (found, screen) = at_the_end(&name, &expected);
        let activity = found.as_ref().map(|found| found.activity);
        let question = found.as_ref().map_or("", |found| &found.question);
        // Some programs do not show that they are at work.
        let is_unknown = activity.is_none() && expected.state == "working";
        let is_right = (activity == Activity::parse(&expected.state) || is_unknown)
            && expected
                .kind
                .as_deref()
                .is_none_or(|kind| found.as_ref().is_some_and(|found| is_kind(found, kind, &expected.command)))
            && expected.question.as_deref().is_none_or(|words| question.to_lowercase().contains(&words.to_lowercase()));
        if !is_right {
            wrong.push(format!("===== {name}: {expected:?}\nfound {found:?}\n{screen}"));
        }
    }
    assert!(wrong.is_empty(), "{} are read wrongly:\n{}", wrong.len(), wrong.join("\n"));
}

/// Whether the kind is right; of an unknown program, the form of a question need not be known.
fn is_kind(found: &Statement, kind: &str, command: &str) -> bool {
    let form =
        |kind: &str| if ["choice", "confirmation"].contains(&kind) { "question".to_owned() } else { kind.to_owned() };
    let found = found.kind.as_deref().unwrap_or_default();
    if agent_of(command).is_some() { found == kind } else { form(found) == form(kind) }
}

/// Which of the looks at a recording show progress, every two seconds from the third look on.
fn progress_of(name: &str, expected: &Expected) -> Vec<bool> {
    let (agent, mut motion, mut progress) = (agent_of(&expected.command), Motion::default(), Vec::new());
    Recording::read(name).play(|look, _, now| {
        let lines = Agents::get().output(agent, look);
        progress.push(motion.is_progress(lines.iter().map(String::as_str), now));
    });
    // The last look comes six seconds after the end.
    progress.pop();
    progress.split_off(progress.len().min(2))
}

/// The progress of all recordings whose names are wanted.
fn progress_of_all(is_wanted: impl Fn(&str) -> bool) -> Vec<(String, Vec<bool>)> {
    let wanted = expectations().into_iter().filter(|(name, _)| is_wanted(name));
    let with_progress = |(name, expected): (String, Expected)| {
        let progress = progress_of(&name, &expected);
        (name, progress)
    };
    let found: Vec<_> = wanted.map(with_progress).collect();
    assert!(10 < found.len(), "{found:?}");
    found
}

#[test]
fn what_only_moves_is_no_progress() {
    let found = progress_of_all(|name| name.starts_with("hang-") || name.ends_with("-hang"));
    let moving: Vec<_> = found.iter().filter(|(_, progress)| progress[progress.len() / 2..].contains(&true)).collect();
    assert!(moving.is_empty(), "{moving:#?}");
}

/// Healthy work must never be without progress for long.
#[test]
fn healthy_work_is_progress() {
    // Nothing but dots is what a hang looks like as well.
    let is_excepted = |name: &str| name == "healthy-unittest" || name.contains("-notified-");
    let is_healthy = |name: &str| name.starts_with("healthy-") || name.ends_with("-working");
    let found = progress_of_all(|name| is_healthy(name) && !is_excepted(name));
    let still =
        |progress: &[bool]| progress.windows(6.min(progress.len().max(1))).any(|window| !window.contains(&true));
    let standing: Vec<_> = found.iter().filter(|(_, progress)| still(progress)).collect();
    assert!(standing.is_empty(), "{standing:#?}");
}

/// Classes such as `\pL` need a feature of the crate `regex` that only the tests enable.
#[test]
fn no_rule_needs_more_of_unicode_than_the_program_has() {
    for (path, text) in toml_files() {
        assert!(!text.contains("\\p"), "{path}");
    }
}

fn toml_files() -> Vec<(String, String)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/screen/agents");
    let paths = std::fs::read_dir(directory).expect("agents").map(|entry| entry.expect("a file").path());
    let files: Vec<_> = paths.map(|path| (path.display().to_string(), read_to_string(&path).expect("text"))).collect();
    assert!(7 < files.len(), "{files:?}");
    files
}

#[test]
fn every_file_of_an_agent_can_be_read() {
    assert!(agent_of("claude").is_some_and(|agent| agent.name == "Claude Code"));
    assert!(agent_of("vim").is_none());
}

#[test]
fn an_agent_is_known_by_the_program_that_runs_and_by_no_other_word() {
    let name = |line: &str| {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Agents::get().find_by_command(&words).map(|agent| agent.name.as_str())
    };
    for line in
        ["/usr/bin/claude --continue", "node /usr/lib/x/claude.js", "sh ./claude", "npx @anthropic-ai/claude-code"]
    {
        assert_eq!(name(line), Some("Claude Code"), "{line}");
    }
    for line in ["node --no-warnings /usr/bin/gemini", "npm exec @google/gemini-cli"] {
        assert_eq!(name(line), Some("Gemini CLI"), "{line}");
    }
    assert_eq!(name("python3 -m aider"), Some("aider"));
    assert_eq!(name("node --expose-gc /usr/lib/qwen-code/cli.js"), Some("Qwen Code"));
    for line in [
        "ssh aider", "docker exec -it aider bash", "sudo -u claude -i", "less codex", "script -q aider", "vim claude",
        "bash -c ~/bin/aider", "bash --rcfile ./aider", "bash -s aider", "node -r ./aider app.js",
        "npx -p ./aider app", "pnpm --filter codex dev", "uv run --directory gemini app.py", "python3 -W aider",
    ] {
        assert_eq!(name(line), None, "{line}");
    }
}

/// How agents set their terminals.
const RAW: LineMode = LineMode { echo: false, canonical: false };

/// What the rules make of the output of a command.
fn read(command: &str, printed: &str) -> Option<Statement> {
    let mut emulator = Emulator::new((24, 80));
    emulator.process(printed.as_bytes(), Instant::now());
    let agent = agent_of(command);
    let mode = if agent.is_some() { RAW } else { LineMode { echo: true, canonical: true } };
    Agents::get().read_screen(agent, &emulator.current_look(Some(mode), Instant::now()), |_| true)
}

#[test]
fn what_is_only_talked_about_is_no_state() {
    for printed in
        ["E501 line too long (94 > 79)", "test_disk_quota_is_kept ... ok", "HTTP 429: rate limit", "429 quota"]
    {
        assert_eq!(read("flake8", printed), None, "{printed}");
    }
    let composer =
        format!("\r\n{0}\r\n❯ \r\n{0}\r\n  ⏸ manual mode on · ? for shortcuts\x1b[2A\r\x1b[2C", "─".repeat(80));
    for said in [
        "● The rate limit of the API is documented.",
        "● A prompt is too long if",
        "● esc to interrupt ends it",
        "● You've hit your GitHub rate limit. It resets in 7 days, so shall I use the mirror?",
    ] {
        let state = read("claude", &format!("{said}\r\n{composer}")).map(|statement| statement.activity);
        assert_eq!(state, Some(Activity::Idle), "{said}");
    }
}

#[test]
fn a_question_that_the_terminal_wraps_is_one_line_and_its_secrets_are_known() {
    let asked = format!("deploy {} --password=hunter2correcthorsebatterystaple --now? [y/N] ", "--verbose ".repeat(6));
    let question = read("deploy.sh", &asked).expect("a question").question;
    assert!(question.starts_with("deploy --verbose") && !question.contains("horse"), "{question}");
}

/// Qwen Code 0.24 writes a zero-width space behind the cursor that it draws.
#[test]
fn characters_that_nobody_sees_are_no_part_of_a_message() {
    let mut emulator = Emulator::new((24, 80));
    emulator
        .process("> Go \u{200b}on, or say\r\n  what.\x1b[48;5;252m \x1b[49m\u{200b}\x1b[8G".as_bytes(), Instant::now());
    let composed = Agents::get().composed(agent_of("qwen"), &emulator.current_look(Some(RAW), Instant::now()));
    assert_eq!(composed, Some(("Goon,orsaywhat.".to_owned(), String::new())));
}

#[test]
fn a_picture_is_painted_until_its_end_but_not_for_ever() {
    let (mut emulator, now) = (Emulator::new((4, 20)), Instant::now());
    let after = |milliseconds| now + Duration::from_millis(milliseconds);
    emulator.process(b"\x1b[?2026hhalf", now);
    assert!(emulator.is_painting(after(1)) && !emulator.is_painting(after(500)));
    emulator.process(b" of it\x1b[?2026l", after(2));
    assert!(!emulator.is_painting(after(3)));
    emulator.process(b"\x1b[?2026h\x1b[?2026l\x1b[?2026hmore", after(600));
    assert!(emulator.is_painting(after(700)));
}

/// Such a program would keep everybody from its screen for ever.
#[test]
fn a_picture_that_is_begun_again_and_again_is_not_waited_for_longer() {
    for again in ["\x1b[?2026h", "\x1b[?2026l\x1b[?2026h", "\x1b[?2026$p"] {
        let (mut emulator, began) = (Emulator::default(), Instant::now());
        emulator.process(b"\x1b[?2026h", began);
        for (millis, is_painting) in [(100, true), (300, true), (450, true), (600, false)] {
            let now = began + Duration::from_millis(millis);
            emulator.process(again.as_bytes(), now);
            assert_eq!(emulator.is_painting(now), is_painting, "{again:?} after {millis}");
        }
    }
}
