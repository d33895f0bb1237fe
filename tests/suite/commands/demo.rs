//! The demo: what a newcomer sees first must be true, and end well.

use crate::support::program::sweep;

#[test]
fn the_demo_continues_escalates_recovers_hands_over_and_shows_the_guard_once() {
    let ran = sweep(["demo"]).run().done();

    for (line, times) in [
        ("10 continued, 2 escalated", 2),
        ("1 continued, 5 escalated, 3 recovered, 1 handed over", 1),
        ("Guard: 30 of the 41 issues", 1),
    ] {
        assert_eq!(ran.out.matches(line).count(), times, "{line}: {ran}");
    }
    assert!(ran.out.contains("Nothing to do; left:"), "{ran}");
}
