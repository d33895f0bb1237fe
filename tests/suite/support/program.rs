//! The built binary, run as an operator runs it: with a home of its own, and an environment of wide limits and what the
//! test gives.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use sweep::rules::Kind;
use tempfile::TempDir;

use crate::support::json;
use crate::support::starts::{self, Started};

pub const BINARY: &str = env!("CARGO_BIN_EXE_sweep");

/// One command line, not yet run.
pub struct Program {
    command: Command,
    home: TempDir,
}

/// The result of a run.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
    home: TempDir,
}

/// `sweep` with these arguments.
pub fn sweep<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Program {
    let mut command = Command::new(BINARY);
    command.args(arguments);
    Program::from_command(command)
}

/// `sweep --database URL` with further arguments.
pub fn sweep_at<'a>(url: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> Program {
    sweep(["--database", url].into_iter().chain(arguments))
}

/// `sweep migrate --database URL` with further arguments.
pub fn migrate_at<'a>(url: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> Program {
    sweep(["migrate", "--database", url].into_iter().chain(arguments))
}

/// `sweep exempt …`, or another command of these words, at this database.
pub fn command_at<'a>(url: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> Program {
    sweep(arguments.into_iter().chain(["--database", url]))
}

/// The document of `sweep explain` about a subject.
pub fn explain(url: &str, kind: Kind, name: &str) -> Value {
    command_at(url, ["explain", kind.name(), name, "--output", "json"]).run().done().json()
}

impl Program {
    /// Makes a program of any command that ends up as `sweep`.
    pub fn from_command(mut command: Command) -> Program {
        let home = tempfile::tempdir().expect("a temporary directory");
        command.env_clear().env("HOME", home.path()).env("RUST_BACKTRACE", "1");
        // Turns the guard and the bound on wakes off, except in the tests about them.
        command.env("SWEEP_GUARD_SHARE", "1").env("SWEEP_WAKES_PER_AGENT_MAX", "1000000");
        // Uses one connection, since each plans the statements anew.
        command.env("SWEEP_CONNECTIONS", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Program { command, home }
    }

    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Program {
        self.command.env(name, value);
        self
    }

    pub fn with_stdin(mut self, file: &Path) -> Program {
        self.command.stdin(std::fs::File::open(file).expect("a file"));
        self
    }

    /// Gives the program a pipe for stdin, which the test writes.
    pub fn with_a_pipe_for_stdin(mut self) -> Program {
        self.command.stdin(Stdio::piped());
        self
    }

    /// Gives the program a pipe for stdout that nobody reads any more.
    pub fn without_reader_of_stdout(mut self) -> Program {
        self.command.stdout(closed_pipe());
        self
    }

    /// Puts stdout on a device that has no room.
    pub fn with_a_full_stdout(mut self) -> Program {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        self.command.stdout(full.expect("/dev/full"));
        self
    }

    /// Puts stderr into a file.
    pub fn with_stderr_in(mut self, file: &std::fs::File) -> Program {
        self.command.stderr(file.try_clone().expect("a file"));
        self
    }

    pub fn without_reader_of_stderr(mut self) -> Program {
        self.command.stderr(closed_pipe());
        self
    }

    pub fn start(&mut self) -> Child {
        starts::record(Started::Program);
        self.command.spawn().expect("sweep starts")
    }

    pub fn run(mut self) -> Ran {
        starts::record(Started::Program);
        let output = self.command.output().expect("sweep starts");
        self.ended(output)
    }

    /// Runs the program, and returns its home too.
    pub fn run_at_home(self) -> (std::path::PathBuf, Ran) {
        (self.home.path().to_owned(), self.run())
    }

    pub fn ended(self, output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let ran = Ran {
            code: output.status.code().unwrap_or_else(|| panic!("{}", output.status)),
            out: text(output.stdout),
            err: text(output.stderr),
            home: self.home,
        };
        let is_for_programs = |argument: &std::ffi::OsStr| argument == "json" || argument == "ndjson";
        if self.command.get_args().any(is_for_programs) {
            json::check_printed(&ran.out);
        }
        ran
    }
}

fn closed_pipe() -> std::io::PipeWriter {
    std::io::pipe().expect("a pipe").1
}

impl Ran {
    /// Expects this exit code and one line on stderr with all these words, nothing on stdout, and no file at home.
    #[track_caller]
    pub fn refused(self, code: i32, says: &[&str]) {
        self.says_once(code, says);
        assert_eq!(self.out, "", "on stdout; stderr: {}", self.err);
        assert!(is_empty(self.home.path()), "something was made");
    }

    /// Expects this exit code and, besides logs, one line on stderr with all these words. A report may be on stdout.
    #[track_caller]
    pub fn says_once(&self, code: i32, says: &[&str]) {
        let (errors, logs): (Vec<&str>, Vec<&str>) = self.err.lines().partition(|line| line.starts_with("sweep: "));
        assert_eq!(self.code, code, "{self}");
        assert_eq!(errors.len(), 1, "{self}");
        let is_log = |line: &&str| line.starts_with("20") && line.contains("Z ");
        assert!(logs.iter().all(is_log), "{self}");
        for part in says {
            assert!(errors[0].contains(part), "“{part}” is not in: {}", errors[0]);
        }
        for part in ["secret", "panicked", "stack backtrace", "Error(", "Some(", "Os {"] {
            assert!(!self.err.contains(part), "{self}");
        }
    }

    #[track_caller]
    pub fn done(self) -> Ran {
        assert_eq!(self.code, 0, "{self}");
        assert!(!self.err.contains("sweep: "), "{self}");
        self
    }

    pub fn json(&self) -> serde_json::Value {
        json::parse_valid(&self.out)
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "exit {}\nstdout: {}\nstderr: {}", self.code, self.out, self.err)
    }
}

fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).expect("a directory").next().is_none()
}
