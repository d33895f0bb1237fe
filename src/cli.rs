//! The command line: what may stand there, what `--help` says of it, and what is said of a mistake.

mod command_line;
mod help;
mod read;
mod setup;

pub use command_line::{
    AskerFlag, AttentionFlags, Cli, Command, CompletionsFlags, DemoAt, DemoFlags, EventFlags, ExemptCommand,
    ExemptName, HostCommand, HostFlags, HostShowFlags, HostVerifyFlags, ManFlags, McpFlags, MigrateFlags,
    NotifyCommand, QuarantineCommand, RunCommand, SessionCommand, SessionFlags, StatusFlags, StepCommand, StepFlags,
    SubjectName, WakeFlags, WatchCommand, WatchFlags,
};
pub use help::{ManualSection, command, examples_of, manual_sections, page_of};
pub use read::{read_subject, render_mistake};
pub use setup::{InitFlags, Notified, RunBy};
