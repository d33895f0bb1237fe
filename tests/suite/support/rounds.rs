//! How many rounds the long tests play: all of them where `TEST_ROUNDS=all`, as in CI; by hand, one in five.

/// One in five of what a long test goes through, the first among them, unless all are to be played.
#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
pub fn rounds<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let step = match std::env::var("TEST_ROUNDS").as_deref() {
        Ok("all") => 1,
        Ok(other) => panic!("TEST_ROUNDS={other}: expected all"),
        Err(_) => 5,
    };
    all.into_iter().step_by(step)
}
