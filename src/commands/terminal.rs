//! What the commands print for people, and what they ask them.

use std::io::{IsTerminal, Write, stderr, stdin};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use owo_colors::OwoColorize;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::{Value, json};

use crate::report::grid::ROWS_MAX;
use crate::report::page;
use crate::sweep::Cancel;

/// How soon Ctrl-C is noticed.
const MOMENT: Duration = Duration::from_millis(50);

/// True if there is somebody to ask.
pub fn is_interactive() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Asks on stderr, where what it is about was shown.
pub fn is_confirmed(question: &str, cancel: &Cancel) -> bool {
    prompt(&format!("\n{} Type yes to go on: ", question.bold()));
    let answer = answer(cancel);
    if !matches!(answer.as_deref(), Some(text) if text.ends_with('\n')) {
        prompt("\n");
    }
    matches!(answer.map(|answer| answer.trim().to_lowercase()).as_deref(), Some("yes" | "y"))
}

/// Asks on stderr for a line. None: a signal came first, or there is no more to read.
pub fn ask(question: &str, cancel: &Cancel) -> Option<String> {
    prompt(&format!("\n{question}"));
    answer(cancel)
}

/// Asks for a line that is not shown while somebody types it.
pub fn ask_unseen(question: &str, cancel: &Cancel) -> Option<String> {
    let shown = tcgetattr(stdin()).ok();
    if let Some(mut unseen) = shown.clone() {
        unseen.local_modes.remove(LocalModes::ECHO);
        let _ = tcsetattr(stdin(), OptionalActions::Flush, &unseen);
    }
    let answer = ask(question, cancel);
    if let Some(shown) = shown {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &shown);
    }
    prompt("\n");
    answer
}

/// Reads a line of stdin. None: a signal came first, or there is no more to read.
fn answer(cancel: &Cancel) -> Option<String> {
    let (line, read) = channel();
    thread::spawn(move || {
        let mut text = String::new();
        let is_read = stdin().read_line(&mut text).is_ok_and(|bytes| 0 < bytes);
        line.send(is_read.then_some(text))
    });
    loop {
        match read.recv_timeout(MOMENT) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) if !cancel.is_set() => {}
            Err(_) => return None,
        }
    }
}

/// Prints on stderr.
pub fn prompt(text: &str) {
    let mut to = anstream::stderr();
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}

/// How something that is no report of a sweep is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// For people.
    Table,
    /// For people who do not want to hear what was done.
    Quiet,
    /// One document.
    Json,
}

impl Layout {
    /// Prints one document, in one of its two forms.
    pub fn print(self, table: impl FnOnce() -> String, document: impl FnOnce() -> Value) {
        match self {
            Layout::Table | Layout::Quiet => print_wrapped(&table()),
            Layout::Json => say(&format!("{:#}\n", document())),
        }
    }

    /// Prints a list, `named` so in JSON, and how many `more` there are; of a long one people see the beginning.
    pub fn print_list<T>(
        self,
        named: &str,
        (rows, more): (&[T], i64),
        json: impl Fn(&T) -> Value,
        table: impl Fn(&[T]) -> String,
    ) {
        let document = || {
            let mut list = json!({ "schema": 1, named: rows.iter().map(json).collect::<Vec<_>>() });
            if 0 < more {
                list["more"] = more.into();
            }
            list
        };
        self.print(|| table(&rows[..rows.len().min(ROWS_MAX)]), document);
        if self != Layout::Json && ROWS_MAX < rows.len() {
            let left_out = (rows.len() - ROWS_MAX) as i64 + more;
            let shown = if more == 0 { "all".to_owned() } else { format!("{} of all", rows.len()) };
            say(&format!("  … and {left_out} more: --output json shows {shown}\n"));
        }
    }

    /// Confirms what was done to people who want to hear it.
    pub fn confirm(self, text: &str) {
        if self == Layout::Table {
            print_wrapped(text);
        }
    }

    /// Confirms what a command has done: in JSON by the names of all that it was done to.
    pub fn confirm_done(self, text: &str, command: &str, done: &[String]) {
        match self {
            Layout::Table | Layout::Quiet => self.confirm(text),
            Layout::Json => say_done(command, done, &[]),
        }
    }
}

/// Prints for programs what was done, and what could not be.
pub fn say_done(command: &str, done: &[String], failed: &[(String, String)]) {
    let failed: Vec<Value> = failed.iter().map(|(name, error)| json!({ "name": name, "error": error })).collect();
    say(&format!("{:#}\n", json!({ "schema": 1, "command": command, "done": done, "failed": failed })));
}

/// Prints what people read: on a terminal it is wrapped at its words.
pub fn print_wrapped(text: &str) {
    say(&page::wrapped(text));
}

/// Prints what sweep wrote itself, or what `text::redact` let pass; a reader that has gone (`| head -1`) is no error.
pub fn say(text: &str) {
    let _ = anstream::stdout().write_all(text.as_bytes());
}
