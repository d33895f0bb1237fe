//! At a terminal: what would be done is shown, and done when the answer is yes. What is then done is what was shown: each subject
//! only if a fresh decision about it is the same.

use std::io::{Write, stdin};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use owo_colors::OwoColorize;

use crate::exit::Exit;
use crate::report::plan::Plan;
use crate::settings::{Selection, Settings};
use crate::sweep::{self, signals::Stop};
use crate::unattended;

/// How soon Ctrl-C is noticed.
const MOMENT: Duration = Duration::from_millis(50);

pub fn run(settings: &Settings, stop: &Stop) -> Result<Exit> {
    let (shown, plan) = sweep::plan(settings, stop, &mut anstream::stderr())?;
    if stop.is_set() || plan.order.is_empty() {
        return Ok(shown.exit);
    }
    match is_wanted(&plan, stop) {
        true => {
            let settings = Settings { selection: Selection::Plan(Box::new(plan)), ..settings.clone() };
            let done = unattended::sweep(&settings, stop, &mut anstream::stdout())?;
            Ok(both(shown.exit, done.exit))
        }
        false => {
            ask("Nothing was written.\n");
            Ok(stop.exit().unwrap_or(Exit::SomeFailed))
        }
    }
}

/// What was left by the guard, or could not be read, is no part of a plan: that it was so is still to be told.
fn both(shown: Exit, done: Exit) -> Exit {
    match (shown, done) {
        (Exit::Guarded | Exit::SomeFailed, Exit::Done | Exit::Changed) => shown,
        (_, done) => done,
    }
}

fn is_wanted(plan: &Plan, stop: &Stop) -> bool {
    let subjects = match plan.order.len() {
        1 => "1 subject".to_owned(),
        n => format!("{n} subjects"),
    };
    ask(&format!("\n{} Type yes to go on: ", format!("Do this, for {subjects}?").bold()));
    let answer = answer(stop);
    if !matches!(answer.as_deref(), Some(text) if text.ends_with('\n')) {
        ask("\n");
    }
    matches!(answer.map(|answer| answer.trim().to_lowercase()).as_deref(), Some("yes" | "y"))
}

/// A line of stdin. None: a signal came first, or there is no more to read.
fn answer(stop: &Stop) -> Option<String> {
    let (line, read) = channel();
    thread::spawn(move || {
        let mut text = String::new();
        let is_read = stdin().read_line(&mut text).is_ok_and(|bytes| 0 < bytes);
        line.send(is_read.then_some(text))
    });
    loop {
        match read.recv_timeout(MOMENT) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) if !stop.is_set() => {}
            Err(_) => return None,
        }
    }
}

/// On stderr, where the plan was shown.
fn ask(text: &str) {
    let mut to = anstream::stderr();
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
