//! docs/native.md, from an empty database to recovered work: on PostgreSQL as it stands there, on SQLite as it says.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;
use sweep::rules::Id;
use sweep::sweep::logs::EMPTY;

use super::Page;
use super::blocks::Block;
use super::comparison::{compare, expect_as_shown, turn};
use super::reader::{Client, Reader};
use crate::support::databases::{connect_server, database_url, files, new_database, run};
use crate::support::program::command_at;
use crate::support::wait::wait_until;
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

/// A runner whose agent works until the file `done` is there. It has a process group, with its agent.
struct Runner(std::process::Child);

impl Runner {
    fn start(world: &World, words: &[String], done: &str) -> Runner {
        let work = ["sh", "-c", "until [ -e \"$0\" ]; do sleep 0.05; done", done];
        let mut command = Command::new(&words[0]);
        let command = command.args(&words[1..]).args(work).env("DATABASE_URL", &world.url).process_group(0);
        Runner(command.env("LEASE_SECONDS", "300").spawn().expect("a runner"))
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), "--", &format!("-{}", self.0.id())]).status();
        assert!(sent.expect("kill").success());
    }

    fn end(&mut self) {
        self.0.wait().expect("an end");
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.0.id())]).output();
        let _ = self.0.wait();
    }
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
        let (never, at_once) = (files.path().join("never"), files.path().to_owned());
        let mut runner = Runner::start(&world, &words, never.to_str().expect("a path"));
        wait_for_run(&mut world);
        assert!(["healthy", "not examined"].contains(&world.sweep().outcome(&issue)), "it lives: {words:?}");
        runner.signal("KILL");
        runner.end();
        lease_runs_out(&mut world);

        assert_eq!(world.sweep().outcome(&issue), "continued", "{words:?}");
        assert_eq!((world.sweep().outcome(&issue), world.wakes_for(&issue)), ("healthy", 1), "once: {words:?}");
        Runner::start(&world, &words, at_once.to_str().expect("a path")).end();
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
        let (later, at_once) = (files.path().join("later"), files.path().to_owned());
        let mut old = Runner::start(&world, &words, later.to_str().expect("a path"));
        wait_for_run(&mut world);
        old.signal("STOP");
        lease_runs_out(&mut world);
        assert_eq!(world.sweep().outcome(&issue), "continued", "{words:?}");
        Runner::start(&world, &words, at_once.to_str().expect("a path")).end();
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
    let mut runner = Runner::start(&world, &words, files.path().join("never").to_str().expect("a path"));
    wait_for_run(&mut world);
    runner.signal("KILL");
    runner.end();
    assert!(["healthy", "not examined"].contains(&world.sweep().outcome(&issue)), "its lease holds");
    Runner::start(&world, &words, "/").end();
    assert_eq!((world.sweep().outcome(&issue), world.count("runs where status = 'interrupted'")), ("continued", 1));
}
