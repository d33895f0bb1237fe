//! How a run ends, and errors that know how they end one.

use std::fmt::{Display, Formatter, Result};

use strum::VariantArray;

/// How a run ends; the later ones need somebody more. The numbers are those that the program exits with and that
/// `sweeps.exit_code` records: of sysexits.h where it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::FromRepr, strum::VariantArray)]
#[repr(u8)]
pub enum Conclusion {
    /// Done, or nothing to do.
    #[default]
    Done = 0,
    /// Something was (in a dry run: would be) done, and that was asked for.
    Changed = 2,
    /// Everything that was left was busy.
    Busy = 75,
    /// The guard left a kind as it was.
    Guarded = 4,
    /// Some subjects failed, or what became of them is unknown.
    SomeFailed = 1,
    /// The database cannot be reached or used now.
    Unavailable = 69,
    /// Wrong arguments.
    Usage = 64,
    /// Wrong settings, rights or schema: trying again does not help.
    Config = 78,
    /// The command to watch was not found, as shells say it.
    NotFound = 127,
    /// Ended by SIGINT, after what was in hand.
    Interrupted = 130,
    /// Ended by SIGTERM, after what was in hand.
    Terminated = 143,
}

impl Conclusion {
    /// The one with this number, if there is one.
    pub fn of(code: i32) -> Option<Conclusion> {
        u8::try_from(code).ok().and_then(Conclusion::from_repr)
    }

    /// Was it asked to end by a signal?
    pub fn is_interruption(self) -> bool {
        matches!(self, Conclusion::Interrupted | Conclusion::Terminated)
    }

    /// How several runs end that ended so: as the one that most needs somebody.
    pub fn gravest(conclusions: impl Iterator<Item = Conclusion>) -> Conclusion {
        let gravity = |of: &Conclusion| Conclusion::VARIANTS.iter().position(|conclusion| conclusion == of);
        conclusions.max_by_key(gravity).unwrap_or(Conclusion::Done)
    }

    /// Did a sweep that ended so do all that it had to?
    pub fn is_success(self) -> bool {
        matches!(self, Conclusion::Done | Conclusion::Changed)
    }
}

/// An error that decides how the run ends, as the outermost context of an `anyhow` error.
#[derive(Debug)]
pub struct Failure {
    pub conclusion: Conclusion,
    message: String,
}

impl Failure {
    pub fn new(conclusion: Conclusion, message: String) -> Failure {
        Failure { conclusion, message }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

pub fn some_failed(message: impl Into<String>) -> Failure {
    Failure { conclusion: Conclusion::SomeFailed, message: message.into() }
}

pub fn usage(message: impl Into<String>) -> Failure {
    Failure { conclusion: Conclusion::Usage, message: message.into() }
}

pub fn unavailable(message: impl Into<String>) -> Failure {
    Failure { conclusion: Conclusion::Unavailable, message: message.into() }
}

pub fn busy(message: impl Into<String>) -> Failure {
    Failure { conclusion: Conclusion::Busy, message: message.into() }
}

pub fn config(message: impl Into<String>) -> Failure {
    Failure { conclusion: Conclusion::Config, message: message.into() }
}

pub fn not_found(message: impl Into<String>) -> Failure {
    Failure { conclusion: Conclusion::NotFound, message: message.into() }
}

/// How an error ends a run; one that nobody has classified comes from the database.
pub fn conclusion_of(error: &anyhow::Error) -> Conclusion {
    error.downcast_ref::<Failure>().map_or(Conclusion::Unavailable, |failure| failure.conclusion)
}
