//! What a shell is answered when somebody presses TAB: options, values, and names in the database; never an error.

use std::process::Command;
use std::time::{Duration, Instant};

use rstest::rstest;

use crate::support::program::{BINARY, Program, Ran};
use crate::support::proxy::Proxy;
use crate::support::world::{On, World, on_each_host};

/// As bash asks, with the cursor behind the last word.
fn asked(url: &str, line: &str) -> Ran {
    let words: Vec<&str> = ["sweep"].into_iter().chain(line.split(' ')).collect();
    let mut command = Command::new(BINARY);
    command.arg("--").args(&words);
    let program = Program::from_command(command).env("SWEEP_COMPLETE", "bash").env("_CLAP_IFS", "\n");
    program.env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string()).env("DATABASE_URL", url).run()
}

fn answers(url: &str, line: &str) -> Vec<String> {
    let ran = asked(url, line).done();
    assert_eq!(ran.err, "", "{line}");
    ran.out.lines().map(str::to_owned).collect()
}

#[rstest]
#[case::commands("stat", &["status"])]
#[case::options("--dry", &["--dry-run"])]
#[case::formats("--output ", &["table", "json", "ndjson"])]
#[case::formats_of_a_command("status --output ", &["table", "json"])]
#[case::kinds("--only s", &["sessions", "steps"])]
#[case::further_kinds("--only issues,st", &["issues,steps"])]
#[case::modes("--set issues=s", &["issues=shadow"])]
#[case::settings("--set orph", &["orphan_grace="])]
#[case::hosts("migrate --host ", &["native", "paperclip", "prefect"])]
#[case::checks("host verify native --check r", &["recovery", "rivals", "removal"])]
#[case::shells("completions b", &["bash"])]
#[case::kinds_of_one("explain i", &["issue"])]
#[case::switches("daemon --at-start o", &["on", "off"])]
#[case::nothing("--limit ", &[])]
fn values_are_completed_without_a_database(#[case] line: &str, #[case] expected: &[&str]) {
    assert_eq!(answers("postgres:///nowhere?host=/nonexistent", line), expected);
}

on_each_host! {
    fn names_of_what_is_in_progress_are_completed(world) {
        let agent = world.agent("idle");
        let (one, done) = (world.orphan(&agent), world.orphan(&agent));
        world.set("issues", &one, "identifier = 'ACM-12'");
        world.set("issues", &done, "identifier = 'ACM-13', status = 'done'");
        for line in ["--issue AC", "explain issue AC", "exempt add issue ACM-", "watch --issue A", "--issue="] {
            let expected = if line == "--issue=" { "--issue=ACM-12" } else { "ACM-12" };
            assert_eq!(answers(&world.url, line), [expected], "{line}");
        }
        assert_eq!(answers(&world.url, "explain issue B"), Vec::<String>::new());
        assert_eq!(answers(&world.url, "--issue %"), Vec::<String>::new(), "no pattern of the database's");
    }
}

#[test]
fn of_a_name_that_is_no_plain_word_the_id_is_completed() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let (_, step) = world.stalled_step(Some(&agent));
    let odd = world.orphan(&agent);
    world.set("issues", &odd, "identifier = 'x$(reboot)\u{1b}[2J;'");
    assert_eq!(answers(&world.url, "explain step ")[0], step.0);
    assert_eq!(answers(&world.url, "--issue x"), [odd.0]);
}

#[test]
fn the_database_on_the_line_is_asked_and_nothing_is_written() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.set("issues", &issue, "identifier = 'ACM-12'");
    world.run("pragma wal_checkpoint(truncate)");
    let path = world.url.strip_prefix("sqlite://").expect("a path").to_owned();
    let before = std::fs::read(&path).expect("a file");
    for line in [format!("-d {} --issue A", world.url), format!("--database={} explain issue A", world.url)] {
        assert_eq!(answers("nonsense", &line), ["ACM-12"], "{line}");
    }
    assert!(before == std::fs::read(&path).expect("a file"));
}

#[test]
fn what_cannot_be_asked_is_silent_and_quick() {
    let world = World::new(On::Postgres);
    let proxy = Proxy::start(None);
    proxy.freeze();
    let began = Instant::now();
    for url in ["", "nonsense", "sqlite:///nowhere/at.all", &proxy.url(world.name(), "disable")] {
        assert_eq!(answers(url, "--issue A"), Vec::<String>::new(), "{url}");
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}
