//! How a session's process ended, in words.

use std::fmt::Display;
use std::ops::RangeInclusive;

use chrono::{DateTime, Utc};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    pub at: DateTime<Utc>,
    /// 128 and more: `sweep watch`, like a shell, adds 128 to a signal. Null: by a signal, or nobody saw it.
    pub exit_code: Option<i32>,
}

impl Ended {
    pub(in crate::rules) const UNSEEN: &str = "by a signal, or unseen";

    /// The exit codes after signals 1 to 64.
    const OF_SIGNALS: RangeInclusive<i32> = 129..=192;

    pub(in crate::rules) fn with_exit_code(code: impl Display) -> String {
        format!("with exit code {code}")
    }

    /// Also the view `session_details` says this.
    pub(in crate::rules) fn describe(&self) -> String {
        match self.exit_code {
            None => Ended::UNSEEN.to_owned(),
            Some(code) if Ended::OF_SIGNALS.contains(&code) => {
                Ended::with_exit_code(format!("{code} (signal {})", code - 128))
            }
            Some(code) => Ended::with_exit_code(code),
        }
    }

    /// The crash, as a sentence.
    pub(in crate::rules) fn crash(how: &str) -> String {
        format!("it crashed {how}")
    }
}
