//! `sweep watch event`: an agent's hook hands an event to the watcher that started the agent.

use std::io::{Read, Write, stderr, stdin};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::cli::EventFlags;
use crate::screen::report::{VARIABLE, shortened};
use crate::settings::Environment;
use crate::supervisor::hook_socket::send;
use crate::text::redact;

/// Bytes of an event: agents hand over all that a tool returned.
const EVENT_MAX: u64 = 64 << 20;

/// How long somebody may take to write it.
const STDIN_LASTS: Duration = Duration::from_secs(5);

/// A hook that fails or waits may hold its agent up, or change what it does.
pub fn run(flags: &EventFlags, environment: &Environment) {
    if let Err(why) = hand_over(flags, environment) {
        let _ = writeln!(stderr(), "sweep watch event: {}", redact(&why));
    }
}

fn hand_over(flags: &EventFlags, environment: &Environment) -> Result<(), String> {
    let watcher = environment.watcher();
    let watcher = watcher.ok_or_else(|| format!("no watcher started this process: {VARIABLE} is not set"))?;
    let event = match flags.event.last() {
        Some(event) => event.to_string_lossy().into_owned(),
        None => from_stdin()?,
    };
    let event = shortened(&event).ok_or("expected a JSON object")?;
    send(&watcher, &event).map_err(|error| format!("the watcher cannot be reached: {error}"))
}

fn from_stdin() -> Result<String, String> {
    let (event, read) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let result = stdin().lock().take(EVENT_MAX).read_to_end(&mut bytes);
        event.send(result.map(|_| String::from_utf8_lossy(&bytes).into_owned()))
    });
    let read = read.recv_timeout(STDIN_LASTS).map_err(|_| "nobody has written the event to stdin".to_owned())?;
    read.map_err(|error| format!("stdin: {error}"))
}
