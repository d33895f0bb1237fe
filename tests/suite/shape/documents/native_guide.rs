//! docs/native.md, from an empty database to recovered work: on PostgreSQL as it stands there, on SQLite as it says.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;

use regex::Regex;
use sweep::rules::Id;
use sweep::sweep::logs::EMPTY;
use tempfile::TempDir;

use super::Page;
use super::blocks::Block;
use super::comparison::{compare, expect_as_shown, turn};
use super::reader::{Client, Reader};
use crate::support::databases::{connect_server, database_url, files, new_database, run};
use crate::support::program::command_at;
use crate::support::wait::{wait_for, wait_until};
use crate::support::world::{On, World, on_each_database};

pub const GUIDE: &str = "docs/native.md";

fn followed(page: &Page) -> Vec<Block> {
    page.blocks().into_iter().filter(Block::is_followed).collect()
}

#[test]
fn the_guide_to_the_native_tables_can_be_followed_on_postgresql() {
    let _turn = turn();
    let (page, name) = (Page::load(GUIDE), "sweep_test_guide");
    new_database(name);
    let blocks = followed(&page);
    let printed = Reader::new(Client::Psql, Some(database_url(name))).follow(&blocks);
    compare(&page, &blocks, &printed);
    run(&mut connect_server(), &format!("drop database {name} with (force)"));
}

/// A block of the page, changed as the page's section on SQLite says.
fn on_sqlite(block: Block) -> Block {
    static AGO: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"now\(\) ([-+]) interval '([^']+)'").expect("an expression"));
    let text = match block.language.as_str() {
        "sql" => {
            let text = AGO.replace_all(&block.text, "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '$1$2')");
            text.replace("now()", "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')").replace("sweep.", "")
        }
        _ => block.text.replace("runner.sh", "runner.py agents.db"),
    };
    Block { text, ..block }
}

#[test]
fn the_guide_to_the_native_tables_can_be_followed_on_sqlite() {
    let page = Page::load(GUIDE);
    let blocks: Vec<Block> = followed(&page).into_iter().map(on_sqlite).collect();
    let printed = Reader::new(Client::Sqlite, Some("sqlite://agents.db".to_owned())).follow(&blocks);
    expect_as_shown(&page, &blocks, &printed);
}

#[test]
fn the_guide_takes_forty_lines_of_sql_and_shows_its_runner_as_it_is() {
    let page = Page::load(GUIDE);
    let sql = followed(&page).into_iter().filter(|block| block.language == "sql");
    let lines: usize = sql.map(|block| block.text.lines().filter(|line| !line.is_empty()).count()).sum();
    assert!(lines <= 40, "{lines} lines");
    let shown = page.blocks().into_iter().find(|block| block.language == "bash").expect("the runner").text;
    assert_eq!(shown, Page::load("examples/native/runner.sh").text);
    assert!(shown.lines().count() <= 30);
}

on_each_database! {
    fn a_sweep_of_a_database_in_which_nothing_is_says_so_and_where_to_read_how_to_fill_it(world) {
        let reported = |world: &World| {
            let [swept, status] = ["--dry-run", "status"].map(|what| command_at(&world.url, [what]).run().done().out);
            assert_eq!(swept.contains(EMPTY), status.contains(EMPTY), "{swept} {status}");
            swept
        };
        let says = |world: &World| reported(world).contains(EMPTY);
        assert!(reported(world).contains("docs/native.md shows how"));
        assert_eq!(world.dry_run().json["empty"], true);

        let agent = world.agent("idle");
        assert!(says(world), "an agent alone has nothing to do");
        let issue = world.orphan(&agent);
        world.set("issues", &issue, "status = 'done'");
        assert!(!says(world), "work that is finished is work");
        assert_eq!(world.dry_run().json["empty"], false);
    }
}

/// Starts eight runners at once for five wakes; five of them must find one.
fn each_wake_is_taken_once(world: &mut World, runner: &[&str]) {
    let agent = world.agent("idle");
    let issues: Vec<Id> = (0..5).map(|_| world.orphan(&agent)).collect();
    world.sweep();
    let start = |_| {
        let mut runner = Command::new(runner[0]).args(&runner[1..]).arg("true").env("DATABASE_URL", &world.url).spawn();
        move || runner.as_mut().expect("a runner").wait().expect("an end").code().expect("an exit code")
    };
    let runners: Vec<_> = (0..8).map(start).collect();
    let mut codes: Vec<i32> = runners.into_iter().map(|mut end| end()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 0, 0, 0, 0, 1, 1, 1]);
    assert_eq!(world.count("runs where status = 'succeeded' and finished_at is not null"), 5);
    assert_eq!(world.count("(select distinct wake_id from runs) as taken"), 5);
    let swept = world.sweep();
    assert!(issues.iter().all(|issue| swept.outcome(issue) == "recovered"), "{}", swept.json);
}

#[test]
fn runners_side_by_side_take_each_wake_once() {
    each_wake_is_taken_once(&mut World::new(On::Postgres), &[&example("runner.sh")]);
    let mut world = World::new(On::Sqlite);
    let file = world.url.trim_start_matches("sqlite://").to_owned();
    each_wake_is_taken_once(&mut world, &[&example("runner.py"), &file]);
}

fn example(name: &str) -> String {
    format!("{}/examples/native/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Debian's Python has psycopg; another one that comes first may not.
fn worker() -> Vec<String> {
    vec!["/usr/bin/python3".to_owned(), example("worker.py"), "builder".to_owned()]
}

/// A world of each example, and the words with which it is started there.
fn examples() -> [(World, Vec<String>); 3] {
    let (shell, named, file) = (World::new(On::Postgres), World::new(On::Postgres), World::new(On::Sqlite));
    let path = file.url.trim_start_matches("sqlite://").to_owned();
    [(shell, vec![example("runner.sh")]), (named, worker()), (file, vec![example("runner.py"), path])]
}

/// An agent that works until the first file is there, or its own one is gone. A polite signal does not end it.
const AGENT: &str = "trap '' TERM; echo $$ >\"$1\"; until [ -e \"$0\" ] || [ ! -e \"$1\" ]; do sleep 0.05; done";

/// A runner whose agent works until the file `done` is there. Each has a process group of its own.
struct Runner {
    process: Child,
    files: TempDir,
}

impl Runner {
    fn start(world: &World, words: &[String], lease: u32, done: &Path) -> Runner {
        let files = files().expect("a folder");
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["sh", "-c", AGENT]).args([done, &files.path().join("agent")]);
        command.env("DATABASE_URL", &world.url).env("LEASE_SECONDS", lease.to_string());
        // The lines that say that a database is away.
        command.stderr(Stdio::null());
        Runner { process: command.process_group(0).spawn().expect("a runner"), files }
    }

    /// The agent's process, which has given its process group its id.
    fn agent(&self) -> u32 {
        let written = || std::fs::read_to_string(self.files.path().join("agent")).ok()?.trim_end().parse().ok();
        wait_for("the agent has begun", written)
    }

    /// Sends both a signal, as to all processes of a machine.
    fn signal(&self, name: &str) {
        assert!([self.process.id(), self.agent()].into_iter().all(|process| signal(name, &format!("-{process}"))));
    }

    fn end(&mut self) -> ExitStatus {
        wait_for("the runner has ended", || self.process.try_wait().expect("a runner"))
    }

    /// Waits until the runner has given up and nothing of its agent is left.
    fn ends_its_agent(mut self) {
        let agent = self.agent();
        assert!(!self.end().success());
        wait_until("the agent has ended", || {
            [format!("{agent}"), format!("-{agent}")].iter().all(|id| !signal("0", id))
        });
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        signal("KILL", &format!("-{}", self.process.id()));
        let _ = self.process.wait();
    }
}

/// True if there is such a process, or process group.
fn signal(name: &str, id: &str) -> bool {
    Command::new("kill").args([&format!("-{name}"), "--", id]).output().expect("kill").status.success()
}

/// An issue for which a wake of the host's own is queued.
fn woken(world: &mut World) -> Id {
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.issue_wake(&issue, &agent, "queued", 0);
    issue
}

fn wait_for_run(world: &mut World) {
    wait_until("the runner has taken the wake", || 1 == world.count("runs where status = 'running'"));
}

/// The runner's lease runs out: its last sign of life was long ago.
fn lease_runs_out(world: &mut World) {
    let long_ago = world.ago(6);
    world.run(&format!("update runs set heartbeat_at = {long_ago} where status = 'running'"));
}

/// P19
#[test]
fn the_work_of_a_runner_that_is_killed_is_continued_once_and_completed_once() {
    for (mut world, words) in examples() {
        let issue = woken(&mut world);
        let files = files().expect("a folder");
        let mut runner = Runner::start(&world, &words, 300, &files.path().join("never"));
        wait_for_run(&mut world);
        assert!(["healthy", "not examined"].contains(&world.sweep().outcome(&issue)), "it lives: {words:?}");
        runner.signal("KILL");
        runner.end();
        lease_runs_out(&mut world);

        assert_eq!(world.sweep().outcome(&issue), "continued", "{words:?}");
        assert_eq!((world.sweep().outcome(&issue), world.wakes_for(&issue)), ("healthy", 1), "once: {words:?}");
        Runner::start(&world, &words, 300, files.path()).end();
        assert_eq!(world.status("issues", &issue), "in_review", "{words:?}");
        assert_eq!(world.sweep().outcome(&issue), "recovered", "{words:?}");
        assert_eq!(world.count("runs where status = 'succeeded'"), 1);
        assert_eq!(world.count("runs where status = 'interrupted'"), 1);
    }
}

/// P19. The old process is stopped, as by a machine that sleeps, and goes on when another one has done its work.
#[test]
fn a_runner_that_was_stopped_and_goes_on_changes_nothing_of_what_another_one_did() {
    for (mut world, words) in examples() {
        let issue = woken(&mut world);
        let files = files().expect("a folder");
        let later = files.path().join("later");
        let mut old = Runner::start(&world, &words, 300, &later);
        wait_for_run(&mut world);
        old.signal("STOP");
        lease_runs_out(&mut world);
        assert_eq!(world.sweep().outcome(&issue), "continued", "{words:?}");
        Runner::start(&world, &words, 300, files.path()).end();
        world.set("issues", &issue, "status = 'done'");
        let rows = |world: &mut World| {
            let runs = world.texts("id || status || finished_at", "runs order by id");
            (runs, world.texts("status || updated_at", "issues"))
        };
        let before = rows(&mut world);

        std::fs::write(&later, "").expect("a file");
        old.signal("CONT");
        old.end();

        assert_eq!(rows(&mut world), before, "{words:?}");
    }
}

#[test]
fn a_worker_that_starts_again_loses_what_it_left_at_once() {
    let mut world = World::new(On::Postgres);
    let issue = woken(&mut world);
    let files = files().expect("a folder");
    let words = worker();
    let mut runner = Runner::start(&world, &words, 300, &files.path().join("never"));
    wait_for_run(&mut world);
    runner.signal("KILL");
    runner.end();
    assert!(["healthy", "not examined"].contains(&world.sweep().outcome(&issue)), "its lease holds");
    Runner::start(&world, &words, 300, files.path()).end();
    assert_eq!((world.sweep().outcome(&issue), world.count("runs where status = 'interrupted'")), ("continued", 1));
}

/// Has changes of a run fail, for so many seconds after its last sign of life: on PostgreSQL by this statement.
fn fail_for(world: &mut World, seconds: u32, how: &str) {
    world.run(&match world.on {
        On::Sqlite => format!(
            "create trigger fail before update on runs
             when julianday('now') < julianday(old.heartbeat_at) + {seconds} / 86400.0
             begin select raise(abort, 'away'); end"
        ),
        _ => format!(
            "create function fail() returns trigger language plpgsql as $$ begin
                if clock_timestamp() < old.heartbeat_at + interval '{seconds} seconds' then {how}; end if;
                return new;
            end $$;
            create trigger fail before update on runs for each row execute function fail()"
        ),
    });
}

const LOSE_THE_CONNECTION: &str = "perform pg_terminate_backend(pg_backend_pid()), pg_sleep(600)";

#[test]
fn a_database_that_is_away_for_less_than_a_lease_costs_a_runner_nothing() {
    let files = files().expect("a folder");
    let later = files.path().join("later");
    let mut runners = examples().map(|(mut world, words)| {
        let issue = woken(&mut world);
        fail_for(&mut world, 5, LOSE_THE_CONNECTION);
        let runner = Runner::start(&world, &words, 12, &later);
        (world, issue, runner)
    });
    for (world, ..) in &mut runners {
        wait_until("the run has shown a sign of life", || world.count("runs where heartbeat_at > created_at") == 1);
    }
    std::fs::write(&later, "").expect("a file");
    for (world, issue, runner) in &mut runners {
        assert!(runner.end().success(), "{:?}", world.on);
        assert_eq!((&*world.status("issues", issue), world.count("runs where status = 'succeeded'")), ("in_review", 1));
    }
}

#[test]
fn a_database_that_is_away_for_longer_than_a_lease_has_a_runner_end_its_agent() {
    let files = files().expect("a folder");
    let runners = [LOSE_THE_CONNECTION, "perform pg_sleep(600)"].map(|how| {
        examples().map(|(mut world, words)| {
            woken(&mut world);
            fail_for(&mut world, 600, how);
            let runner = Runner::start(&world, &words, 3, &files.path().join("never"));
            (world, runner)
        })
    });
    for (_world, runner) in runners.into_iter().flatten() {
        runner.ends_its_agent();
    }
}

#[test]
fn a_runner_that_cannot_write_to_its_file_for_longer_than_a_lease_ends_its_agent() {
    let [.., (mut world, words)] = examples();
    woken(&mut world);
    let files = files().expect("a folder");
    let runner = Runner::start(&world, &words, 3, &files.path().join("never"));
    runner.agent();
    world.run("begin immediate");
    runner.ends_its_agent();
}

#[test]
fn a_runner_that_is_asked_to_end_ends_its_agent() {
    let files = files().expect("a folder");
    let runners = examples().map(|(mut world, words)| {
        woken(&mut world);
        let runner = Runner::start(&world, &words, 300, &files.path().join("never"));
        (world, runner)
    });
    for (_world, runner) in runners {
        runner.agent();
        assert!(signal("TERM", &runner.process.id().to_string()));
        runner.ends_its_agent();
    }
}

#[test]
fn a_lease_of_a_second_is_long_enough_for_signs_of_life() {
    let [(mut world, words), ..] = examples();
    let files = files().expect("a folder");
    let start = |world: &mut World| {
        woken(world);
        Runner::start(world, &words, 1, &files.path().join("never"))
    };
    let mut runner = start(&mut world);
    wait_until("a run has shown a sign of life", || {
        // On a machine that is busy, a statement may take longer than this lease.
        if runner.process.try_wait().expect("a runner").is_some() {
            runner = start(&mut world);
        }
        0 < world.count("runs where heartbeat_at > created_at")
    });
}
