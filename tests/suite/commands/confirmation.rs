//! A sweep at a terminal: it shows what it would do and asks, and does what it has shown.

use rstest::rstest;
use sweep::rules::Id;

use crate::support::terminal::{Asked, QUESTION};
use crate::support::world::{On, World, on_each_database};

const NOT_WRITTEN: &str = "Nothing was written.";

fn orphans(world: &mut World, n: usize) -> Vec<Id> {
    let agent = world.agent("idle");
    (0..n).map(|_| world.orphan(&agent)).collect()
}

on_each_database! {
    fn what_is_shown_is_done_when_the_answer_is_yes(world) {
        let shown = orphans(world, 2);
        let asked = Asked::with(&world.url, &[]);
        asked.until_it_asks();
        let later = world.agent("idle");
        let later = world.orphan(&later);

        let (code, text) = asked.answers("yes\r");

        assert_eq!(code, 0, "{text}");
        assert!(text.contains("2 issues and 0 steps (native)") && text.contains("Do this, for 2 subjects?"), "{text}");
        assert!(text.contains("Applied a plan to 2 issues"), "{text}");
        assert_eq!(shown.iter().map(|id| world.wakes_for(id)).sum::<i64>(), 2);
        assert_eq!(world.wakes_for(&later), 0, "what came later was not shown");
    }

    fn what_changed_before_the_answer_is_left_and_reported_as_changed(world) {
        let shown = orphans(world, 2);
        let asked = Asked::with(&world.url, &[]);
        asked.until_it_asks();
        world.set("issues", &shown[0], "status = 'done'");

        let (code, text) = asked.answers("y\r");

        assert_eq!(code, 0, "{text}");
        assert!(text.contains("1 continued; left: 1 changed"), "{text}");
        assert_eq!((world.wakes_for(&shown[0]), world.wakes_for(&shown[1])), (0, 1));
    }
}

#[rstest]
#[case::no("no\r", 1)]
#[case::nothing("\r", 1)]
#[case::nearly_yes("yes please\r", 1)]
#[case::the_end_of_the_input("\u{4}", 1)]
fn any_other_answer_writes_nothing_and_says_so(#[case] keys: &str, #[case] exit: u32) {
    let mut world = World::new(On::Sqlite);
    let shown = orphans(&mut world, 1);

    let (code, text) = Asked::with(&world.url, &[]).answers(keys);

    assert_eq!(code, exit, "{text}");
    assert!(text.trim_end().ends_with(NOT_WRITTEN), "{text}");
    assert_eq!((world.wakes_for(&shown[0]), world.count("sweeps")), (0, 0));
}

#[test]
fn ctrl_c_at_the_question_writes_nothing_and_is_called_an_interruption() {
    let mut world = World::new(On::Sqlite);
    orphans(&mut world, 1);
    let (code, text) = Asked::with(&world.url, &[]).answers("\u{3}");
    assert_eq!((code, world.count("sweeps")), (130, 0), "{text}");
    assert!(text.trim_end().ends_with("Interrupted. Nothing was written."), "{text}");
}

#[test]
fn where_there_is_nothing_to_do_nothing_is_asked() {
    let mut world = World::new(On::Sqlite);
    let (code, text) = Asked::with(&world.url, &[]).ends();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Nothing to do") && !text.contains(QUESTION), "{text}");
    assert_eq!(world.count("sweeps"), 0);
}

#[rstest]
#[case::yes(&["--yes"], 1)]
#[case::yes_in_short(&["-y"], 1)]
#[case::a_dry_run(&["--dry-run"], 0)]
#[case::a_dry_run_in_short(&["-n"], 0)]
fn with_these_it_does_not_ask(#[case] arguments: &[&str], #[case] wakes: i64) {
    let mut world = World::new(On::Sqlite);
    let shown = orphans(&mut world, 1);
    let (code, text) = Asked::with(&world.url, arguments).ends();
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains(QUESTION), "{text}");
    assert_eq!(world.wakes_for(&shown[0]), wakes);
}

#[test]
fn a_plan_that_is_longer_than_a_report_is_shown_whole() {
    let mut world = World::new(On::Sqlite);
    world.run("begin");
    let agents: Vec<Id> = (0..30).map(|_| world.agent("idle")).collect();
    let shown: Vec<Id> = (0..210).map(|n| world.orphan(&agents[n % 30])).collect();
    world.run("commit");

    let (code, text) = Asked::with(&world.url, &["--no-guard"]).answers("yes\r");

    assert_eq!(code, 0, "{text}");
    let plan = text.split(QUESTION).next().expect("a plan");
    for id in &shown {
        assert!(plan.contains(&format!("T-{}", &id.0[24..])), "{id} was not shown");
    }
    assert!(text.contains("… and 10 more: --output ndjson shows all"), "{text}");
    assert_eq!(world.count("wakes"), 210);
}

#[test]
fn what_the_guard_left_is_no_part_of_the_plan_and_still_the_exit_code() {
    let mut world = World::new(On::Sqlite);
    orphans(&mut world, 25);
    let agent = world.agent("idle");
    let (_, step) = world.stalled_step(Some(&agent));

    let (code, text) = Asked::with(&world.url, &["--set", "guard_share=0.5", "--output", "json"]).answers("yes\r");

    assert_eq!(code, 4, "{text}");
    assert!(text.contains("Guard: ") && text.contains("Do this, for 1 subject?"), "{text}");
    assert!(text.contains("\"mode\": \"apply\""), "the report on stdout is as it was asked for: {text}");
    assert_eq!((world.wakes_for(&step), world.count("wakes")), (1, 1));
}
