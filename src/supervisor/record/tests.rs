use super::*;
use crate::screen::{Capture, Emulator};
use crate::supervisor::probe::tests::in_raw_mode;

const MESSAGE: &str = "You seem to be stuck. Go on with your task.";

const HOUR: Duration = Duration::from_secs(3600);

struct Story {
    record: Record,
    began: Instant,
}

impl Story {
    fn new() -> Story {
        Story { record: Record { nudges: Nudges::Idle, ..Record::default() }, began: Instant::now() }
    }

    /// One line, then silence until a nudge is typed at the tenth second.
    fn of_a_nudge() -> Story {
        let mut story = Story::new();
        story.prints("working\r\n", 0.0);
        story.snapshot(1.0);
        story.types(10.0);
        story
    }

    fn at(&self, seconds: f64) -> Instant {
        self.began + Duration::from_secs_f64(seconds)
    }

    fn prints(&mut self, text: &str, seconds: f64) {
        let at = self.at(seconds);
        self.record.output(text.as_bytes(), at);
    }

    /// A nudge is typed.
    fn types(&mut self, seconds: f64) {
        let at = self.at(seconds);
        self.record.typed(MESSAGE, at);
    }

    fn snapshot(&mut self, seconds: f64) -> Snapshot {
        let at = self.at(seconds);
        self.record.snapshot(true, HOUR, at)
    }

    /// When it was last active, and last made progress, in seconds.
    #[track_caller]
    fn was(&mut self, active: f64, progressed: f64, now: f64) {
        let snapshot = self.snapshot(now);
        let expected = (Some(self.at(active)), Some(self.at(progressed)));
        assert_eq!((snapshot.active_at, snapshot.progressed_at), expected);
    }
}

#[test]
fn the_echo_of_a_nudge_is_no_sign_of_life() {
    let mut story = Story::of_a_nudge();
    story.prints(&format!("{MESSAGE}\r\n"), 10.1);
    story.prints("\x1b[2K\x1b[1G> \x1b[1mYou seem to be stuck.\x1b[0m\r\n", 10.2);
    story.was(0.0, 0.0, 10.5);
    assert_eq!(story.snapshot(11.0).recent_output, ["working"]);
}

#[test]
fn what_was_there_before_and_is_drawn_again_is_no_sign_of_life() {
    let mut story = Story::of_a_nudge();
    story.prints("working\r\n", 10.1);
    story.was(0.0, 0.0, 10.5);
}

#[test]
fn an_answer_to_a_nudge_is_progress_at_once() {
    let mut story = Story::of_a_nudge();
    story.prints(&format!("{MESSAGE}\r\nSorry, I go on.\r\n"), 10.1);
    story.was(10.1, 10.1, 10.5);
}

/// The echo of a nudge must not break a loop: it would look like a recovery.
#[test]
fn the_echo_of_a_nudge_is_no_end_of_a_loop() {
    let mut story = Story::new();
    story.prints("beginning\r\n", 0.0);
    story.snapshot(0.5);
    (0..10).for_each(|_| story.prints("edit a.rs\r\ntest failed\r\n", 1.0));
    story.snapshot(2.0);
    story.types(10.0);
    story.prints(&format!("{MESSAGE}\r\n"), 10.1);
    let before = story.snapshot(10.5).progressed_at;
    for turn in 0..5 {
        story.prints("edit a.rs\r\ntest failed\r\n", 14.0 + f64::from(turn));
        assert_eq!(story.snapshot(14.5 + f64::from(turn)).progressed_at, before);
    }
}

#[test]
fn in_a_pane_only_lines_that_came_with_the_nudge_are_its_echo() {
    let mut story = Story::new();
    let mut shows = |lines: &[&str], seconds: f64| {
        let capture = Capture { size: (24, 80), text: lines.join("\n"), ..Capture::default() };
        let at = story.at(seconds);
        story.record.replace_screen(Emulator::from_capture(&capture), true, true, at);
        let Snapshot { progressed_at, recent_output, .. } = story.record.snapshot(true, HOUR, at);
        if seconds == 0.0 {
            story.types(10.0);
        }
        (progressed_at == Some(at), recent_output)
    };
    let (before, answer) = ("nothing to do with your task", "done with your task.");
    assert_eq!(shows(&[before], 0.0), (true, vec![before.to_owned()]));
    assert_eq!(shows(&[before, MESSAGE], 10.1), (false, vec![before.to_owned()]));
    let all = vec![before.to_owned(), answer.to_owned()];
    assert_eq!(shows(&[before, MESSAGE, answer], 14.0), (true, all));
}

#[test]
fn any_output_is_a_sign_of_life_again_after_three_seconds() {
    let mut story = Story::of_a_nudge();
    story.prints("working\r\n", 13.5);
    story.was(13.5, 0.0, 14.0);
}

#[test]
fn the_same_line_again_and_again_is_activity_and_no_progress() {
    let mut story = Story::new();
    story.prints("one\r\n", 0.0);
    story.was(0.0, 0.0, 0.5);
    story.prints(&"no\r\n".repeat(20), 1.0);
    story.snapshot(1.5);
    story.prints("no\r\n", 2.0);
    let progressed_at = story.snapshot(2.5).progressed_at;
    assert_eq!(progressed_at, Some(story.at(0.0)));
}

#[test]
fn a_redraw_after_a_resize_is_no_progress() {
    let mut story = Story::new();
    story.prints(&format!("{}\r\n", "many words ".repeat(12)), 0.0);
    story.was(0.0, 0.0, 1.0);
    let at = story.at(2.0);
    story.record.resized((24, 40), at);
    story.prints(&format!("\x1b[H\x1b[2J{}\r\n", "many words ".repeat(3)), 2.1);
    story.was(2.1, 0.0, 2.5);
    story.prints("something else\r\n", 8.0);
    story.was(8.0, 8.0, 8.5);
}

#[test]
fn a_person_who_types_makes_no_progress() {
    let mut story = Story::new();
    story.prints("> ", 0.0);
    story.snapshot(0.5);
    let at = story.at(1.0);
    story.record.keyed(b"x", at);
    story.prints("do as I say", 1.0);
    let snapshot = story.snapshot(1.5);
    assert_eq!((snapshot.active_at, snapshot.progressed_at), (Some(at), None));
}

#[test]
fn the_log_is_not_held_in_more_than_a_megabyte() {
    let mut story = Story::new();
    (0..3000).for_each(|n| story.prints(&format!("{n} {}\n", "x".repeat(1000)), 0.0));
    let lines = story.record.log.take();
    assert!((1_000..1_100).contains(&lines.len()), "{}", lines.len());
    assert!(lines.back().is_some_and(|line| line.starts_with("2999 ")));
}

/// Claude Code with this draft in its composer, and the cursor so many columns behind its mark.
fn composing(draft: &str, column: usize) -> Record {
    let mut record = Record { nudges: Nudges::Known, ..Record::default() };
    record.runs(in_raw_mode("claude"), (24, 80));
    record.output(screen_with(draft, column).as_bytes(), Instant::now());
    record.snapshot(true, HOUR, Instant::now());
    record
}

fn screen_with(draft: &str, column: usize) -> String {
    let rule = "─".repeat(80);
    format!("\x1b[H{rule}\r\n❯ {draft}\r\n{rule}\r\n  ? for shortcuts\x1b[2;{}H", column + 3)
}

#[test]
fn a_composer_is_empty_when_nothing_stands_in_it_but_a_hint() {
    for (draft, column, is_empty) in [
        ("", 0, true),
        ("\x1b[2mOnce fixed, resend your message\x1b[22m", 0, true),
        ("\x1b[7mO\x1b[27m\x1b[2mnce fixed\x1b[22m", 0, true),
        ("\x1b[7mx\x1b[27m", 0, false),
        ("█", 1, false),
        ("!", 1, false),
        ("/", 1, false),
        ("fix the login bug", 17, false),
        ("fix the login bug", 0, false),
    ] {
        assert_eq!(composing(draft, column).composer_is_empty, is_empty, "{draft:?} at {column}");
    }
}

#[test]
fn a_message_stands_in_the_composer_when_it_is_there_alone_and_whole() {
    for (draft, message, expected) in [
        ("(sweep) go on", "(sweep) go on", Draft::Message),
        ("(sweep) go", "(sweep) go on", Draft::Other),
        ("! (sweep) go on", "(sweep) go on", Draft::Other),
        ("...", "...", Draft::Message),
        ("", "...", Draft::Empty),
    ] {
        let found = composing(draft, draft.len()).draft(message, true, Instant::now());
        assert_eq!(found, expected, "{draft:?} for {message:?}");
    }
}

/// Output that is not read yet may hold a question by now.
#[test]
fn a_screen_whose_output_is_not_read_is_not_believed() {
    let mut record = composing("(sweep) go on", 13);
    record.is_passing = true;
    assert_eq!(record.draft("(sweep) go on", true, Instant::now()), Draft::Unread);
    assert!(record.is_drawing(Instant::now() + Duration::from_secs(9)));
    record.is_passing = false;
    assert_eq!(record.draft("(sweep) go on", true, Instant::now()), Draft::Message, "negative control");
    assert_eq!(record.draft("(sweep) go on", false, Instant::now()), Draft::NoComposer, "somebody else reads");
}

/// Claude Code's menu, which it paints for ever by its own account.
#[test]
fn a_question_in_a_picture_that_never_ends_is_seen() {
    let (mut record, began) = (composing("", 0), Instant::now());
    let menu = "\x1b[?2026h\x1b[H\x1b[2J Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n\r\n Esc to cancel";
    record.output(menu.as_bytes(), began);
    let mut activity = |millis: u64| {
        let now = began + Duration::from_millis(millis);
        record.output(b"\x1b[?2026h", now);
        record.snapshot(true, HOUR, now).activity.map(|known| known.statement.activity)
    };
    assert_eq!(activity(200), Some(Activity::Idle), "the picture may still be completed");
    assert_eq!(activity(600), Some(Activity::Waiting));
}

/// What a smaller window has cut off is a question still; an agent that is at work draws nothing anew.
#[test]
fn what_a_resize_leaves_on_the_screen_is_no_idle_composer() {
    let activity = |record: &mut Record, now| record.snapshot(true, HOUR, now).activity.map(|it| it.statement.activity);
    let below = "\x1b[12;1H  Delete the branch (y/n)?\x1b[2;3H";
    for (below, expected) in [(below, Some(Activity::Waiting)), ("", None)] {
        let (mut record, began) = (composing("", 0), Instant::now());
        let after = |seconds| began + Duration::from_secs(seconds);
        record.output(below.as_bytes(), began);
        if !below.is_empty() {
            assert_eq!(activity(&mut record, began), Some(Activity::Waiting));
        }
        record.resized((8, 80), after(1));
        assert_eq!(activity(&mut record, after(60)), expected);
        record.output(b"\x1b]0;Claude\x07\x1b[2;3H", after(61));
        assert_eq!(activity(&mut record, after(62)), expected, "a title and a cursor are no composer");
        record.output(screen_with("", 0).as_bytes(), after(63));
        assert_eq!(activity(&mut record, after(64)), Some(Activity::Idle), "it has drawn its composer");
    }
}

/// Claude Code, whose title says that it is idle while it asks.
#[test]
fn a_question_for_which_a_window_is_too_small_is_asked_until_the_window_could_show_it() {
    let (mut record, began) = (composing("", 0), Instant::now());
    let mut asked = |draws: &str, rows, seconds| {
        let at = began + Duration::from_secs(seconds);
        record.resized((rows, 80), at);
        record.output(format!("\x1b[?1049h\x1b[2J\x1b[H{draws}").as_bytes(), at + Duration::from_millis(100));
        let mut snapshot = |after| record.snapshot(true, HOUR, at + Duration::from_secs(after)).activity;
        snapshot(1);
        snapshot(10).filter(|known| known.statement.activity == Activity::Waiting).map(|known| known.since)
    };
    let menu = " Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n\r\n Esc to cancel\x1b]0;✳ Claude Code\x07";
    let first = asked(menu, 24, 0).expect("a question");
    assert_eq!(asked("   2. No\r\n\r\n Esc to", 3, 20), Some(first));
    assert_eq!(asked(menu, 24, 40), Some(first), "it is the same question");
    assert_eq!(asked("│ 3. No (Esc to stop)", 3, 60), Some(first));
    assert!(asked("Delete it? (y/n)", 3, 80) > Some(first), "it is another question");
    assert_eq!(asked(" Working on it", 24, 100), None, "it is answered");
}

/// tmux itself wraps and moves what stands in a pane; the title is the agent's word alone.
#[test]
fn a_pane_that_was_made_smaller_is_idle_when_its_text_has_changed() {
    let (mut record, began) = (composing("", 0), Instant::now());
    let rule = "─".repeat(80);
    let text = format!("{rule}\n❯ \n{rule}\n  ? for shortcuts");
    let capture = Capture { size: (8, 80), cursor: (1, 2), has_cursor: true, text, ..Capture::default() };
    record.resized(capture.size, began);
    let mut activity = |has_other_text, seconds| {
        let now = began + Duration::from_secs(seconds);
        record.replace_screen(Emulator::from_capture(&capture), true, has_other_text, now);
        record.snapshot(true, HOUR, now).activity.map(|it| it.statement.activity)
    };
    assert_eq!(activity(false, 60), None);
    assert_eq!(activity(true, 70), Some(Activity::Idle));
}
