//! How much the long tests play: all of it where `TEST_ROUNDS=all`, as in the long round; else a part.

/// One in five of what a long test goes through, the first among them, unless all are to be played.
pub fn rounds<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if are_all_played() { 1 } else { 5 })
}

/// True in the long round: every combination is played, and not only each of its parts once.
#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
pub fn are_all_played() -> bool {
    match std::env::var("TEST_ROUNDS").as_deref() {
        Ok("all") => true,
        Ok(other) => panic!("TEST_ROUNDS={other}: expected all"),
        Err(_) => false,
    }
}
