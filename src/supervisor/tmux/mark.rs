//! A mark in tmux's status line, at the window of a session that needs a person.
//!
//! It stands before the operator's own format of the window's name, and no word of the agent's is part of it: tmux runs
//! what stands in `#(…)`.

use std::sync::{Mutex, PoisonError};

use super::client::{Client, escaped};

const FORMATS: [&str; 2] = ["window-status-format", "window-status-current-format"];

const MARK: &str = "⚠ ";

pub struct WindowMark {
    client: Client,
    pane: String,
    /// The window's formats before the mark was set; None for a format that it had from the global options.
    before: Mutex<Option<[Option<String>; 2]>>,
}

impl WindowMark {
    pub fn new(client: Client, pane: String) -> WindowMark {
        WindowMark { client, pane, before: Mutex::new(None) }
    }

    pub fn set(&self, is_on: bool) {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        match (is_on, before.take()) {
            // Another watcher has marked the same window.
            (true, None) if self.of_window(FORMATS[0]).is_some_and(|format| format.starts_with(MARK)) => {}
            (true, None) => {
                *before = Some(FORMATS.map(|format| self.of_window(format)));
                for format in FORMATS {
                    let Some(shown) = self.ask(&["show-options", "-A", "-w", "-v"], format) else { continue };
                    self.set_option(format, &format!("{MARK}{shown}"));
                }
            }
            (false, Some(formats)) => {
                for (format, before) in FORMATS.iter().zip(formats) {
                    match before {
                        Some(before) => self.set_option(format, &before),
                        None => self.client.ask(&["set-option", "-w", "-u", "-t", &self.pane, format]),
                    };
                }
            }
            (_, unchanged) => *before = unchanged,
        }
    }

    fn set_option(&self, format: &str, value: &str) -> Option<String> {
        self.client.ask(&["set-option", "-w", "-t", &self.pane, format, &escaped(value)])
    }

    fn of_window(&self, format: &str) -> Option<String> {
        self.ask(&["show-options", "-w", "-v"], format).filter(|value| !value.is_empty())
    }

    fn ask(&self, command: &[&str], format: &str) -> Option<String> {
        let answer = self.client.ask(&[command, &["-t", &self.pane, format]].concat())?;
        Some(answer.trim_end_matches('\n').to_owned())
    }
}

impl Drop for WindowMark {
    fn drop(&mut self) {
        self.set(false);
    }
}
