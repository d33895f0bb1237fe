//! What looks like an idle composer and is none, and what may stand around one.

mod typography;

use std::time::Instant;

use super::{RAW, agent_of};
use crate::rules::session::Activity;
use crate::screen::{Agents, Emulator, LineMode, Statement};

pub(super) const RULE: &str = "────────────────";

/// The end of the screen of each agent that is idle: the rows, and which of them is its composer.
pub(super) const IDLE: [(&str, &[&str], usize); 6] = [
    ("aider", &["> "], 0),
    ("claude", &[RULE, "❯ ", RULE, "  ⏵⏵ accept edits on (shift+tab to cycle) · ? for shortcuts"], 1),
    ("codex", &["› ", "", "  GPT-6-Sol default · ~/shop", "  ← for agents · ? for shortcuts   ⚠ 1 warning"], 0),
    ("copilot", &[RULE, "❯ ", RULE, " ← open sidebar · Interactive · Manual Approval · / commands"], 1),
    ("gemini", &[RULE, " Shift+Tab to accept edits", "", " > ", "", " workspace (/directory)", " ~/shop"], 3),
    ("qwen", &[RULE, "> ", RULE, "  ➜ shop · git:(main)", "  ⏸ 请求授权 (Shift + Tab 切换)"], 1),
];

/// What the rules make of these rows, with the cursor at the end of one of them.
pub(super) fn read(command: &str, mode: LineMode, rows: &[&str], cursor: usize) -> Option<Statement> {
    let mut emulator = Emulator::new((24, 80));
    let column = rows[cursor].chars().count() + 1;
    let drawn = format!("\x1b[H{}\x1b[{};{column}H", rows.join("\r\n"), cursor + 1);
    emulator.process(drawn.as_bytes(), Instant::now());
    Agents::get().read_screen(agent_of(command), &emulator.current_look(Some(mode), Instant::now()), |_| true)
}

/// The activity of each idle agent, if these rows stand above or below what its screen ends in.
pub(super) fn beside(above: &[&str], below: &[&str]) -> Vec<(&'static str, Option<Activity>)> {
    let read = |(command, rows, composer): &(&'static str, &[&str], usize)| {
        let rows = [above, rows, below].concat();
        (*command, read(command, RAW, &rows, above.len() + composer).map(|statement| statement.activity))
    };
    IDLE.iter().map(read).collect()
}

fn of_all(activity: Option<Activity>) -> Vec<(&'static str, Option<Activity>)> {
    IDLE.iter().map(|(command, ..)| (*command, activity)).collect()
}

#[test]
fn below_a_composer_stands_what_is_known_or_it_is_not_known_to_be_idle() {
    assert_eq!(beside(&[], &[]), of_all(Some(Activity::Idle)), "negative control");
    assert_eq!(beside(&[], &["  Enter deletes the branch"]), of_all(None));
    assert_eq!(beside(&[], &["  Delete the branch? Enter: yes"]), of_all(Some(Activity::Waiting)));
    assert_eq!(beside(&[], &["  是否删除分支？"]), of_all(Some(Activity::Waiting)));
}

/// A status row may be followed by a question in the same row, and a row of another form is none.
#[test]
fn a_row_that_asks_is_no_status_row() {
    let asking = [
        "Delete it? (y/n)", "Delete it? y/n", "Delete all files? [y/N]", "Delete it ? [o/N]", "(Y)es/(N)o",
        "y yes · n no", "Delete it?", "是否删除分支？", "Enter to delete it", "enter: delete, esc: keep", "d) delete",
        "(d)elete, (k)eep", "Press any key", "Password:",
    ];
    for (n, (command, rows, composer)) in IDLE.iter().enumerate() {
        let known = if n == 0 { &[][..] } else { &rows[composer + 1..] };
        for asks in asking {
            let beside = known.iter().filter(|row| row.contains(char::is_alphanumeric)).flat_map(|row| {
                let mark: String = row.chars().take_while(|c| !c.is_alphanumeric()).collect();
                [format!("{row} · {asks}"), format!("{row}   {asks}"), format!("{mark}{asks}")]
            });
            for row in beside {
                let rows = [&rows[..=*composer], &known[..known.len() - 1], &[row.as_str()]].concat();
                let found = read(command, RAW, &rows, *composer).map(|statement| statement.activity);
                assert_ne!(found, Some(Activity::Idle), "{command}: {row}");
            }
        }
    }
    for (command, row) in [
        ("codex", "  Allow edit of main.rs · y yes · n no"),
        ("codex", "  Allow edit of main.rs · always · never"),
        ("codex", "  Delete-all-3-files.y-n · /yes/no"),
        ("codex", "  gpt-6 · ~/是否删除分支"),
        ("gemini", " ~/是否删除分支"),
        ("qwen", "  ➜ 是否删除分支"),
        ("gemini", " ~/x  Delete it? (y/n)"),
        ("copilot", " Interactive · Delete everything? y/n"),
        ("qwen", "  ➜ Delete all files"),
        ("qwen", "  ⏵ Delete all files"),
        ("claude", "  ⏵⏵ Deletion of all files goes on"),
    ] {
        let (_, found) = beside(&[], &[row]).into_iter().find(|(name, _)| *name == command).expect("an agent");
        assert_ne!(found, Some(Activity::Idle), "{command}: {row}");
    }
}

#[test]
fn a_question_of_signs_below_a_composer_is_one() {
    for row in ["  (?)", "  [✓]  [✗]", "  ↵ ⌫"] {
        for (command, activity) in beside(&[], &[row]) {
            assert_ne!(activity, Some(Activity::Idle), "{command}: {row}");
        }
    }
}

/// A composer shows hints in dim text, and so do programs the answers that they take.
#[test]
fn what_asks_beside_the_cursor_is_no_hint() {
    let idle_beside = |hint: &str| {
        let read = |(command, rows, composer): &(&'static str, &[&str], usize)| {
            let (mark, hint) = (rows[*composer], format!("\x1b[2m{hint}\x1b[22m"));
            let shown = format!("{mark}{hint}");
            let rows = [&rows[..*composer], &[&shown], &rows[composer + 1..]].concat();
            let mut emulator = Emulator::new((24, 80));
            let column = mark.chars().count() + 1;
            let drawn = format!("\x1b[H{}\x1b[{};{column}H", rows.join("\r\n"), composer + 1);
            emulator.process(drawn.as_bytes(), Instant::now());
            Agents::get().read_screen(agent_of(command), &emulator.current_look(Some(RAW), Instant::now()), |_| true)
        };
        IDLE.iter().filter(|it| read(it).is_some_and(|found| found.activity == Activity::Idle)).count()
    };
    for hint in ["Ask Codex to do anything", "Try \"how do I log an error?\"", "Once fixed, resend your message"] {
        assert_eq!(idle_beside(hint), IDLE.len(), "{hint}");
    }
    for hint in [
        "(Y/n)", "Delete it? yes/no", "Enter deletes it", "Delete it?", "Allow / Deny", "[Delete] [Keep]",
        "Allow  Deny",
    ] {
        assert_eq!(idle_beside(hint), 0, "{hint}");
    }
}

#[test]
fn what_stops_at_the_prompt_of_aider_is_no_idle_prompt() {
    let asking =
        [&["Press Enter to go on"][..], &["Which one", "❯ red", "  blue", "Use arrow keys"], &["Go on? [y/N]"]];
    let found = |above: &[&str]| {
        let rows = [above, &["> "]].concat();
        read("aider", RAW, &rows, above.len()).map(|statement| statement.activity)
    };
    for above in asking {
        assert_eq!(found(above), Some(Activity::Waiting), "{above:?}");
    }
    for above in ["Passwort:", "密码：", "Are you sure", "Allow  Deny", "❯ 1. Yes", "[Allow once]  [Reject]"] {
        assert_ne!(found(&[above]), Some(Activity::Idle), "{above}");
    }
    assert_eq!(found(&["Applied edit to main.rs", ""]), Some(Activity::Idle), "negative control");
    assert_eq!(read("aider", RAW, &["multi> "], 0), None, "there a return key sends nothing");
}

/// Above the frame of a composer stand the agent's answers; a menu there is none.
#[test]
fn a_menu_above_the_frame_of_a_composer_is_a_question() {
    for asks in [
        &["❯ 1. Yes", "  2. No"][..],
        &["[Allow once] [Reject]"],
        &["<Yes>  <No>"],
        &["Appuyez sur Entrée pour continuer"],
        &["Drücken Sie die Eingabetaste"],
        &["按回车键继续"],
    ] {
        for (command, activity) in beside(asks, &[]) {
            assert_ne!(activity, Some(Activity::Idle), "{command}: {asks:?}");
        }
    }
}

/// A terminal may show something else than the emulator, and then nobody knows what stands around a composer.
#[test]
fn a_screen_with_a_sequence_that_is_not_understood_is_not_idle() {
    let is_idle = |sequence: &str| {
        let (command, rows, composer) = IDLE[1];
        let mut emulator = Emulator::new((24, 80));
        let drawn = format!("{sequence}\x1b[H\x1b[2J{}\x1b[{};3H", rows.join("\r\n"), composer + 1);
        emulator.process(drawn.as_bytes(), Instant::now());
        let read =
            Agents::get().read_screen(agent_of(command), &emulator.current_look(Some(RAW), Instant::now()), |_| true);
        read.is_some_and(|found| found.activity == Activity::Idle)
    };
    let wrapped = format!("\x1b[?7l{}\x1b[?7h", "x".repeat(90));
    let unknown = [
        "\x1bD", "\x1bE", "\x1bH", "\x1b[s", "\x1b[u", "\x1b[4h", "\x1b[3Z", "\x1b[?69h", "\x1b[?1048h", "\x1b[?1047l",
        "\x1b[?2K", "\x1b[5;9r\x1b[?1049h\x1b[?1049l", "\u{85}", "\u{9b}5A", "\x1b#8", "\x1b]66;s=2;Delete it?\x1b\\",
        "\x1b]1337;File=inline=1:R0lG\x1b\\",
    ];
    for sequence in unknown.into_iter().chain([wrapped.as_str()]) {
        assert!(!is_idle(sequence), "{sequence:?}");
    }
    let harmless = [
        "\x1b[6n", "\x1b[c", "\x1b[>1u", "\x1b[<u", "\x1b[>4;2m", "\x1b(B", "\x1b[1;24r\x1b[?1049h\x1b[?1049l",
        "\x1b[?2026$p", "\x1b[?1004h", "\x1b[?12;25h", "\x1b]11;?\x1b\\", "\x1b[0%m",
    ];
    for sequence in harmless.into_iter().chain(["\x1b[?7l \x1b[?7h", "\x1b[4l", "\x1b[22;0t", "\x1bP+q544e\x1b\\"]) {
        assert!(is_idle(sequence), "{sequence:?}");
    }
}

#[test]
fn a_question_below_a_composer_is_quoted() {
    let (command, rows, composer) = IDLE[1];
    let asked = read(command, RAW, &[rows, &["  Delete the branch?", "  Enter: yes"]].concat(), composer);
    let asked = asked.expect("a question");
    assert_eq!((asked.kind.as_deref(), asked.question.as_str()), (Some("question"), "Delete the branch? Enter: yes"));
    assert_eq!(asked.evidence, "screen, rule Claude Code/composer, lines 1 to 3, and what stands around it");
}

/// An agent reads key by key, and shows what it has read; a child that reads a line leaves that to the terminal.
#[test]
fn a_line_that_the_terminal_itself_edits_or_shows_is_no_composer() {
    for (echo, canonical) in [(true, true), (true, false)] {
        for (command, rows, composer) in IDLE {
            assert_eq!(read(command, LineMode { echo, canonical }, rows, composer), None, "{command}");
        }
    }
}

#[test]
fn a_prompt_above_the_cursor_is_no_composer() {
    for (command, rows, composer) in IDLE {
        let turn = format!("{}/run deploy", rows[composer]);
        let rows = [&rows[..composer], &[&turn, "Which one"]].concat();
        let found = read(command, RAW, &rows, composer + 1).map(|statement| statement.activity);
        assert_ne!(found, Some(Activity::Idle), "{command}");
    }
}

/// What was said of a full context or a used-up quota stays on the screen when the agent has gone on.
#[test]
fn what_was_said_before_the_last_turn_is_no_state() {
    let said = [
        "Model openai/stand-in has hit a token limit!",
        "  ⎿  Prompt is too long · /clear to start fresh",
        "■ Codex ran out of room in the model's context window. Start anew",
        " ✗ 400 This model's maximum context length is 128000 tokens.",
        "✕ [API Error: it exceeds the maximum number of tokens allowed",
        "  ✕ [API Error: 400 This model's maximum context length is 128000 tokens.",
    ];
    let later = ["> go on", "❯ go on", "› go on", " ❯ go on", " > go on", "  > go on"];
    let done = ["Done.", "● Done.", "• Done.", " ● Done.", "✦ Done.", "  ◆ Done."];
    for (n, (command, rows, composer)) in IDLE.iter().enumerate() {
        let found = |above: &[&str]| {
            let rows = [above, rows].concat();
            read(command, RAW, &rows, above.len() + composer).map(|statement| statement.activity)
        };
        assert_eq!(found(&[later[n], "", said[n], ""]), Some(Activity::Exhausted), "{command}");
        assert_eq!(found(&[said[n], "", later[n], "", done[n], ""]), Some(Activity::Idle), "{command}");
    }
}

#[test]
fn a_tip_that_comes_late_is_neither_a_question_nor_progress() {
    let (command, rows, composer) = IDLE[2];
    let rows = [&["  Tip: Did you know? Use /fast to hurry", ""], rows].concat();
    assert_eq!(read(command, RAW, &rows, composer + 2).map(|statement| statement.activity), Some(Activity::Idle));
    let mut emulator = Emulator::new((24, 80));
    emulator.process("  Worked for 3s\r\n\r\n  Tip: Use /fast to hurry\r\n\r\n› ".as_bytes(), Instant::now());
    let look = emulator.current_look(Some(RAW), Instant::now());
    assert_eq!(Agents::get().output(agent_of(command), &look), ["  Worked for 3s"]);
}

/// With each turn Qwen shows another one, and the agent itself wraps it.
#[test]
fn a_tip_that_goes_on_in_the_next_row_is_no_progress() {
    let mut emulator = Emulator::new((24, 80));
    emulator
        .process("  Tipps: Tippen Sie /, um\r\n  es zu sehen.\r\n  ◆ Done.\r\n  Quite.\r\n".as_bytes(), Instant::now());
    let look = emulator.current_look(Some(RAW), Instant::now());
    assert_eq!(Agents::get().output(agent_of("qwen"), &look), ["  ◆ Done.", "  Quite."]);
}

/// Only rows of its region scroll, and the cursor is at home when a region is set.
#[test]
fn what_stands_below_a_composer_stays_where_a_terminal_keeps_it() {
    let (command, rows, composer) = IDLE[1];
    let rows = [rows, &["  Delete the branch (y/n)?"]].concat();
    for sequence in [
        "\x1b[6;7r\x1b[1;1H\x1bM\x1b[r", "\x1b[5;7r\x1b[2K\x1b[r", "\x1b[5;7r", "\x1b[5;7r\x1b[5;1H\x1b[r", "\x1b[5;3r",
    ] {
        let mut emulator = Emulator::new((24, 80));
        let drawn = format!("\x1b[H{}{sequence}", rows.join("\r\n"));
        emulator.process(drawn.as_bytes(), Instant::now());
        emulator.process(format!("\x1b[1;1H{RULE}\x1b[{};3H", composer + 1).as_bytes(), Instant::now());
        let look = emulator.current_look(Some(RAW), Instant::now());
        assert_eq!(look.rows[4], rows[4], "{sequence:?}");
        let found = Agents::get().read_screen(agent_of(command), &look, |_| true).map(|found| found.activity);
        assert_eq!(found, Some(Activity::Waiting), "{sequence:?}");
    }
}

/// Two rows of a window stand above its composer.
#[test]
fn a_question_that_has_scrolled_off_a_small_window_is_near() {
    let (command, rows, _) = IDLE[1];
    let idle = |asks: &str| {
        let rows = [&[asks, "one", "two"][..], rows].concat();
        let mut emulator = Emulator::new((5, 80));
        emulator.process(format!("{}\x1b[3;3H", rows.join("\r\n")).as_bytes(), Instant::now());
        let look = emulator.current_look(Some(RAW), Instant::now());
        Agents::get()
            .read_screen(agent_of(command), &look, |_| true)
            .is_some_and(|found| found.activity == Activity::Idle)
    };
    assert!(!idle("Delete the branch? (y/n)"));
    assert!(idle("The branch is deleted."), "negative control");
}
