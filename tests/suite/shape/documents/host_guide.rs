//! docs/hosts.md, from a team's own three tables to a certificate.

use super::Page;
use super::blocks::Block;
use super::comparison::{compare, turn};
use super::reader::{Client, Reader};
use crate::support::databases::{connect_server, database_url, new_database, run};
use crate::support::folder::example;
use crate::support::scratch::hand_over;

pub const GUIDE: &str = "docs/hosts.md";

#[test]
fn the_guide_to_a_teams_own_tables_can_be_followed_to_its_certificate() {
    let _turn = turn();
    let (page, name) = (Page::load(GUIDE), "sweep_test_host_guide");
    new_database(name);
    let blocks: Vec<Block> = page.blocks().into_iter().filter(Block::is_followed).collect();
    let printed = Reader::new(Client::Psql, Some(hand_over(&database_url(name)))).follow(&blocks);
    compare(&page, &blocks, &printed);
    assert!(printed.concat().concat().contains("All 13 promises that were tried are kept."));
    run(&mut connect_server(), &format!("drop database {name} with (force)"));
}

#[test]
fn the_guide_shows_every_line_of_the_example() {
    let blocks = Page::load(GUIDE).blocks();
    let shown = |is_shown: fn(&Block) -> bool| lines(blocks.iter().filter(|block| is_shown(block)));
    let files = |names: &[&str]| {
        let read = |name: &&str| std::fs::read_to_string(example(name)).expect("a file");
        names.iter().map(read).collect::<String>().lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let folder: Vec<String> =
        files(&["postgres/0001_work/up.sql", "postgres/0001_work/down.sql", "postgres/fixtures.sql"]);
    assert_eq!(shown(|block| block.language == "sql" && block.mark.is_some()), folder);
    let tables: Vec<String> = files(&["tables.sql"]);
    assert_eq!(shown(|block| block.text.contains("create table workers")), tables);
    let manifest: Vec<String> = files(&["host.toml"]);
    assert_eq!(shown(|block| block.language == "toml" && block.mark.is_none()), manifest);
}

fn lines<'a>(blocks: impl Iterator<Item = &'a Block>) -> Vec<String> {
    let lines = blocks.flat_map(|block| block.text.lines());
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}
