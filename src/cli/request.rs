//! The flags of the commands by which a person has something done with one subject.

use clap::{Args, Subcommand};

use crate::parse;

#[derive(Debug, Args)]
pub struct WakeFlags {
    /// An issue or a plan step: its id, or what people call it: ACM-12, 'Release 2.4 #2'
    #[arg(value_name = "ISSUE|STEP", value_parser = parse::non_empty)]
    pub issue_or_step: String,
    #[command(flatten)]
    pub asker: AskerFlag,
}

#[derive(Debug, Args)]
pub struct AskerFlag {
    /// The name that the ledger records for who asks [default: your login]
    #[arg(long = "as", value_name = "NAME", value_parser = parse::person, allow_hyphen_values = true)]
    pub name: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// Have a message typed into a session now
    Nudge(NudgeFlags),
    /// Have the process of a session started again
    Relaunch(SessionFlags),
    /// Have nobody disturb a session
    Pause(SessionFlags),
    /// End the pause of a session
    Resume(SessionFlags),
    /// Note a sign of life of a session
    Heartbeat(SessionFlags),
}

#[derive(Debug, Args)]
pub struct NudgeFlags {
    #[command(flatten)]
    pub session: SessionFlags,
    /// What is typed into it [default: SWEEP_NUDGE_MESSAGE, else as sweeps do]
    #[arg(long, value_name = "TEXT", value_parser = parse::message, allow_hyphen_values = true)]
    pub message: Option<String>,
}

#[derive(Debug, Args)]
pub struct SessionFlags {
    /// A session: its id, or what people call it
    #[arg(value_name = "SESSION", value_parser = parse::non_empty)]
    pub session: String,
    #[command(flatten)]
    pub asker: AskerFlag,
}

#[derive(Debug, Subcommand)]
pub enum StepCommand {
    /// Leave out a plan step
    Skip(StepFlags),
    /// Give up a plan step that is in progress
    Fail(StepFlags),
}

#[derive(Debug, Args)]
pub struct StepFlags {
    /// A plan step: its id, or its plan and position, such as 'Release 2.4 #2'
    #[arg(value_name = "STEP", value_parser = parse::non_empty)]
    pub step: String,
    #[command(flatten)]
    pub asker: AskerFlag,
}
