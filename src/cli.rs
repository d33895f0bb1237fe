//! The command line: what may stand there, what `--help` says of it, and what is said of a mistake.

mod request;
mod subjects;
mod watch;

mod command_line;

mod help;
mod mistake;
mod read;

pub use command_line::{
    AttentionFlags, Cli, Command, CompletionsFlags, DemoAt, DemoFlags, HostCommand, HostFlags, HostNewFlags,
    HostShowFlags, HostVerifyFlags, ManFlags, McpFlags, MigrateFlags, NotifyCommand, StatusFlags,
};
pub use help::{EXIT_CODES, command, examples_of, page_of};
pub use mistake::render_mistake;
pub use read::read_subject;
pub use request::{AskerFlag, NudgeFlags, SessionCommand, SessionFlags, StepCommand, StepFlags, WakeFlags};
pub use subjects::{ExemptCommand, ExemptFlags, ExemptName, QuarantineCommand, ReleaseFlags, SubjectName};
pub use watch::{EventFlags, WatchCommand, WatchFlags};
