//! The command line: what may stand there, what `--help` says of it, and what is said of a mistake.

mod host;
mod mcp;
mod program;
mod request;
mod subjects;
mod watch;

mod command_line;

mod help;
mod mistake;
mod named;
mod read;

pub use command_line::{AttentionFlags, Cli, Command, MigrateFlags, NotifyCommand, StatusFlags};
pub use help::{EXIT_CODES, Page, command, page_of};
pub use host::{HostCommand, HostFlags, HostListFlags, HostNewFlags, HostShowFlags, HostVerifyFlags};
pub use mcp::McpFlags;
pub use mistake::render_mistake;
pub use program::{CompletionsFlags, ConfigFlags, DemoAt, DemoFlags, ManFlags};
pub use request::{AskCommand, AskFlags, Wish};
pub use subjects::{
    ExemptCommand, ExemptFlags, ExemptName, ExplainFlags, Layout, LayoutFlag, ListFlags, QuarantineCommand,
    ReleaseFlags, RemoveFlags, SubjectName,
};
pub use watch::{EventFlags, WatchCommand, WatchFlags};
