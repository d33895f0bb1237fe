//! The documents: a reader who follows their examples from top to bottom sees what they show.

mod blocks;
mod comparison;
mod derived_schemas;
mod host_guide;
mod host_reference;
mod json_fields;
mod native_guide;
mod native_mistakes;
mod prose;
mod quoted;
mod reader;
mod runbook;
mod schema;
mod settings;
mod start_guide;

use std::path::{Path, PathBuf};

use crate::support::program::sweep;
use blocks::{Block, MARKS};
use comparison::{compare, turn};
use reader::{Client, Reader};

/// The pages that begin with a database of their own; each has a test in the module of its name.
const GUIDES: [&str; 3] = [native_guide::GUIDE, host_guide::GUIDE, start_guide::GUIDE];

/// A page of the project.
pub struct Page {
    pub path: PathBuf,
    pub text: String,
}

impl Page {
    pub fn load(name: &str) -> Page {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        Page { path, text }
    }

    /// README.md and docs/, without the guides that begin with a database of their own.
    fn load_all() -> Vec<Page> {
        let docs = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")).expect("docs");
        let names = docs.map(|entry| format!("docs/{}", entry.expect("an entry").file_name().display()));
        let pages = names.filter(|name| name.ends_with(".md") && !GUIDES.contains(&name.as_str()));
        ["README.md".to_owned()].into_iter().chain(pages).map(|name| Page::load(&name)).collect()
    }

    /// True if the page says how a reader gets the demo's company as it is at the start.
    fn begins_with_the_company(&self) -> bool {
        self.text.contains("\n```sh\nsweep demo --keep --at start --database sqlite://acme.db\n")
    }
}

#[test]
fn every_example_of_the_documents_can_be_followed_in_order() {
    let _turn = turn();
    let (followed, others): (Vec<Page>, Vec<Page>) =
        Page::load_all().into_iter().partition(Page::begins_with_the_company);
    assert!(followed.iter().any(|page| page.path.ends_with("README.md")) && 3 <= followed.len());
    for page in followed {
        let blocks: Vec<Block> = page.blocks().into_iter().filter(Block::is_followed).collect();
        assert!(blocks.iter().any(|block| block.language == "console"), "{}", page.path.display());
        let printed = Reader::new(Client::Sqlite, None).follow(&blocks);
        compare(&page, &blocks, &printed);
    }
    for page in others {
        let lost = page.blocks().into_iter().find(|block| block.language == "console" && block.is_followed());
        assert_eq!(lost, None, "{} does not say with which database", page.path.display());
    }
}

#[test]
fn few_examples_are_marked_as_such_that_cannot_be_followed() {
    let mut marked = Vec::new();
    for block in Page::load_all().iter().flat_map(Page::blocks) {
        assert!(block.is_an_example() || !block.text.starts_with("$ sweep"), "not marked by its kind: {}", block.text);
        if !block.is_an_example() {
            assert!(block.shows_nothing(), "no test prints what it shows: {}", block.text);
            continue;
        }
        let Some(mark) = &block.mark else { continue };
        assert!(MARKS.contains(&mark.as_str()), "{mark}: {}", block.text);
        let command = block.text.trim_start_matches("$ ");
        match mark.as_str() {
            "endless" => assert!(command.starts_with("sweep daemon"), "{}", block.text),
            "receivers" => assert!(command.starts_with("sweep notify test"), "{}", block.text),
            _ => {
                assert!(command.starts_with("sweep watch") && block.shows_nothing(), "{}", block.text);
                marked.push(block);
            }
        }
    }
    assert!(marked.len() <= 6, "{marked:#?}");
}

#[test]
fn the_demo_keeps_its_database_as_it_is_at_the_start() {
    let directory = tempfile::tempdir().expect("a directory");
    let temporary = directory.path().display().to_string();
    for arguments in [vec!["demo", "--keep", "--at", "start"], vec!["demo", "--at", "start"]] {
        let ran = sweep(arguments).env("TMPDIR", &temporary).run().done();
        let url =
            ran.out.lines().find_map(|line| line.trim().strip_prefix("export DATABASE_URL=")).expect("where it is");
        let status = sweep(["status", "--output", "json"]).env("DATABASE_URL", url).run().done().json();
        assert_eq!(
            (&status["sweeper"]["sweeps"], &status["sweeper"]["last_success_at"]),
            (&serde_json::json!([]), &serde_json::Value::Null)
        );
        assert!(0 < status["orphans_total"].as_i64().expect("a number"));
    }
    sweep(["demo"]).env("TMPDIR", &temporary).run().done();
    assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 2, "one that is not kept is removed");
}
