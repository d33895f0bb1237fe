//! A daemon as a test sees it: its log, its answers, and its messages to a service manager.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::program::{Program, sweep};
use crate::support::wait::{PATIENCE, wait_for};

/// A schedule that no test lives to see.
pub const NEVER: &str = "0 0 29 2 *";
pub const EACH_SECOND: &str = "* * * * * *";

pub struct Daemon {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    /// The thread that reads the log until its end.
    reader: Option<JoinHandle<()>>,
    _program: Program,
}

/// `sweep daemon` on a port of its own, not yet started.
pub fn daemon<'a>(url: &'a str, schedule: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> Program {
    let first = ["daemon", "--database", url, "--schedule", schedule, "--http", "127.0.0.1:0"];
    sweep(first.into_iter().chain(arguments))
}

impl Daemon {
    pub fn start(mut program: Program) -> Daemon {
        let mut child = program.start();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (ours, err) = (Arc::clone(&log), child.stderr.take().expect("a pipe"));
        let reader = thread::spawn(move || {
            for line in BufReader::new(err).lines().map_while(Result::ok) {
                ours.lock().expect("a log").push(line);
            }
        });
        Daemon { child, log, reader: Some(reader), _program: program }
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().expect("a log").clone()
    }

    pub fn count(&self, words: &str) -> usize {
        self.log().iter().filter(|line| line.contains(words)).count()
    }

    /// Waits until so many lines of the log have these words, and returns the last of them.
    #[track_caller]
    pub fn says_times(&self, times: usize, words: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let log = self.log();
            if let Some(line) = log.iter().filter(|line| line.contains(words)).nth(times - 1) {
                return line.clone();
            }
            assert!(Instant::now() < deadline, "“{words}” is not {times} times in:\n{}", log.join("\n"));
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[track_caller]
    pub fn says(&self, words: &str) -> String {
        self.says_times(1, words)
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("a process");
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn runs(&mut self) -> bool {
        self.child.try_wait().expect("a process").is_none()
    }

    /// Waits until the daemon ends, and returns its exit code and stdout.
    #[track_caller]
    pub fn ended(&mut self) -> (i32, String) {
        let log = Arc::clone(&self.log);
        let what = || format!("the end; log:\n{}", log.lock().expect("a log").join("\n"));
        let child = &mut self.child;
        // A pipe that nobody reads holds up a process that prints much.
        let mut stdout = child.stdout.take().expect("a pipe");
        let out = thread::spawn(move || {
            let mut out = String::new();
            stdout.read_to_string(&mut out).expect("UTF-8");
            out
        });
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().expect("a process") {
                break status;
            }
            assert!(Instant::now() < deadline, "{}", what());
            thread::sleep(Duration::from_millis(10));
        };
        if let Some(reader) = self.reader.take() {
            reader.join().expect("all of the log");
        }
        let out = out.join().expect("all of the report");
        (status.code().unwrap_or_else(|| panic!("{status}; {}", what())), out)
    }

    /// Sends SIGTERM, and expects a good end.
    #[track_caller]
    pub fn ends_well(&mut self) {
        self.signal(Signal::TERM);
        assert_eq!(self.ended(), (0, String::new()), "log:\n{}", self.log().join("\n"));
    }

    #[track_caller]
    pub fn port(&self) -> u16 {
        let line = self.says("HTTP on ");
        let port = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split(':').next()).expect("a port");
        port.parse().expect("a port")
    }

    /// The status and the body of an answer.
    #[track_caller]
    pub fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port())).expect("a connection");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer.split_once("\r\n\r\n").expect("a body").1.to_owned())
    }

    #[track_caller]
    pub fn answers(&self, path: &str, status: u16) -> String {
        wait_for(&format!("{path} answers {status}"), || {
            let (code, body) = self.get(path);
            (code == status).then_some(body)
        })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// A service manager that records the daemon's messages.
pub struct Manager {
    heard: Arc<Mutex<Vec<String>>>,
    directory: TempDir,
}

impl Manager {
    pub fn new() -> Manager {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let socket = UnixDatagram::bind(directory.path().join("notify")).expect("a socket");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ours = Arc::clone(&heard);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n) = socket.recv(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..n]).trim_end().to_owned();
                ours.lock().expect("messages").push(text);
            }
        });
        Manager { heard, directory }
    }

    /// Starts a daemon as systemd starts a service of `Type=notify` with `WatchdogSec=`.
    pub fn start(&self, program: Program, watchdog: Duration) -> Daemon {
        let socket = self.directory.path().join("notify");
        Daemon::start(program.env("NOTIFY_SOCKET", socket).env("WATCHDOG_USEC", watchdog.as_micros().to_string()))
    }

    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("messages").clone()
    }

    pub fn count(&self, message: &str) -> usize {
        self.heard().iter().filter(|heard| *heard == message).count()
    }

    /// Waits for a message with this beginning, and returns the first one.
    #[track_caller]
    pub fn hears(&self, start: &str) -> String {
        wait_for(start, || self.heard().into_iter().find(|heard| heard.starts_with(start)))
    }
}
