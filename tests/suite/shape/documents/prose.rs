//! The form of all pages: the front page is short, no line of prose is long, and every link leads somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use super::Page;

/// The most characters of a line of prose.
pub const WIDTH_MAX: usize = 100;

const FRONT_PAGE_LINES_MAX: usize = 130;

/// Directories that hold no page of the project.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

static DESTINATION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\([^)\s]*\)").expect("an expression"));
static ANCHOR: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"<a id="([^"]+)"></a>"#).expect("an expression"));
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(src|tests|docs|deploy|migrations|benches|examples)/[A-Za-z0-9_./-]*$").expect("an expression")
});
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(docs/[a-z-]+|README|ARCHITECTURE|SECURITY|CONTRIBUTING)\.md(#[a-z0-9-]+)?").expect("an expression")
});

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files below a directory of the project that have one of these endings.
fn files(directory: &str, endings: &[&str]) -> Vec<PathBuf> {
    let (mut found, mut directories) = (Vec::new(), vec![root().join(directory)]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let is_skipped = path.file_name().is_some_and(|name| SKIPPED.iter().any(|skipped| name == *skipped));
            let is_wanted = path.extension().is_some_and(|ending| endings.iter().any(|wanted| ending == *wanted));
            match path.is_dir() {
                true if !is_skipped => directories.push(path),
                false if is_wanted => found.push(path),
                true | false => {}
            }
        }
    }
    found.sort();
    found
}

/// Every page of the project.
fn pages() -> Vec<Page> {
    let read = |path: PathBuf| Page::load(&path.strip_prefix(root()).expect("a page below the root").to_string_lossy());
    files(".", &["md"]).into_iter().map(read).collect()
}

/// The parts of a page that are no prose: code, tables, and comments.
fn exempt(text: &str) -> Vec<Range<usize>> {
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    let is_exempt = |event: &Event| match event {
        Event::Start(Tag::CodeBlock(_) | Tag::Table(_)) => true,
        Event::Html(html) => html.starts_with("<!--"),
        _ => false,
    };
    parser.filter(|(event, _)| is_exempt(event)).map(|(_, range)| range).collect()
}

/// The lines of prose that are too long; the target of a link does not count.
fn long_lines(text: &str) -> Vec<&str> {
    let (exempt, mut begins_at) = (exempt(text), 0);
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let is_exempt = exempt.iter().any(|range| range.start < begins_at + line.len() && begins_at < range.end);
        let shown = DESTINATION.replace_all(line.trim_end(), "]");
        if !is_exempt && WIDTH_MAX < shown.chars().count() {
            found.push(line);
        }
        begins_at += line.len();
    }
    found
}

/// A text, broken into lines of at most `WIDTH_MAX` characters.
pub fn wrapped(text: &str) -> String {
    wrapped_within(WIDTH_MAX, text)
}

pub fn wrapped_within(width: usize, text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("a line");
        match line.is_empty() || line.chars().count() + 1 + word.chars().count() <= width {
            true => *line += &[if line.is_empty() { "" } else { " " }, word].concat(),
            false => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// The names of a page's headings and anchors, to which links may lead.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = ANCHOR.captures_iter(text).map(|name| name[1].to_owned()).collect();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
            (Event::Text(part) | Event::Code(part), Some(heading)) => *heading += &part,
            (Event::End(TagEnd::Heading(_)), Some(text)) => {
                let is_kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
                let name: String = text.to_lowercase().chars().filter(is_kept).collect();
                found.insert(name.replace(' ', "-"));
                heading = None;
            }
            (_, _) => {}
        }
    }
    found
}

/// The targets of a page's links, as they are written.
fn links(text: &str) -> Vec<String> {
    let of = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    };
    let is_elsewhere = |link: &String| link.contains("://") || link.starts_with("mailto:");
    Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(of).filter(|link| !is_elsewhere(link)).collect()
}

/// True if a link on this page leads to something that exists.
fn leads_somewhere(page: &Path, text: &str, link: &str) -> bool {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = page.parent().expect("a directory").join(path);
    match (path.is_empty(), anchor) {
        (true, Some(anchor)) => anchors(text).contains(anchor),
        (_, None) => target.exists(),
        (false, Some(anchor)) => fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor)),
    }
}

/// The paths of the project that a page names, as code, and that do not exist.
fn dead_paths(text: &str) -> Vec<String> {
    let of = |event| match event {
        Event::Code(code) if PATH.is_match(&code) => Some(code.to_string()),
        _ => None,
    };
    Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(of).filter(|path| !root().join(path).exists()).collect()
}

/// The pages that a file of the code names and that do not exist.
fn dead_references(text: &str) -> Vec<&str> {
    let named = REFERENCE.find_iter(text).map(|found| found.as_str());
    named.filter(|page| !leads_somewhere(&root().join("Cargo.toml"), "", page)).collect()
}

/// The pages to which an index has no link.
fn not_in(index: &str, pages: &[String]) -> Vec<String> {
    let linked = links(index);
    pages.iter().filter(|page| !linked.contains(page)).cloned().collect()
}

fn is_a_front_page(text: &str) -> bool {
    text.lines().count() <= FRONT_PAGE_LINES_MAX
}

#[test]
fn the_front_page_is_short() {
    assert!(is_a_front_page(&Page::load("README.md").text));
}

#[test]
fn no_line_of_prose_is_longer_than_a_hundred_characters() {
    let pages = pages();
    assert!(20 < pages.len());
    let of = |page: &Page| -> Vec<String> {
        long_lines(&page.text).iter().map(|line| format!("{}: {line}", page.path.display())).collect()
    };
    let long: Vec<String> = pages.iter().flat_map(of).collect();
    assert!(long.is_empty(), "{}", long.concat());
}

#[test]
fn every_link_of_a_page_leads_to_something_that_exists() {
    let pages = pages();
    let all: Vec<(&Page, String)> =
        pages.iter().flat_map(|page| links(&page.text).into_iter().map(move |link| (page, link))).collect();
    assert!(100 < all.len(), "{}", all.len());
    let is_dead = |(page, link): &&(&Page, String)| !leads_somewhere(&page.path, &page.text, link);
    let dead = all.iter().filter(is_dead);
    let dead: Vec<String> = dead.map(|(page, link)| format!("{}: {link}\n", page.path.display())).collect();
    assert!(dead.is_empty(), "{}", dead.concat());
}

/// The changelog is left out: it describes the past.
#[test]
fn every_path_that_a_page_names_exists() {
    for Page { path, text } in pages().into_iter().filter(|page| !page.path.ends_with("CHANGELOG.md")) {
        assert_eq!(dead_paths(&text), Vec::<String>::new(), "{}", path.display());
    }
}

#[test]
fn every_page_that_the_code_names_exists() {
    let directories = ["src", "deploy", "migrations", "benches", "examples"];
    let endings = ["rs", "sql", "yml", "yaml", "toml", "service", "env", "sh", "py"];
    let mut seen = 0;
    for path in directories.iter().flat_map(|directory| files(directory, &endings)) {
        let text = fs::read_to_string(&path).expect("a text");
        assert_eq!(dead_references(&text), Vec::<&str>::new(), "{}", path.display());
        seen += REFERENCE.find_iter(&text).count();
    }
    assert!(20 < seen, "{seen}");
}

#[test]
fn the_index_names_every_page_of_the_documentation() {
    let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    let pages: Vec<String> = files("docs", &["md"]).iter().map(name).filter(|name| name != "README.md").collect();
    assert!(10 < pages.len());
    assert_eq!(not_in(&Page::load("docs/README.md").text, &pages), Vec::<String>::new());
}

/// Negative control of the tests above.
#[test]
fn long_pages_and_lines_dead_links_and_pages_that_are_not_named_are_found() {
    assert!(is_a_front_page(&"a line\n".repeat(130)) && !is_a_front_page(&"a line\n".repeat(131)));
    assert_eq!(dead_references("as docs/json.md#what-is-promised and docs/none.md say"), ["docs/none.md"]);
    assert_eq!(dead_references("SECURITY.md#no-such-heading"), ["SECURITY.md#no-such-heading"]);
    assert_eq!(dead_paths("`src/` and `tests/suite/none.rs`, `cd src/none`"), ["tests/suite/none.rs"]);
    let pages = ["a.md", "b.md"].map(str::to_owned);
    assert_eq!(not_in("[A](a.md), and b.md, to which there is no link", &pages), ["b.md"]);

    let long = format!("{}long", "a ".repeat(50));
    assert_eq!(long_lines(&format!("# A page\n\n{long}\n")), [format!("{long}\n")]);
    assert_eq!(long_lines(&format!("- an item\n  {long}\n")).len(), 1, "in a list");
    assert_eq!(long_lines(&format!("```text\n{long}\n```\n\n| a |\n|---|\n| {long} |\n\n<!-- {long} -->\n")).len(), 0);
    let linked = format!("[short](https://example.org/{})", "a".repeat(100));
    assert_eq!(long_lines(&linked).len(), 0, "where a link leads is not shown");

    let text = "# How it `works`: an example\n\n<a id=\"by-hand\"></a> **By hand.** See [it](#by-hand).\n";
    assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), ["by-hand", "how-it-works-an-example"]);
    assert_eq!(links(text), ["#by-hand"]);
    assert_eq!(links("[a](https://example.org) [b](docs/x.md#y) ![c](d.png)"), ["docs/x.md#y", "d.png"]);
    let leads = |link| leads_somewhere(&root().join("README.md"), text, link);
    assert!(leads("#by-hand") && leads("docs") && leads("docs/json.md") && leads("docs/json.md#what-is-promised"));
    let dead = ["#by-foot", "docs/no-such-page.md", "docs/json.md#no-such-heading", "no-such-directory"];
    assert!(!dead.iter().any(|link| leads(link)));
}
