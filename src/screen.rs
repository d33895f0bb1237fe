//! What stands on an agent's screen, and what the agent says of itself: is it at work, idle at its prompt, or does it wait for
//! a person?
//!
//! Pure: bytes or rows go in, a `Statement` comes out. What the rules are stands in `agents/*.toml`, one file for each agent
//! and one for all programs; what they do not know is *unknown*, and then nothing is typed.

mod agent;
mod emulator;
pub mod event;
mod look;
mod motion;
mod pattern;
mod resumes;
mod rule;
mod signal;
mod statement;
mod states;

pub use agent::{Agent, Agents, seen};
pub use emulator::{Capture, Emulator};
pub use look::{LineMode, Look};
pub use motion::Motion;
pub use resumes::resumes_at;
pub use signal::Signal;
pub use statement::{Evidence, Source, Statement};
pub use states::{Known, States};

#[cfg(test)]
mod tests;
