//! docs/native.md, from an empty database to recovered work: on PostgreSQL as it stands there, on SQLite as it says.

use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;
use sweep::rules::Id;
use sweep::sweep::logs::EMPTY;

use super::Page;
use super::blocks::Block;
use super::comparison::{compare, expect_as_shown, turn};
use super::reader::{Client, Reader};
use crate::support::databases::{connect_server, database_url, new_database, run};
use crate::support::program::command_at;
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
    let example = |name: &str| format!("{}/examples/native/{name}", env!("CARGO_MANIFEST_DIR"));
    each_wake_is_taken_once(&mut World::new(On::Postgres), &[&example("runner.sh")]);
    let mut world = World::new(On::Sqlite);
    let file = world.url.trim_start_matches("sqlite://").to_owned();
    each_wake_is_taken_once(&mut world, &[&example("runner.py"), &file]);
}
