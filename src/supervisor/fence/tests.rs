//! Messages into programs that show something else meanwhile.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use super::*;
use crate::supervisor::probe::TerminalProbe;
use crate::supervisor::probe::tests::in_raw_mode;
use crate::supervisor::record::Nudges;

/// Claude Code, which shows what was typed at the first look after it, and another screen from then on.
struct Claude {
    record: SharedRecord,
    later: String,
    keys: String,
    looks_after_keys: u32,
}

impl TypingTarget for Claude {
    fn press(&mut self, keys: &str) -> bool {
        self.keys += keys;
        self.looks_after_keys = 0;
        true
    }

    fn paste(&mut self, text: &str) -> bool {
        assert_ne!(text, "", "Claude Code would look for a picture on the clipboard");
        self.press(text)
    }

    fn types_alone(&self) -> bool {
        true
    }

    fn refresh(&mut self) -> bool {
        if !self.keys.is_empty() {
            self.looks_after_keys += 1;
            let screen = if self.looks_after_keys == 1 { composer(&self.keys) } else { self.later.clone() };
            self.record.lock().output(screen.as_bytes(), Instant::now());
        }
        true
    }
}

fn composer(draft: &str) -> String {
    let rule = "─".repeat(80);
    let column = draft.len() + 3;
    format!("\x1b[H\x1b[2J{rule}\r\n❯ {draft}\r\n{rule}\r\n  ? for shortcuts\x1b[2;{column}H")
}

/// Whether a message is sent to an agent that shows this after the message stood in its composer; and the keys.
fn sent_beside(message: &str, later: &str) -> (bool, String) {
    let record = SharedRecord::new(Nudges::Known);
    record.lock().runs(in_raw_mode("claude"), (24, 80));
    let a_while_ago = Instant::now().checked_sub(Duration::from_secs(5)).expect("an instant");
    record.lock().output(composer("").as_bytes(), a_while_ago);
    let mut claude =
        Claude { record: record.clone(), later: later.to_owned(), keys: String::new(), looks_after_keys: 0 };
    (deliver(&mut claude, &record, message).is_ok(), claude.keys)
}

#[test]
fn a_question_that_comes_up_before_the_return_key_is_not_answered() {
    let menu = "\x1b[H\x1b[2J Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n\r\n Esc to cancel";
    assert_eq!(sent_beside("go on", menu), (false, "(sweep) go on".to_owned()));
    let control = sent_beside("go on", &composer("(sweep) go on"));
    assert_eq!(control, (true, "(sweep) go on\r".to_owned()));
}

#[test]
fn what_comes_up_below_a_message_is_not_answered() {
    for below in ["  Enter deletes the branch", "  ? for shortcuts · Delete it? (y/n)"] {
        let shown = format!("{}\x1b[4;1H{below}\x1b[2;16H", composer("(sweep) go on"));
        assert!(!sent_beside("go on", &shown).0, "{below}");
    }
    let below_command =
        |row: &str| sent_beside("/compact", &format!("{}\x1b[4;1H  {row}\x1b[2;11H", composer("/compact"))).0;
    assert!(below_command("/compact   Clear the history"), "an agent says what a command of its own could be");
    assert!(!below_command("Enter deletes the branch") && !below_command("/compact the history? (y/n)"));
}

#[test]
fn no_message_is_sent_beside_a_picture_that_is_not_complete() {
    let (begun, done) = ("\x1b[?2026h", "\x1b[?2026l");
    let composer = composer("(sweep) go on");
    assert!(!sent_beside("go on", &format!("{composer}{begun}")).0);
    assert!(sent_beside("go on", &format!("{begun}{composer}{done}")).0, "negative control");
}

/// A program that the operator vouches for, and that reads lines as its terminal keeps them: the prompt vanishes when
/// a part of the message was pasted.
struct Prompt {
    record: SharedRecord,
    terminal: Box<dyn Write + Send>,
    shown: String,
    is_gone: bool,
}

impl TypingTarget for Prompt {
    fn press(&mut self, keys: &str) -> bool {
        self.shown += keys;
        self.terminal.write_all(keys.as_bytes()).is_ok()
    }

    fn paste(&mut self, text: &str) -> bool {
        let is_typed = self.press(text);
        self.is_gone = true;
        is_typed
    }

    fn types_alone(&self) -> bool {
        true
    }

    fn refresh(&mut self) -> bool {
        let screen = if self.is_gone { String::new() } else { format!("> {}", self.shown) };
        self.record.lock().output(format!("\x1b[H\x1b[2J{screen}").as_bytes(), Instant::now());
        true
    }
}

/// What was typed would be read by the next question, which a program of the same terminal asks.
#[test]
fn a_line_that_the_terminal_keeps_is_discarded_when_its_prompt_vanishes() {
    let pair = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default()).expect("a terminal");
    let path = pair.master.tty_name().expect("a terminal");
    let mut reader = BufReader::new(File::open(&path).expect("a terminal"));
    let record = SharedRecord::new(Nudges::Idle);
    record.lock().runs(TerminalProbe { terminal: Some(path), command: vec!["chat".into()], process: None }, (24, 80));
    let a_while_ago = Instant::now().checked_sub(Duration::from_secs(5)).expect("an instant");
    record.lock().output(b"> ", a_while_ago);
    let terminal = pair.master.take_writer().expect("a terminal");
    let mut prompt = Prompt { record: record.clone(), terminal, shown: String::new(), is_gone: false };

    let began = Instant::now();
    let refused = type_and_send(&mut prompt, &record, "(sweep) yes").expect_err("no prompt");

    assert!(refused.contains("showed something else meanwhile"), "{refused}");
    assert!(began.elapsed() < SHOWING_LASTS, "at once");
    prompt.press("n\n");
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    assert_eq!(line, "n\n");
}

#[test]
fn no_empty_text_is_pasted() {
    assert_eq!(sent_beside("(", &composer("(")), (true, "(\r".to_owned()));
}
