//! What people see in terminals of several widths: no line is wider, words are whole, and a long run shows how far it
//! is.

use rstest::rstest;

use crate::support::terminal::Asked;
use crate::support::world::{On, World};

/// What stayed on the screen: without colours, and of a line that moved nothing.
fn lines(text: &str) -> Vec<String> {
    let text = text.rsplit("\u{1b}[2K").next().unwrap_or_default();
    text.lines().map(|line| anstream::adapter::strip_str(line.trim_end_matches('\r')).to_string()).collect()
}

#[rstest]
#[case(60)]
#[case(80)]
#[case(120)]
fn no_line_is_wider_than_the_terminal_and_every_word_is_whole(#[case] columns: u16) {
    let demo = Asked::alone((45, columns), &["demo"]).ends().1;
    let words: Vec<&str> = demo.split_whitespace().collect();
    for line in demo.split('\n').map(|line| lines(line).pop().unwrap_or_default()) {
        assert!(line.chars().count() <= columns.into(), "{columns}: {line}");
    }
    for word in ["automatic", "continuation", "evidence", "paused", "progress", "--no-guard)"] {
        assert!(words.iter().any(|found| found.contains(word)), "{columns}: {word}\n{demo}");
    }
}

#[test]
fn what_a_command_says_of_one_subject_fits_sixty_columns() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.set("issues", &issue, "identifier = 'ACM-12', title = 'Import the contacts of all our customers from CSV'");
    for arguments in [&["explain", "issue", "ACM-12"][..], &["status"], &["config"], &["explain", "issue", "ACM-99"]] {
        let (_, text) = Asked::of_size((40, 60), &world.url, arguments).ends();
        let widest = lines(&text).into_iter().max_by_key(|line| line.chars().count()).unwrap_or_default();
        assert!(widest.chars().count() <= 60, "{arguments:?}: {widest}\n{text}");
    }
}

/// A world with so many orphans, each of which takes so many seconds to continue.
fn slow(orphans: usize, seconds: f64) -> World {
    let mut world = World::new(On::Postgres);
    world.run("begin");
    let agents: Vec<_> = (0..30).map(|_| world.agent("idle")).collect();
    (0..orphans).for_each(|n| drop(world.orphan(&agents[n % 30])));
    world.run("commit");
    world.run(&format!(
        "create function wait() returns trigger language plpgsql as $$
         begin perform pg_sleep({seconds}); return new; end $$;
         create trigger wait before insert on wakes for each row execute function wait()"
    ));
    world
}

#[test]
fn a_run_that_is_over_in_a_moment_shows_no_progress() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphan(&agent);
    let text = Asked::with(&world.url, &["--yes"]).ends().1;
    assert!(text.contains("1 continued") && !text.contains("issues: ") && !text.contains("\u{1b}[2K"), "{text:?}");
}

#[test]
fn a_run_that_is_interrupted_says_so_while_it_ends_and_when_it_has_ended() {
    let world = slow(100, 0.5);
    let mut asked = Asked::with(&world.url, &["--yes", "--no-guard"]);
    asked.until_it_shows(" of 100, ");
    asked.types("\u{3}");
    asked.until_it_shows(", interrupted: what is in hand is finished");
    let (code, text) = asked.ends();
    assert_eq!(code, 130, "{text}");
    assert!(lines(&text).iter().any(|line| line.starts_with("Interrupted by a signal: ")), "{text}");
}

#[test]
fn a_run_that_is_interrupted_twice_says_so_and_ends_at_once() {
    let world = slow(1, 60.0);
    let mut asked = Asked::with(&world.url, &["--yes", "--no-guard", "--set", "statement_timeout=5m"]);
    asked.until_it_shows("issues: ");
    asked.types("\u{3}");
    asked.until_it_shows(", interrupted: what is in hand is finished");
    asked.types("\u{3}");
    let (code, text) = asked.ends();
    assert_eq!(code, 130, "{text}");
    assert!(text.contains("interrupted by a second signal: what was in hand is rolled back"), "{text}");
}

#[test]
fn a_run_shows_how_far_it_is_of_how_many_how_fast_and_for_how_long() {
    let world = slow(300, 0.05);
    let text = Asked::with(&world.url, &["--yes", "--no-guard"]).ends().1;
    let (_, moved) = text.split_once("issues: ").unwrap_or_else(|| panic!("no line moved: {text}"));
    assert!(moved.contains(" of 300, ") && moved.contains("/s, ") && moved.contains("s left"), "{text}");
    assert!(!moved.contains(" 0s left"), "{text}");
    // And in the end the counts stand below the table.
    let seen = lines(&text);
    assert_eq!(seen.last().map(String::as_str), Some("300 continued"), "{text}");
    assert_eq!(seen.iter().filter(|line| *line == "300 continued").count(), 2, "above it and below it: {text}");

    for quiet in ["-q", "-v"] {
        let text = Asked::with(&world.url, &["--dry-run", quiet]).ends().1;
        assert!(!text.contains("/s, "), "{quiet}: {text}");
    }
}
