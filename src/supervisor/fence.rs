//! The fence before everything that is typed into a session.
//!
//! A key answers whatever question is on the screen. So a message is typed only into a composer that is known to be
//! idle and empty, and its first key alone, which answers nothing, until that is seen to be read: what a busy program
//! has not read yet would meet the question that comes up next. The rest is pasted, since menus take no pastes. The
//! message is sent only when it is seen to stand in the composer, alone. Otherwise it is cleared by the keys that the
//! program has for that, if they would still reach the composer, and reported as not delivered. A menu takes the return
//! key: one that the program does not read at once, as an idle program does, is discarded.
// decisions.md#a-nudge-has-three-steps

use std::thread;
use std::time::{Duration, Instant};

use super::{Draft, KILL_LINE, SharedRecord};

/// The pause between a message and the return key: many programs take both together for a paste.
const BEFORE_RETURN: Duration = Duration::from_millis(150);

/// How long a program may take to show what was typed.
const SHOWING_LASTS: Duration = Duration::from_secs(3);

/// How long a return key may stand unread. An idle program reads within a few milliseconds.
const READING_LASTS: Duration = Duration::from_millis(100);

/// How many characters are pasted at a time: instead of longer pastes agents show how long they are.
const PASTE_MAX: usize = 400;

/// How long to wait for a program to finish drawing its screen.
const DRAWING_LASTS: Duration = Duration::from_secs(3);

/// How long an idle program may take to paint a picture: after that it may be about to ask something.
const PAINTING_LASTS: Duration = Duration::from_millis(50);

const TICK: Duration = Duration::from_millis(50);

const BETWEEN_PICTURES: Duration = Duration::from_millis(5);

/// A terminal that messages are typed into.
pub trait TypingTarget {
    /// Types these keys; false if that failed.
    fn press(&mut self, keys: &str) -> bool;
    /// Pastes a text, or types it if the program does not distinguish the two; false if that failed.
    fn paste(&mut self, text: &str) -> bool;
    /// Updates the record with the present screen, and returns whether keys would reach the agent.
    fn refresh(&mut self) -> bool;
    /// Whether the keys of a person wait meanwhile: what is unread, or stands in the composer, is ours.
    fn types_alone(&self) -> bool;
}

/// Types a message and sends it.
///
/// # Errors
/// Why it was not delivered, as a phrase that follows “the session”.
pub fn deliver(target: &mut impl TypingTarget, record: &SharedRecord, message: &str) -> Result<(), String> {
    let message = &as_typed(message);
    if message.is_empty() {
        return Err("would be sent an empty message".to_owned());
    }
    wait_until_allowed(target, record)?;
    if !record.has_no_other_reader() {
        return Err("is not known to be idle at its prompt".to_owned());
    }
    record.lock().is_typed_into = true;
    let typed = type_and_send(target, record, message);
    record.lock().is_typed_into = false;
    typed
}

fn type_and_send(target: &mut impl TypingTarget, record: &SharedRecord, message: &str) -> Result<(), String> {
    let began = Instant::now();
    // The first key, which is typed, and the ends of the parts that are pasted.
    let ends = message.char_indices().map(|(at, c)| at + c.len_utf8()).step_by(PASTE_MAX);
    let ends = ends.filter(|end| *end < message.len());
    let mut typed = 0;
    for end in ends.chain([message.len()]) {
        record.lock().typed(message, Instant::now());
        let part = &message[typed..end];
        // Nobody sees what a person types: a line that the terminal keeps may have been begun, although the prompt was
        // drawn anew without that.
        let clearing = if !target.types_alone() && record.lock().edits_lines() { KILL_LINE } else { "" };
        let is_typed = if typed == 0 { target.press(&format!("{clearing}{part}")) } else { target.paste(part) };
        if !is_typed {
            return Err("takes no keys".to_owned());
        }
        typed = end;
        wait_until_shown(target, record, &message[..end], began)?;
    }
    thread::sleep(BEFORE_RETURN);
    // A question may have come up meanwhile.
    if draft(target, record, message) != Draft::Message || record.lock().was_keyed_since(began) {
        return Err(retract(target, record, message));
    }
    record.lock().typed(message, Instant::now());
    if is_read_in_time(target, record, "\r") { Ok(()) } else { Err(retract(target, record, message)) }
}

/// Presses keys of which a question would take one, and returns whether the program has read them in time; otherwise
/// they are discarded. No earlier look would do: a terminal takes some moments to count as unread what was written.
fn is_read_in_time(target: &mut impl TypingTarget, record: &SharedRecord, keys: &str) -> bool {
    let is_pressed = target.press(keys);
    thread::sleep(READING_LASTS);
    let is_read = !record.lock().probe.has_unread();
    if !is_read {
        record.lock().probe.discard_unread();
    }
    is_pressed && is_read
}

/// Discards what was not read yet, and returns whether that was a line that the terminal itself keeps: all of that is
/// lost then, while its echo may go on standing there.
fn loses_unread(record: &SharedRecord) -> bool {
    let record = record.lock();
    let edits_lines = record.edits_lines();
    record.probe.discard_unread();
    edits_lines
}

/// Waits until what was typed stands in the composer. While there is none, or nobody knows, what was not read yet is
/// discarded at once: it must not answer what has come up.
fn wait_until_shown(
    target: &mut impl TypingTarget,
    record: &SharedRecord,
    typed: &str,
    began: Instant,
) -> Result<(), String> {
    let typed_at = Instant::now();
    let mut known_at = typed_at;
    loop {
        match draft(target, record, typed) {
            Draft::Message => return Ok(()),
            Draft::Empty | Draft::Other => known_at = Instant::now(),
            // An echo may be on its way.
            Draft::Unread if known_at.elapsed() < PAINTING_LASTS && record.lock().edits_lines() => {}
            Draft::NoComposer | Draft::Unread if loses_unread(record) => return Err(retract(target, record, typed)),
            Draft::NoComposer | Draft::Unread => {}
        }
        if SHOWING_LASTS < typed_at.elapsed() || record.lock().was_keyed_since(began) {
            return Err(retract(target, record, typed));
        }
        // What the terminal keeps meets whatever the program reads next.
        thread::sleep(if record.lock().edits_lines() { BETWEEN_PICTURES } else { TICK });
    }
}

/// Waits while the screen is being drawn: an idle program that draws a hint now and then is no reason to give up.
fn wait_until_allowed(target: &mut impl TypingTarget, record: &SharedRecord) -> Result<(), String> {
    let began = Instant::now();
    loop {
        if !target.refresh() {
            return Err("is not listened to there".to_owned());
        }
        match record.assess_refusal() {
            (Some(refusal), _) => return Err(refusal),
            (None, false) => return Ok(()),
            (None, true) if DRAWING_LASTS < began.elapsed() => return Err("is still drawing its screen".to_owned()),
            (None, true) => thread::sleep(TICK),
        }
    }
}

/// Looks at the composer. The look comes last: what comes before it takes its time, in which a question may come up.
fn draft(target: &mut impl TypingTarget, record: &SharedRecord, message: &str) -> Draft {
    let began = Instant::now();
    while record.lock().emulator.is_painting(Instant::now()) && began.elapsed() < DRAWING_LASTS {
        thread::sleep(BETWEEN_PICTURES);
        if PAINTING_LASTS < began.elapsed() && loses_unread(record) {
            return Draft::NoComposer;
        }
    }
    let is_alone = record.reads_alone();
    if target.refresh() { record.lock().draft(message, is_alone, Instant::now()) } else { Draft::NoComposer }
}

/// Clears a message that cannot be sent, as far as that is safe, and returns why it cannot.
fn retract(target: &mut impl TypingTarget, record: &SharedRecord, message: &str) -> String {
    record.lock().probe.discard_unread();
    let why = match draft(target, record, message) {
        Draft::Empty => "did not show it",
        // The composer was empty: the draft is ours.
        found @ (Draft::Message | Draft::Other) if found == Draft::Message || target.types_alone() => {
            let keys = record.lock().clearing_keys();
            match is_read_in_time(target, record, keys) {
                true => "did not take it as it was typed, and it was taken back",
                false => "does not read what is typed; a part of it may stand in its composer",
            }
        }
        Draft::Message | Draft::Other => "shows it with something else in its composer",
        Draft::NoComposer | Draft::Unread => "showed something else meanwhile; a part of it may stand in its composer",
    };
    record.lock().typed(message, Instant::now());
    why.to_owned()
}

/// Puts a prefix before a message: its first key could answer a question that comes up in the same moment, and some
/// composers take a first `!` for a command of the shell. A command of the agent's own (`/compact`) is typed as it is.
fn as_typed(message: &str) -> String {
    let message = message.trim();
    if message.is_empty() || message.starts_with(['(', '/']) {
        message.to_owned()
    } else {
        format!("(sweep) {message}")
    }
}

#[cfg(test)]
mod tests;
