//! The flags of the commands by which a person has something done with one subject.

use clap::{Args, Subcommand};

use super::subjects::LayoutFlag;
use crate::parse;
use crate::rules::request::Request;
use crate::settings::flags::DatabaseFlag;

#[derive(Debug, Subcommand)]
pub enum AskCommand {
    /// Have the agent of an issue or a plan step go on with it now
    Wake(WakeFlags),
    /// Have a message typed into a session now
    Nudge(NudgeFlags),
    /// Have the process of a session started again
    Relaunch(SessionFlags),
    /// Note a sign of life of a session
    Heartbeat(SessionFlags),
    /// Have nobody disturb a session
    Pause(SessionFlags),
    /// End the pause of a session
    Resume(SessionFlags),
    /// Give up a plan step that is in progress
    FailStep(StepFlags),
    /// Leave out a plan step
    SkipStep(StepFlags),
}

/// What is asked for, and by whom.
#[derive(Debug)]
pub struct Wish {
    pub request: Request,
    /// Of the subject.
    pub name: String,
    pub message: Option<String>,
    pub flags: AskFlags,
}

impl AskCommand {
    pub fn flags(&mut self) -> &mut AskFlags {
        match self {
            AskCommand::Wake(WakeFlags { ask, .. })
            | AskCommand::Nudge(NudgeFlags { session: SessionFlags { ask, .. }, .. })
            | AskCommand::Relaunch(SessionFlags { ask, .. })
            | AskCommand::Heartbeat(SessionFlags { ask, .. })
            | AskCommand::Pause(SessionFlags { ask, .. })
            | AskCommand::Resume(SessionFlags { ask, .. })
            | AskCommand::FailStep(StepFlags { ask, .. })
            | AskCommand::SkipStep(StepFlags { ask, .. }) => ask,
        }
    }

    pub fn wish(self) -> Wish {
        let wish = |request, name, flags| Wish { request, name, message: None, flags };
        let of_session = |request, SessionFlags { session, ask }| wish(request, session, ask);
        let of_step = |request, StepFlags { step, ask }| wish(request, step, ask);
        match self {
            AskCommand::Wake(WakeFlags { issue_or_step, ask }) => wish(Request::Wake, issue_or_step, ask),
            AskCommand::Nudge(NudgeFlags { session, message }) => {
                Wish { message, ..of_session(Request::Nudge, session) }
            }
            AskCommand::Relaunch(session) => of_session(Request::Relaunch, session),
            AskCommand::Heartbeat(session) => of_session(Request::Heartbeat, session),
            AskCommand::Pause(session) => of_session(Request::Pause, session),
            AskCommand::Resume(session) => of_session(Request::Resume, session),
            AskCommand::FailStep(step) => of_step(Request::FailStep, step),
            AskCommand::SkipStep(step) => of_step(Request::SkipStep, step),
        }
    }
}

#[derive(Debug, Args)]
pub struct AskFlags {
    /// Who asks, as the ledger is to name him [default: your login]
    #[arg(long = "as", value_name = "NAME", value_parser = parse::person, allow_hyphen_values = true)]
    pub by: Option<String>,
    #[command(flatten)]
    pub database: DatabaseFlag,
    #[command(flatten)]
    pub layout: LayoutFlag,
}

#[derive(Debug, Args)]
pub struct WakeFlags {
    /// An issue or a plan step: its id, or what people call it: ACM-12, 'Release 2.4 #2'
    #[arg(value_name = "ISSUE|STEP", value_parser = parse::non_empty)]
    pub issue_or_step: String,
    #[command(flatten)]
    pub ask: AskFlags,
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
    pub ask: AskFlags,
}

#[derive(Debug, Args)]
pub struct StepFlags {
    /// A plan step: its id, or its plan and position, such as 'Release 2.4 #2'
    #[arg(value_name = "STEP", value_parser = parse::non_empty)]
    pub step: String,
    #[command(flatten)]
    pub ask: AskFlags,
}
