//! Questions of all forms around the composers that are recorded idle.

use std::collections::BTreeSet;
use std::time::Instant;

use super::composers::{IDLE, RULE, beside, read};
use super::{RAW, Recording, agent_of, expectations};
use crate::rules::session::Activity;
use crate::screen::{Agents, Emulator, Look};

const QUESTIONS: [&str; 45] = [
    "Delete all files? OK / Cancel",
    "Supprimer tous les fichiers ?",
    "Löschen? Ja / Nein",
    "Удалить? Да / Нет",
    "删除全部文件? 是/否",
    "确认删除（是/否）",
    "按回车键确认删除",
    "削除しますか  はい/いいえ",
    "Allow / Deny",
    "Accept  Reject",
    "[Delete] [Keep]",
    "Continue ›",
    "Hit ↩ to delete",
    "Tab to accept",
    "Ctrl+Y to delete",
    "Overwrite (o/c/a)",
    "Overwrite main.rs (yes/cancel)",
    "Code:",
    "Delete all the fi…",
    "Delete the branch",
    "Allow write · ~/shop/main.rs · always · never",
    "Run · /bin/rm -rf important · allow · deny",
    "Re-run all · /bin/rm",
    "Delete 3 files · ~/shop",
    "⚠ 3 warnings: overwrite all files, OK / Cancel",
    "Tip: Accept  Reject all edits",
    "Tip: OK / Cancel",
    "⏸ deletion going on · OK / Cancel",
    "⏵⏵ deletion on",
    "Interactive · Delete All Files · / ok · tab cancel",
    "Interactive · Manual Approval · / ok · tab cancel",
    "~/shop  Accept  Reject",
    "~/shop  delete all six of these files",
    "➜ Delete all files · OK · Cancel",
    "➜ Delete",
    "⏸ Delete all files? OK (Tab)",
    "⏸ Delete all files (Shift + Tab)",
    "(y/n)",
    "y/n",
    "yes",
    "OK",
    "workspace (/directory)  delete  keep",
    "? for shortcuts or deletion",
    "← for agents to delete",
    "█▀▀▀▀▀█ ▄▀▄ █▀▀▀▀▀█",
];

/// The last screen of each recording that ends idle, by its agent.
fn idle_screens() -> Vec<(String, Look)> {
    let idle = expectations().into_iter().filter(|(_, expected)| expected.state == "idle");
    let last = |(name, expected): (String, super::Expected)| {
        let mut last = Look::default();
        Recording::read(&name).play(|look, _, _| last = look.clone());
        (expected.command, last)
    };
    idle.map(last).filter(|(command, _)| IDLE.iter().any(|(known, ..)| known == command)).collect()
}

fn activity(command: &str, look: &Look) -> Option<Activity> {
    Agents::get().read_screen(agent_of(command), look, |_| true).map(|statement| statement.activity)
}

/// With the rows below its composer as they are recorded, each agent is idle, and with any other text it is not.
#[test]
fn a_question_below_a_recorded_composer_is_never_idle() {
    let (mut rows, mut idle) = (BTreeSet::new(), Vec::new());
    for (command, mut look) in idle_screens() {
        assert_eq!(activity(&command, &look), Some(Activity::Idle), "{command}: {:#?}", look.rows);
        look.rows.push(String::new());
        look.wrapped.push(false);
        for (at, known) in look.rows.clone().into_iter().enumerate().skip(look.cursor_row + 1) {
            if !rows.insert((command.clone(), known.clone())) {
                continue;
            }
            let changed = |asks: &&str| {
                let alone = [format!(" {asks}"), format!("  {asks}"), format!("                     {asks}")];
                let appended = ["   ", " · ", "  · ", " "].map(|between| format!("{known}{between}{asks}"));
                let mark: String = known.chars().take_while(|c| !c.is_alphanumeric() && *c != '~').collect();
                [&alone[..], &appended, &[format!("{mark}{asks}")]].concat()
            };
            for row in QUESTIONS.iter().flat_map(changed).filter(|row| *row != known) {
                look.rows[at] = row;
                if activity(&command, &look) == Some(Activity::Idle) {
                    idle.push(format!("{command}: {}", look.rows[at]));
                }
            }
            look.rows[at] = known;
        }
    }
    let agents: BTreeSet<&String> = rows.iter().map(|(command, _)| command).collect();
    assert_eq!(agents.len(), IDLE.len(), "{agents:?}");
    assert!(idle.is_empty(), "{} are idle:\n{}", idle.len(), idle.join("\n"));
}

#[test]
fn the_name_of_a_directory_or_a_branch_is_no_question() {
    for (command, row) in [
        ("codex", "  GPT-6-Sol default Fast · ~/shop/y/no"),
        ("gemini", " ~/shop/y/no        feature/y-no        no sandbox        Auto"),
        ("qwen", "  ➜ y-n · git:(a/b) · stand-in"),
        ("qwen", "  ➜ shop · git:(feature/y-no)"),
    ] {
        let (_, found) = beside(&[], &[row]).into_iter().find(|(name, _)| *name == command).expect("an agent");
        assert_eq!(found, Some(Activity::Idle), "{command}: {row}");
    }
    let above = beside(&[" ~/shop/y/no [⎇ feature/y-no]"], &[]);
    assert!(above.iter().all(|(_, activity)| *activity == Some(Activity::Idle)), "{above:?}");
}

/// What an agent has said ends above the frame of its composer, and may end in a question; keys that answer do not.
#[test]
fn keys_that_answer_count_above_the_frame_as_well() {
    for asks in ["Delete all files? (y/n)", "Delete it? [Y/n]", "Press Enter to delete everything", "(Y)es/(N)o"] {
        for above in [&[asks][..], &[asks, ""], &[asks, RULE], &[asks, " ~/shop", ""]] {
            for (command, activity) in beside(above, &[]) {
                // Above its frame Gemini shows a row of its own.
                if above.len() < 3 || command != "gemini" {
                    assert_ne!(activity, Some(Activity::Idle), "{command}: {above:?}");
                }
            }
        }
    }
    // Whatever the agent has said before.
    for asks in ["Enter to delete all files", "  Esc to keep them", "Any key to go on"] {
        for above in [["● Done.", asks, ""], ["● Done.", asks, RULE]] {
            for (command, activity) in beside(&above, &[]) {
                assert_ne!(activity, Some(Activity::Idle), "{command}: {above:?}");
            }
        }
    }
    let prose = ["● What would you like to do?", ""];
    for (command, activity) in beside(&prose, &[]) {
        assert_eq!(activity, Some(Activity::Idle), "{command}");
    }
}

/// Nothing but the frame stands between it and the composer. Gemini shows a row of its own there.
#[test]
fn what_asks_directly_above_the_frame_is_a_question() {
    for asks in [
        "Type yes to go on:", "Sudo password for root:", "[d] delete all", "Which files?", "Delete  Keep",
        "enter to select · esc to cancel", "(Use Enter to select)", "Tab to switch, Enter to confirm",
    ] {
        for (command, activity) in
            beside(&["● Done.", asks], &[]).into_iter().filter(|(command, _)| *command != "gemini")
        {
            assert_ne!(activity, Some(Activity::Idle), "{command}: {asks}");
        }
    }
}

/// What its rows are nobody knows, but not every row is one of them.
#[test]
fn a_question_around_a_prompt_is_one_whatever_the_program() {
    let look = |rows: &[&str], at: usize| {
        let mut emulator = Emulator::new((24, 80));
        let column = rows[at].chars().count() + 1;
        emulator.process(format!("\x1b[H{}\x1b[{};{column}H", rows.join("\r\n"), at + 1).as_bytes(), Instant::now());
        let found = Agents::get().read_screen(
            Agents::get().prompt(),
            &emulator.current_look(Some(RAW), Instant::now()),
            |_| true,
        );
        found.map(|statement| statement.activity)
    };
    for (rows, at) in [
        (&["Overwrite all 312 files? [y/N]", "> "][..], 1),
        (&["1) yes  2) no", "> "], 1),
        (&["Enter your password:", "> "], 1),
        (&["> ", "Delete everything? (y/n)"], 0),
    ] {
        assert_ne!(look(rows, at), Some(Activity::Idle), "{rows:?}");
    }
    for rows in [["Done.", "> ", "my-model · ~/shop"], ["╭────╮", "│ > ", "╰────╯"]] {
        assert_eq!(look(&rows, 1), Some(Activity::Idle), "negative control: {rows:?}");
    }
}

/// The prompt of aider has no frame.
#[test]
fn a_question_directly_above_a_prompt_is_one() {
    for asks in ["Delete all files? OK / Cancel", "Supprimer tous les fichiers ?", "delete it?", "删除全部文件? 是/否"]
    {
        let found = read("aider", RAW, &[asks, "> "], 1).map(|statement| statement.activity);
        assert_ne!(found, Some(Activity::Idle), "{asks}");
        for rule in ["──────", "------", "+----+", "======", "______", "——————", "⎯⎯⎯⎯⎯⎯", "······"]
        {
            let found = read("aider", RAW, &[asks, rule, "> "], 2).map(|statement| statement.activity);
            assert_ne!(found, Some(Activity::Idle), "{asks} {rule}");
        }
    }
    for other in ["Done.", "aaaaaa", "--", "-=-=-="] {
        let found = read("aider", RAW, &["delete it?", other, "> "], 2).map(|statement| statement.activity);
        assert_eq!(found, Some(Activity::Idle), "negative control: {other}");
    }
}

/// The screen of an agent that is idle, with this behind the mark of its composer.
fn with_composer(command: &str, behind: &str) -> Look {
    let (_, rows, composer) = IDLE.iter().find(|(name, ..)| *name == command).expect("an agent");
    let shown = format!("{}{behind}", rows[*composer]);
    let drawn = [&rows[..*composer], &[&shown], &rows[composer + 1..]].concat().join("\r\n");
    let column = rows[*composer].chars().count() + 1;
    let mut emulator = Emulator::new((24, 80));
    emulator.process(format!("\x1b[H{drawn}\x1b[{};{column}H", composer + 1).as_bytes(), Instant::now());
    emulator.current_look(Some(RAW), Instant::now())
}

/// A narrow terminal wraps what is asked above a composer.
#[test]
fn keys_that_wrap_above_the_composer_are_a_question() {
    for (command, rows, composer) in IDLE {
        let column = rows[composer].chars().count() + 1;
        for asks in [
            &["Delete all files in production? (y", "/n)"][..],
            &["Delete all of production? (y/", "  n)"],
            &["This deletes the production database: press", "Return, to keep it press q"],
            &["Press Enter to delete all of the files in", "production, of which there are many,", "and in staging"],
        ] {
            let drawn = [asks, rows].concat().join("\r\n");
            let at = composer + 1 + asks.len();
            let mut emulator = Emulator::new((24, 80));
            emulator.process(format!("\x1b[H{drawn}\x1b[{at};{column}H").as_bytes(), Instant::now());
            let found = activity(command, &emulator.current_look(Some(RAW), Instant::now()));
            assert_ne!(found, Some(Activity::Idle), "{command}: {asks:?}");
        }
    }
}

/// A dim text in an empty composer is what the agent suggests to say next, unless it asks.
#[test]
fn a_suggestion_beside_the_cursor_is_no_question() {
    for (command, ..) in IDLE {
        let found = |hint: &str| activity(command, &with_composer(command, &format!("\x1b[2m{hint}\x1b[22m")));
        for hint in [
            "proceed with step 2", "approve the plan", "select the second option", "fix the lint errors?",
            "1) run the tests",
        ] {
            assert_eq!(found(hint), Some(Activity::Idle), "{command}: {hint}");
        }
        for hint in [
            "Delete all files? OK / Cancel", "Supprimer tous les fichiers ?", "删除全部文件? 是/否", "delete it (y/n)",
            "press Enter to delete it", "1: allow once  2: deny", "allow / deny",
        ] {
            assert_ne!(found(hint), Some(Activity::Idle), "{command}: {hint}");
        }
    }
}

/// Agents draw the cursor as one inverse cell; buttons are inverse as well, and are no empty composer.
#[test]
fn inverse_text_and_what_follows_a_hint_stand_in_the_composer() {
    let composed = |command: &str, behind: &str| {
        let found = Agents::get().composed(agent_of(command), &with_composer(command, behind));
        found.expect("a composer").1
    };
    for (command, ..) in IDLE {
        assert_eq!(composed(command, "\x1b[7m \x1b[27m"), "", "{command}");
        assert_eq!(composed(command, "\x1b[7mT\x1b[27m\x1b[2mry it\x1b[22m"), "", "{command}");
        assert_ne!(composed(command, "\x1b[7mDelete all files\x1b[0m"), "", "{command}");
        let buttons = "\x1b[7mDelete all files? OK \x1b[0m \x1b[7mCancel \x1b[0m";
        assert_ne!(composed(command, buttons), "", "{command}");
    }
    for (command, hint) in [
        ("gemini", "  Type your message or @path/to/file"),
        ("qwen", "  Type your message or @path/to/file"),
        ("qwen", "  输入您的消息或 @ 文件路径"),
    ] {
        assert_eq!(composed(command, hint), "", "{command}");
        assert_ne!(composed(command, &format!("{hint}   Delete all files? OK / Cancel")), "", "{command}");
    }
}

/// A child asks in the last row, while what the agent has shown at work or of its quota stands above.
#[test]
fn a_question_at_the_cursor_counts_whatever_an_agent_shows_above() {
    let is_at_work = |state: &str| state == "working" || state == "exhausted";
    let mut agents = BTreeSet::new();
    for (name, expected) in expectations().into_iter().filter(|(_, expected)| is_at_work(&expected.state)) {
        let (recording, now) = (Recording::read(&name), Instant::now());
        let mut emulator = Emulator::new(recording.size);
        recording.output.iter().for_each(|(_, text)| emulator.process(text.as_bytes(), now));
        emulator.process(b"\x1b[?25h\x1b[99;1H\r\nOverwrite main.rs? [y/N] ", now);
        let agent = agent_of(&expected.command);
        let found =
            Agents::get().read_screen(agent, &emulator.current_look(Some(RAW), now), |_| true).map(|it| it.activity);
        assert_eq!(found, Some(Activity::Waiting), "{name}");
        agents.extend(agent.map(|agent| agent.name.clone()));
    }
    assert!(4 < agents.len(), "{agents:?}");
}
