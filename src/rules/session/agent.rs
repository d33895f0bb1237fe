//! What a session's agent is doing, as its supervisor sees it, and how its process ended.

use std::fmt::Display;
use std::ops::RangeInclusive;

use chrono::{DateTime, Utc};
use serde::Deserialize;

/// What a session's agent is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentState {
    pub activity: Activity,
    /// What it waits for, or has run out of: `permission`, `quota`, …
    pub kind: Option<String>,
    /// The words with which it asks.
    pub question: String,
    pub since: DateTime<Utc>,
    /// How that is known: by which rule, on which lines.
    pub evidence: String,
}

/// What an agent does, in one word.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Deserialize, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Activity {
    Working,
    /// The agent is at its prompt, which is empty.
    Idle,
    /// It waits for a person.
    Waiting,
    /// It has no context or no quota left.
    Exhausted,
}

impl Activity {
    pub const ALL: &[Activity] = <Activity as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn parse(name: &str) -> Option<Activity> {
        name.parse().ok()
    }

    /// True if the agent cannot go on without a person.
    pub fn needs_person(self) -> bool {
        matches!(self, Activity::Waiting | Activity::Exhausted)
    }
}

/// What an agent does, as the rest of a sentence that begins with its name.
pub fn phrase(activity: Activity, kind: Option<&str>) -> &'static str {
    match (activity, kind) {
        (Activity::Working, _) => "is at work",
        (Activity::Idle, _) => "is idle at its prompt",
        (Activity::Waiting, Some("permission")) => "asks for permission",
        (Activity::Waiting, Some("trust")) => "asks whether to trust the folder",
        (Activity::Waiting, Some("login")) => "asks for a login",
        (Activity::Waiting, Some("password")) => "asks for a password",
        (Activity::Waiting, Some("confirmation")) => "asks for a yes or no",
        (Activity::Waiting, Some("choice")) => "asks for a choice",
        (Activity::Waiting, Some("enter")) => "waits for a key",
        (Activity::Waiting, Some("question")) => "asks a question",
        (Activity::Waiting, _) => "waits for a person",
        (Activity::Exhausted, Some("context")) => "says that its context is full",
        (Activity::Exhausted, Some("quota")) => "says that its quota is used up",
        (Activity::Exhausted, _) => "says that it cannot go on",
    }
}

impl AgentState {
    pub fn phrase(&self) -> &'static str {
        phrase(self.activity, self.kind.as_deref())
    }

    /// The phrase, and the question behind it.
    pub fn describe(&self) -> String {
        match self.question.as_str() {
            "" => self.phrase().to_owned(),
            question => format!("{}: “{question}”", self.phrase()),
        }
    }
}

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

    /// How the process ended, in words. The view `session_details` says this, too.
    pub(in crate::rules) fn describe(&self) -> String {
        match self.exit_code {
            None => Ended::UNSEEN.to_owned(),
            Some(code) if Ended::OF_SIGNALS.contains(&code) => {
                Ended::with_exit_code(format!("{code} (signal {})", code - 128))
            }
            Some(code) => Ended::with_exit_code(code),
        }
    }

    /// A crash, as a sentence; `how` is what `describe` says.
    pub(in crate::rules) fn crash(how: &str) -> String {
        format!("it crashed {how}")
    }
}
