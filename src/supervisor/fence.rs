//! The fence before everything that is typed into a session.
//!
//! A key answers whatever stands there. So a message is typed only into a composer that is known to be idle and empty; it must
//! be seen to stand in it, alone, before it is sent; else it is taken back by the keys that the program takes for that, if
//! it is still the composer that would get them, and reported as not delivered.

use std::thread;
use std::time::{Duration, Instant};

use super::record::{Draft, Shared};

/// Between a message and the return key: many programs take both together for a paste.
pub const BEFORE_RETURN: Duration = Duration::from_millis(150);

/// How long a program may take to show what was typed.
const SHOWING_LASTS: Duration = Duration::from_secs(3);

/// How long it is waited until a program has drawn its screen.
const DRAWING_LASTS: Duration = Duration::from_secs(3);

const TICK: Duration = Duration::from_millis(50);

const BETWEEN_PICTURES: Duration = Duration::from_millis(5);

/// The terminal into which something is typed.
pub trait Hands {
    /// False: it could not be typed.
    fn press(&mut self, keys: &str) -> bool;
    /// Has the record show what stands there now, and says whether keys would reach the agent.
    fn look(&mut self) -> bool;
    /// Takes back what was typed and nobody has read.
    fn discard(&mut self);
}

/// Types a message and sends it. An error says why it was not delivered, in words that follow “the session”.
pub fn deliver(hands: &mut impl Hands, record: &Shared, message: &str) -> Result<(), String> {
    let message = &as_typed(message);
    if message.is_empty() {
        return Err("would be sent an empty message".to_owned());
    }
    await_leave(hands, record)?;
    record.lock().typed(message, Instant::now());
    if !hands.press(message) {
        return Err("takes no keys".to_owned());
    }
    let began = Instant::now();
    let is_whole = |hands: &mut _| draft(hands, record, message) == Draft::Message;
    while !is_whole(hands) {
        if SHOWING_LASTS < began.elapsed() || record.lock().was_keyed_since(began) {
            return Err(take_back(hands, record, message, began));
        }
        thread::sleep(TICK);
    }
    thread::sleep(BEFORE_RETURN);
    // Something else may have come up meanwhile.
    if !is_whole(hands) || record.lock().was_keyed_since(began) {
        return Err(take_back(hands, record, message, began));
    }
    record.lock().typed(message, Instant::now());
    if hands.press("\r") { Ok(()) } else { Err("takes no keys".to_owned()) }
}

/// Nothing is typed while the screen is drawn; that an idle program now and then draws a hint is no reason to give up.
fn await_leave(hands: &mut impl Hands, record: &Shared) -> Result<(), String> {
    let began = Instant::now();
    loop {
        if !hands.look() {
            return Err("is not listened to there".to_owned());
        }
        let now = Instant::now();
        let (refusal, is_drawing) = {
            let mut record = record.lock();
            (record.refuses_typing(now), record.is_drawing(now))
        };
        match refusal {
            Some(refusal) => return Err(refusal),
            None if !is_drawing => return Ok(()),
            None if DRAWING_LASTS < began.elapsed() => return Err("is still drawing its screen".to_owned()),
            None => thread::sleep(TICK),
        }
    }
}

fn draft(hands: &mut impl Hands, record: &Shared, message: &str) -> Draft {
    while record.lock().is_painting(Instant::now()) {
        thread::sleep(BETWEEN_PICTURES);
    }
    if hands.look() { record.lock().draft(message, Instant::now()) } else { Draft::NoComposer }
}

fn take_back(hands: &mut impl Hands, record: &Shared, message: &str, began: Instant) -> String {
    hands.discard();
    let is_a_person_there = record.lock().was_keyed_since(began);
    let why = match draft(hands, record, message) {
        Draft::Empty => "did not show it",
        // The composer was empty, and nobody else has typed: what stands there is ours.
        Draft::Message | Draft::Other if !is_a_person_there => {
            let keys = record.lock().clearing_keys();
            hands.press(keys);
            "did not show it as it was typed, and it was taken back"
        }
        Draft::Message | Draft::Other => "is being typed into by a person; a part of it stands in the composer",
        Draft::NoComposer => "showed something else meanwhile; a part of it may stand in its composer",
    };
    record.lock().typed(message, Instant::now());
    why.to_owned()
}

/// No message begins with a key that may be an answer to what comes up in the same moment, or with one that some composers take
/// for a command line of the shell. A command of the agent's own (`/compact`) is typed as it is.
fn as_typed(message: &str) -> String {
    let message = message.trim();
    if message.is_empty() || message.starts_with(['(', '/']) {
        message.to_owned()
    } else {
        format!("(sweep) {message}")
    }
}
