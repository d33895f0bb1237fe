//! How much the long tests play: everything if `TEST_ROUNDS=all`, as in the long round, or else a part.

/// One in five of a long test's rounds, beginning with the first; all of them in the long round.
pub fn rounds<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if are_all_played() { 1 } else { 5 })
}

/// True in the long round, where every combination is played, instead of each of its parts once.
#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
pub fn are_all_played() -> bool {
    match std::env::var("TEST_ROUNDS").as_deref() {
        Ok("all") => true,
        Ok(other) => panic!("TEST_ROUNDS={other}: expected all"),
        Err(_) => false,
    }
}
