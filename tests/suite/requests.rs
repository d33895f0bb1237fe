//! Requests of people by a command: done as a sweep does it, or refused with a reason.

mod exempt;
mod hostile_names;
mod kills;
mod rights;
mod rivals;
mod sessions;
mod steps;
mod wake;

use crate::support::program::{Ran, command_at};
use crate::support::world::World;

const SOME_FAILED: i32 = 1;
const USAGE: i32 = 64;

/// Runs `sweep wake ACM-12`, or another command of these words, for ada.
pub fn ask(world: &World, request: &str, name: &str, further: &[&str]) -> Ran {
    let words = command(request).into_iter().chain([name, "--as", "ada"]).chain(further.iter().copied());
    command_at(&world.url, words).run()
}

/// The words of the command that makes a request.
pub fn command(request: &str) -> Vec<&str> {
    match request {
        "wake" | "exempt" => vec![request],
        "fail-step" => vec!["step", "fail"],
        "skip-step" => vec!["step", "skip"],
        _ => vec!["session", request],
    }
}

/// Checks that a request is refused for this reason, and writes nothing.
#[track_caller]
pub fn refused(world: &mut World, request: &str, name: &str, says: &[&str]) {
    let before = world.rows_written();
    let says = [&["What would change that: "], says].concat();
    ask(world, request, name, &[]).refused(SOME_FAILED, &says);
    assert_eq!(world.rows_written(), before, "{request} was refused");
}
