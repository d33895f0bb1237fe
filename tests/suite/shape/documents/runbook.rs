//! docs/runbook.md names each alert, exit code, verdict of the guard and state of the sweeper that there is, and its
//! statements are ones that a server accepts.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sweep::conclusion::Conclusion;
use sweep::rules::Kind;
use sweep::sweep::{Guarded, HeldBack};

use super::Page;
use super::blocks::Block;
use super::reader::{Client, Reader};
use crate::support::json::{schema_file, schemas};
use crate::support::world::{On, World};

const RUNBOOK: &str = "docs/runbook.md";
const RULES: &str = "deploy/prometheus/sweep.rules.yml";

/// The text below a heading, down to the next heading of the same depth.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    let depth = heading.split(' ').next().expect("the mark of a heading");
    rest.split(&format!("\n{depth} ")).next().expect("a text")
}

/// The first cell of each row of the tables in a section.
fn first_cells(section: &str) -> impl Iterator<Item = &str> {
    section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
}

/// The alerts of Prometheus' rules, each with the heading to which its link leads.
fn alerts(rules: &str) -> Vec<(String, String)> {
    let after =
        |mark: &str| rules.lines().filter_map(|line| Some(line.trim().strip_prefix(mark)?.to_owned())).collect();
    let (names, links): (Vec<String>, Vec<String>) = (after("- alert: "), after("runbook_url: "));
    assert_eq!(names.len(), links.len(), "an alert without a link");
    names.into_iter().zip(links).collect()
}

/// What a report says of each way in which the guard can hold work back.
fn verdicts() -> [String; 4] {
    let kind = Kind::Issue;
    let guarded = Guarded { stranded: 30, in_progress: 41, ..Guarded::default() };
    let held_back = |agent: Value, id: Value| {
        let fields = json!({
            "tenant": "acme", "agent": agent, "agent_id": id,
            "stranded": 30, "at_least": false, "undecided": false, "in_progress": 41,
        });
        serde_json::from_value::<HeldBack>(fields).expect("a part that is held back").sentence(kind)
    };
    [
        guarded.sentence(kind),
        held_back(Value::Null, Value::Null),
        held_back(json!("Bruno"), json!("b7")),
        Guarded { at_least: true, undecided: true, ..guarded }.sentence(kind),
    ]
}

/// The states of the sweeper, as the JSON of `sweep attention` has them.
fn states() -> Vec<String> {
    fn find(schema: &Value) -> Option<Vec<String>> {
        if let Some(values) = schema.get("enum").and_then(Value::as_array).filter(|it| it.contains(&json!("never"))) {
            return Some(values.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        }
        let inside: Vec<&Value> = match schema {
            Value::Object(fields) => fields.values().collect(),
            Value::Array(values) => values.iter().collect(),
            _ => Vec::new(),
        };
        inside.into_iter().find_map(find)
    }
    let schemas = schemas();
    find(&schemas[&schema_file("attention")])
        .or_else(|| schemas.values().find_map(find))
        .expect("the states of the sweeper")
}

/// What the runbook lacks, and what it has that there is not.
fn wrong(page: &str, rules: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let headings: BTreeSet<&str> =
        section(page, "## Alerts").lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let alerts = alerts(rules);
    for (name, link) in &alerts {
        if !headings.contains(name.as_str()) {
            wrong.push(format!("the alert {name} has no section"));
        }
        if !link.ends_with(&format!("/{RUNBOOK}#{}", name.to_lowercase())) {
            wrong.push(format!("the alert {name} leads to {link}"));
        }
    }
    let unknown = headings.iter().filter(|heading| !alerts.iter().any(|(name, _)| name == *heading));
    wrong.extend(unknown.map(|heading| format!("there is no alert {heading}")));

    let numbers = first_cells(section(page, "## Exit codes")).flat_map(|cell| cell.split(", "));
    let named: BTreeSet<i32> = numbers.filter_map(|number| number.parse().ok()).collect();
    let codes: BTreeSet<i32> = (0..=255).filter(|code| Conclusion::of(*code).is_some()).collect();
    wrong.extend(codes.difference(&named).map(|code| format!("the exit code {code} has no row")));
    wrong.extend(named.difference(&codes).map(|code| format!("there is no exit code {code}")));

    let rows: BTreeSet<&str> = first_cells(section(page, "## Verdicts of the guard")).collect();
    let is_named = |verdict: &String| rows.contains(format!("`{verdict}`").as_str());
    wrong.extend(verdicts().iter().filter(|it| !is_named(it)).map(|it| format!("no row has the verdict {it}")));

    let rows: BTreeSet<&str> = first_cells(section(page, "## Health")).collect();
    let is_named = |state: &String| rows.contains(format!("`{state}`").as_str());
    wrong.extend(states().iter().filter(|it| !is_named(it)).map(|it| format!("the state {it} has no row")));
    wrong
}

#[test]
fn the_runbook_names_each_alert_exit_code_verdict_and_state_that_there_is() {
    assert_eq!(wrong(&Page::load(RUNBOOK).text, &Page::load(RULES).text), Vec::<String>::new());
}

/// Negative control: each kind of gap is found.
#[test]
fn a_runbook_that_lacks_something_or_names_what_is_not_there_is_found() {
    let (page, rules) = (Page::load(RUNBOOK).text, Page::load(RULES).text);
    for (from, to, expected) in [
        ("### SweepLate\n", "### SweepSoon\n", "the alert SweepLate has no section"),
        ("### SweepLate\n", "### SweepLate\n\n### SweepSoon\n", "there is no alert SweepSoon"),
        ("| 75 | ", "| 76 | ", "the exit code 75 has no row"),
        ("| 75 | ", "| 75, 76 | ", "there is no exit code 76"),
        ("of the tenant acme look stranded", "of a tenant look stranded", "no row has the verdict Guard: 30 of the 41"),
        ("there was no time to look", "it took too long to look", "no row has the verdict Guard: at least 30"),
        ("| `late` | ", "| `soon` | ", "the state late has no row"),
    ] {
        assert!(page.contains(from), "{from}");
        let found = wrong(&page.replace(from, to), &rules);
        assert!(found.iter().any(|line| line.starts_with(expected)), "{expected}: {found:#?}");
    }
    let found = wrong(&page, &rules.replace("docs/runbook.md#sweeplate", "docs/operating.md#sweeplate"));
    assert!(found.len() == 1 && found[0].starts_with("the alert SweepLate leads to "), "{found:#?}");
    let found = wrong(&page, &rules.replace("- alert: SweepLate", "- alert: SweepSoon"));
    assert_eq!(found.len(), 3, "no section, another link, and a section of no alert: {found:#?}");
}

#[test]
fn each_statement_of_the_runbook_is_accepted_by_a_server() {
    let world = World::new(On::Postgres);
    let blocks = Page::load(RUNBOOK).blocks();
    let statements = blocks.iter().filter_map(|block| block.text.strip_prefix("$ psql "));
    let blocks: Vec<Block> = statements.map(|rest| Block::new("sh", &format!("psql -X {rest}"))).collect();
    assert!(5 <= blocks.len(), "{blocks:#?}");
    Reader::new(Client::Psql, Some(world.url.clone())).follow(&blocks);
}
