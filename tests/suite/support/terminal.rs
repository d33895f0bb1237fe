//! A terminal of the test's own, and `sweep` in a terminal.

use std::io::{Read, Write};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, SlavePty, native_pty_system};

use crate::support::program::BINARY;
use crate::support::starts::{self, Started};
use crate::support::wait::wait_for;

pub const QUESTION: &str = "Type yes to go on: ";

/// A terminal, and what was printed on it.
pub struct Screen {
    pub master: Box<dyn MasterPty + Send>,
    /// None: nothing more is started in the terminal.
    slave: Option<Box<dyn SlavePty + Send>>,
    writer: Box<dyn Write + Send>,
    printed: Arc<Mutex<Vec<u8>>>,
    reading: Option<JoinHandle<()>>,
}

impl Screen {
    pub fn new() -> Screen {
        Screen::of_size((30, 100))
    }

    /// A terminal of this size, in rows and columns.
    pub fn of_size((rows, cols): (u16, u16)) -> Screen {
        starts::record(Started::Terminal);
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut reader = pair.master.try_clone_reader().expect("its output");
        let writer = pair.master.take_writer().expect("its input");
        let printed = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&printed);
        let reading = thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                to.lock().expect("a screen").extend_from_slice(&buffer[..n]);
            }
        });
        Screen { master: pair.master, slave: Some(pair.slave), writer, printed, reading: Some(reading) }
    }

    pub fn start(&self, command: CommandBuilder) -> Box<dyn Child + Send + Sync> {
        self.slave.as_ref().expect("a terminal").spawn_command(command).expect("it starts")
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.printed.lock().expect("a screen").clone()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// All that was printed, once every process in the terminal has ended.
    pub fn text_to_the_end(&mut self) -> String {
        self.slave = None;
        self.reading.take().into_iter().for_each(|reading| reading.join().expect("a reader"));
        self.text()
    }

    pub fn types(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).and_then(|()| self.writer.flush()).expect("a terminal");
    }

    /// The terminal's modes, as `stty -g` prints them.
    pub fn modes(&self) -> String {
        let path = self.master.tty_name().expect("a name");
        let stty = Command::new("stty").arg("-g").stdin(std::fs::File::open(path).expect("a terminal")).output();
        String::from_utf8(stty.expect("stty").stdout).expect("modes")
    }
}

/// `sweep` in a terminal of its own.
pub struct Asked {
    screen: Screen,
    child: Box<dyn Child + Send + Sync>,
}

impl Asked {
    pub fn with(url: &str, arguments: &[&str]) -> Asked {
        Asked::of_size((50, 120), url, arguments)
    }

    /// Starts `sweep` in a terminal of so many rows and columns.
    pub fn of_size(size: (u16, u16), url: &str, arguments: &[&str]) -> Asked {
        let takes_a_database = arguments.first() != Some(&"config");
        let database = if takes_a_database { &["--database", url][..] } else { &[] };
        Asked::alone(size, &[arguments, database].concat())
    }

    /// Starts `sweep` with no other arguments than these.
    pub fn alone(size: (u16, u16), arguments: &[&str]) -> Asked {
        let screen = Screen::of_size(size);
        let mut command = CommandBuilder::new(BINARY);
        command.env_clear();
        command.env("HOME", "/nonexistent");
        command.env("TERM", "xterm-256color");
        command.env("NO_COLOR", "1");
        command.env("SWEEP_GUARD_SHARE", "1");
        command.cwd("/");
        command.args(arguments);
        let child = screen.start(command);
        Asked { screen, child }
    }

    #[track_caller]
    pub fn until_it_asks(&self) {
        wait_for("a question", || self.screen.text().contains(QUESTION).then_some(()));
    }

    #[track_caller]
    pub fn until_it_shows(&self, text: &str) {
        wait_for(text, || self.screen.text().contains(text).then_some(()));
    }

    pub fn types(&mut self, keys: &str) {
        self.screen.types(keys);
    }

    #[track_caller]
    pub fn answers(mut self, keys: &str) -> (u32, String) {
        self.until_it_asks();
        self.screen.types(keys);
        self.ends()
    }

    #[track_caller]
    pub fn ends(&mut self) -> (u32, String) {
        let code = wait_for("an end", || self.child.try_wait().expect("a process")).exit_code();
        (code, self.screen.text_to_the_end())
    }
}
