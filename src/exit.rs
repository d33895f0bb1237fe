//! Exit codes, and errors that know theirs.

use std::fmt::{Display, Formatter, Result};

/// Why the program ends; the numbers are sysexits.h where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or nothing to do.
    Done = 0,
    /// Some subjects failed, or what became of them is unknown.
    SomeFailed = 1,
    /// Only with `--detailed-exitcode`: something was (in a dry run: would be) done.
    Changed = 2,
    /// The guard left a kind as it was.
    Guarded = 4,
    /// Wrong arguments.
    Usage = 64,
    /// The database cannot be reached or used now.
    Unavailable = 69,
    /// Everything that was left was busy.
    Busy = 75,
    /// Wrong settings, rights or schema: trying again does not help.
    Config = 78,
    /// The command to watch was not found, as shells say it.
    NotFound = 127,
    /// Ended by SIGINT, after what was in hand.
    Interrupted = 130,
    /// Ended by SIGTERM, after what was in hand.
    Terminated = 143,
}

impl Exit {
    /// Did a sweep that ended with this code do all that it had to?
    pub fn is_success(code: i32) -> bool {
        [Exit::Done, Exit::Changed].iter().any(|exit| *exit as i32 == code)
    }
}

/// An error with an exit code. As the outermost context of an `anyhow` error it decides how the program ends.
#[derive(Debug)]
pub struct Refusal {
    pub exit: Exit,
    message: String,
}

impl Refusal {
    pub fn new(exit: Exit, message: String) -> Refusal {
        Refusal { exit, message }
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

pub fn some_failed(message: impl Into<String>) -> Refusal {
    Refusal { exit: Exit::SomeFailed, message: message.into() }
}

pub fn usage(message: impl Into<String>) -> Refusal {
    Refusal { exit: Exit::Usage, message: message.into() }
}

pub fn unavailable(message: impl Into<String>) -> Refusal {
    Refusal { exit: Exit::Unavailable, message: message.into() }
}

pub fn busy(message: impl Into<String>) -> Refusal {
    Refusal { exit: Exit::Busy, message: message.into() }
}

pub fn config(message: impl Into<String>) -> Refusal {
    Refusal { exit: Exit::Config, message: message.into() }
}

pub fn not_found(message: impl Into<String>) -> Refusal {
    Refusal { exit: Exit::NotFound, message: message.into() }
}

/// The exit code of an error; one that nobody has classified comes from the database.
pub fn code_of(error: &anyhow::Error) -> Exit {
    error.downcast_ref::<Refusal>().map_or(Exit::Unavailable, |refusal| refusal.exit)
}
