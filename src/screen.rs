//! Reads from an agent's screen and its own reports whether it is at work, idle at its prompt, or waiting for a person.
//!
//! This is pure: bytes or rows go in, a `Statement` comes out. The rules are in `agents/*.toml`, one file for each
//! agent and one for all programs. A screen that no rule knows is *unknown*, and then nothing is typed.

mod agent;
mod emulator;
mod motion;
pub mod report;
mod rule;
mod statement;

pub use agent::{Agent, Agents, condensed, is_runner};
pub use emulator::{Capture, Emulator, LineMode, Look};
pub use motion::Motion;
pub use report::{HookEvent, Signal, VARIABLE, parse_osc, shortened};
pub(crate) use rule::{Pattern, Rule, ScreenText, plain, question_of};
pub use statement::{ActivityTracker, KnownActivity, Statement, StatementSource, resumes_at};

#[cfg(test)]
mod tests;
