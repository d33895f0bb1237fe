//! The tables of docs/settings.md are made from the table of settings.

use std::fmt::Write;

use sweep::settings::definition::{Group, KnownSetting};
use sweep::settings::table::GROUPS;

use super::Page;
use super::comparison::{is_blessing, turn};
use super::prose::wrapped;

const BEGIN: &str = "<!-- settings: begin -->\n";
const END: &str = "\n<!-- settings: end -->\n";

#[test]
fn the_settings_in_the_document_are_those_of_the_table() {
    let _turn = turn();
    let page = Page::load("docs/settings.md");
    let (before, made) = page.text.split_once(BEGIN).expect("a line below which all is made");
    let (made, after) = made.split_once(END).expect("a line above which all is made");
    let sections: String = titles().into_iter().map(section).collect();
    if is_blessing() {
        std::fs::write(&page.path, format!("{before}{BEGIN}{sections}{END}{after}")).expect("a page");
    } else {
        assert_eq!(made, sections, "`make documents` writes them anew");
    }
}

/// Each line of `--help` is understood alone.
#[test]
fn every_setting_has_a_line_of_its_own() {
    for known in GROUPS.iter().flat_map(|group| &group.settings) {
        let meaning = known.meaning();
        assert!(!meaning.starts_with('…') && 20 < meaning.len() && meaning.ends_with('.'), "{}: {meaning}", known.name);
        assert!(!known.help().contains(".."), "{}: {}", known.name, known.help());
    }
}

/// The titles of the groups, in the order of the table.
fn titles() -> Vec<&'static str> {
    let mut titles: Vec<&str> = Vec::new();
    for Group { title, .. } in GROUPS.iter() {
        if !titles.contains(title) {
            titles.push(title);
        }
    }
    titles
}

fn section(title: &str) -> String {
    let groups = || GROUPS.iter().filter(|group| group.title == title);
    let mut text = format!("\n## {title}\n");
    for intro in groups().map(|group| &group.intro).filter(|intro| !intro.is_empty()) {
        let _ = write!(text, "{}\n\n", wrapped(intro));
    }
    text += "| setting | default | meaning |\n|---|---|---|\n";
    for known in groups().flat_map(|group| &group.settings) {
        let _ = writeln!(text, "| {} | {} | {} |", name(known), default(known), known.meaning());
    }
    text
}

fn name(known: &KnownSetting) -> String {
    let variable = known.variable();
    if known.is_secret { format!("`{variable}`, or `{variable}_FILE`") } else { format!("`{variable}`") }
}

fn default(known: &KnownSetting) -> String {
    if known.default.is_empty() { "none".to_owned() } else { format!("`{}`", known.default) }
}
