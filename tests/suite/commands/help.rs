//! What `-h` and `--help` show, where options may stand, and what they are called in short.

use clap::Command;
use rstest::rstest;

use crate::support::program::{sweep, sweep_at};
use crate::support::world::{On, World};

/// The words of each command.
fn paths(of: &Command, path: Vec<String>) -> Vec<Vec<String>> {
    let below = of.get_subcommands().filter(|command| command.get_name() != "help");
    let below = below.flat_map(|command| paths(command, [path.clone(), vec![command.get_name().to_owned()]].concat()));
    [path.clone()].into_iter().chain(below).collect()
}

fn help(path: &[String], flag: &str) -> String {
    sweep(path.iter().map(String::as_str).chain([flag])).run().done().out
}

#[test]
fn the_short_help_of_each_command_fits_on_a_screen() {
    for path in paths(&sweep::cli::command(), Vec::new()) {
        let text = help(&path, "-h");
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        // There are many commands, of which each has its line.
        let lines_max = if path.is_empty() { 44 } else { 40 };
        assert!(text.lines().count() <= lines_max && widest <= 80, "{path:?}:\n{text}");
    }
}

#[test]
fn the_long_help_of_each_command_has_an_example_of_it() {
    for path in paths(&sweep::cli::command(), Vec::new()) {
        let text = help(&path, "--help");
        let name = [&["sweep".to_owned()], &path[..]].concat().join(" ");
        let examples = text.split_once("Examples:\n").unwrap_or_else(|| panic!("{name} has no examples")).1;
        assert!(examples.contains(&name), "{name}:\n{text}");
    }
    let text = help(&[], "--help");
    assert!(text.lines().count() <= 111, "{text}");
    for group in ["What to sweep:", "How it runs:", "Exit codes:"] {
        assert!(text.contains(&format!("\n{group}\n")), "{group}:\n{text}");
    }
}

#[rstest]
#[case::database("-d URL status", "status -d URL")]
#[case::output("-d URL --output json status", "status -d URL -o json")]
#[case::quiet("-q -d URL migrate", "migrate --database URL --quiet")]
#[case::verbose("-v -d URL exempt list", "exempt list --database URL --verbose")]
#[case::two_commands("-o json -d URL quarantine list", "quarantine list -d URL -o json")]
fn an_option_of_all_may_stand_before_a_command_or_behind_it(#[case] before: &str, #[case] behind: &str) {
    let world = World::new(On::Sqlite);
    let run = |line: &str| {
        let line = line.replace("URL", &world.url);
        let out = sweep(line.split(' ')).run().done().out;
        // Times pass.
        out.lines()
            .filter(|line| !line.contains("at 20") && !line.contains("observed_at"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(run(before), run(behind));
}

#[test]
fn behind_the_command_wins() {
    let world = World::new(On::Sqlite);
    sweep(["-d", "sqlite:///nowhere", "status", "-d", &world.url]).run().done();
}

#[test]
fn quiet_is_the_summary_and_what_failed() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let (_, broken) = (world.orphan(&agent), world.orphan(&agent));
    world.set("issues", &broken, "updated_at = '0001-01-01T00:00:00.000Z', created_at = '0001-01-01T00:00:00.000Z'");
    let ran = sweep_at(&world.url, ["-q"]).run();
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.out.contains("1 continued; left: 1 unreadable"), "{ran}");
    assert!(ran.out.contains(&broken.0) && !ran.out.contains("nobody is working on it"), "{ran}");
    assert!(ran.err.contains("ERROR") && !ran.err.contains("INFO"), "{ran}");
}

#[test]
fn commands_that_only_confirm_are_silent_when_they_are_to_be_quiet() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    for line in ["migrate", "exempt add issue ID --reason x", "exempt remove issue ID", "quarantine release --all"] {
        let line = line.replace("ID", &issue.0);
        let ran = sweep(["-q", "-d", world.url.as_str()].into_iter().chain(line.split(' '))).run().done();
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""), "{line}");
    }
}

#[test]
fn verbose_wins_over_the_filter_of_the_environment_and_so_does_quiet() {
    let world = World::new(On::Sqlite);
    let logged = |argument: &str| {
        let ran = sweep_at(&world.url, [argument, "--output", "json"]).env("SWEEP_LOG", "off").run().done();
        ran.err.contains("sweep completed")
    };
    assert_eq!((logged("-v"), logged("--set=connections=1"), logged("-q")), (true, false, false));
    let loud = sweep_at(&world.url, ["-q"]).env("SWEEP_LOG", "trace").run().done();
    assert_eq!(loud.err, "");
}
