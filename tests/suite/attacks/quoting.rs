//! Text of others is data in every output: no markup, no mention, no instruction, no control character.

mod comments;
mod destinations;
mod outputs;
mod tenants;

use sweep::rules::display::is_invisible;
use sweep::rules::{Id, Policy};
use sweep::sweep::Options;

use crate::support::world::World;

/// Characters that nobody sees and that change what is read: colours and a title for the terminal, a reversed order,
/// nothing between two letters, an instruction in tags and one in variation selectors, a C1 control, and a new line.
const UNSEEN: &str = "a\u{1b}[31mb\u{1b}]0;owned\u{7}c\u{9b}2Jd\u{202e}e\u{2066}f\u{200b}g\u{feff}h\u{ad}i\
                      \u{2060}j\u{61c}k\u{e0001}\u{e0069}\u{e0067}\u{e007f}l\u{fe01}\u{e0120}m\u{2028}n\u{85}o\r\n\
                      2026-01-01T ERROR forged";

/// Checks that an output holds no character that cannot be seen.
#[track_caller]
fn assert_seen(text: &str, what: &str) {
    let unseen: Vec<&str> = text.lines().filter(|line| line.chars().any(is_invisible)).collect();
    assert!(unseen.is_empty(), "{what}: {unseen:#?}");
}

/// Settings of a sweep that escalates everything at once.
fn impatient(settings: Options) -> Options {
    let policy = Policy { attempts_max: 0, nudges_max: 0, ..settings.policy.clone() };
    Options { policy, ..settings }
}

/// The body of the one comment on an issue.
fn comment_on(world: &mut World, issue: &Id) -> String {
    assert_eq!(world.comments_on(issue), 1);
    let table = if world.on == crate::support::world::On::Paperclip { "issue_comments" } else { "comments" };
    world.text("body", &format!("{table} where issue_id = '{issue}'")).expect("a comment")
}
