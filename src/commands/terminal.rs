//! What the commands print for people.

use std::io::Write;

use crate::report::page;

/// Confirms what was done, to whoever wants to hear it.
pub fn confirm(quiet: bool, text: &str) {
    if !quiet {
        print_wrapped(text);
    }
}

/// Prints what people read: on a terminal it is wrapped at its words.
pub fn print_wrapped(text: &str) {
    say(&page::wrapped(text));
}

/// Prints what sweep wrote itself, or what `text::redact` let pass; a reader that has gone (`| head -1`) is no error.
pub fn say(text: &str) {
    let _ = anstream::stdout().write_all(text.as_bytes());
}
