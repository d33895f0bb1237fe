//! `sweep watch event`: an agent's hook hands an event to the watcher that started the agent.

use std::io::{Read, stdin};

use crate::cli::EventFlags;
use crate::screen::event::{VARIABLE, shortened};
use crate::settings::Environment;
use crate::supervisor::events::send;
use crate::text::shown;

/// Bytes of an event: agents hand over all that a tool returned.
const EVENT_MAX: u64 = 64 << 20;

/// A hook that fails may hold its agent up, or change what it does.
pub fn run(flags: &EventFlags, environment: &Environment) {
    if let Err(why) = hand_over(flags, environment) {
        eprintln!("sweep watch event: {}", shown(&why));
    }
}

fn hand_over(flags: &EventFlags, environment: &Environment) -> Result<(), String> {
    let watcher = environment.watcher();
    let watcher = watcher.ok_or_else(|| format!("no watcher started this process: {VARIABLE} is not set"))?;
    let event = match &flags.event {
        Some(event) => event.clone(),
        None => {
            let mut event = String::new();
            stdin().lock().take(EVENT_MAX).read_to_string(&mut event).map_err(|error| format!("stdin: {error}"))?;
            event
        }
    };
    let event = shortened(&event).ok_or("expected a JSON object")?;
    send(&watcher, &event).map_err(|error| format!("the watcher cannot be reached: {error}"))
}
