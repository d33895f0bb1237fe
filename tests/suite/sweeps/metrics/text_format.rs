//! The text is what Prometheus 2 and node_exporter read: each value below its meaning and its type.

use std::collections::{BTreeMap, BTreeSet};

use sweep::metrics::{Condition, DaemonState, DatabaseState, text};
use sweep::store::connect::databases::Found;
use sweep::store::connect::open::Url;

/// The values by name and labels, without `sweep_`. Checks the text's structure line by line.
pub fn samples(text: &str) -> BTreeMap<String, f64> {
    let (mut found, mut families, mut family) = (BTreeMap::new(), BTreeSet::new(), None::<(String, String)>);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, meaning) = help.split_once(' ').expect("a meaning");
            let of = lines.next().and_then(|line| line.strip_prefix(&format!("# TYPE {name} ")).map(str::to_owned));
            let of = of.unwrap_or_else(|| panic!("{name} has no type"));
            assert!(!meaning.is_empty() && families.insert(name.to_owned()), "{line}");
            assert_eq!(of == "counter", name.ends_with("_total"), "{name} is a {of}");
            assert!(lines.peek().is_some_and(|line| line.starts_with(name)), "{name} has no value");
            family = Some((name.to_owned(), of));
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("a value");
        let (of, _) = family.as_ref().unwrap_or_else(|| panic!("{line} has no type"));
        let bare = name.split('{').next().expect("a name");
        assert_eq!(bare, of);
        let name = name.strip_prefix("sweep_").expect("sweep_").to_owned();
        assert!(found.insert(name, value.parse().expect("a number")).is_none(), "twice: {line}");
    }
    assert!(text.ends_with('\n') && !text.contains("# EOF"));
    found
}

#[test]
fn without_a_database_the_daemon_reports_what_it_knows_by_itself() {
    let at = chrono::DateTime::from_timestamp(1_795_333_229, 0);
    let found = Found::alone(Url::Sqlite("acme.db".into()));
    let state = DaemonState {
        completed: 3,
        next_sweep_at: at,
        databases: vec![DatabaseState { found, condition: Condition::Unknown, is_listening: true }],
        run_ends: 4_000_000_000,
        ..DaemonState::default()
    };

    let reported = samples(&text(Vec::new(), Some(state)));

    for (name, value) in [
        (r#"daemon_sweeps_total{ended="completed"}"#, 3.0),
        (r#"daemon_sweeps_total{ended="failed"}"#, 0.0),
        (r#"daemon_sweeps_total{ended="interrupted"}"#, 0.0),
        ("daemon_next_sweep_timestamp_seconds", 1_795_333_229.0),
        ("daemon_database_up", 0.0),
        ("daemon_hung", 0.0),
        ("daemon_listening", 1.0),
        ("daemon_run_ends_total", 4e9),
    ] {
        assert_eq!(reported.get(name), Some(&value), "{name}: {reported:?}");
    }
    assert_eq!(reported.len(), 9, "and build_info: {reported:?}");
}

/// The names are all words of the source that have an underscore.
#[test]
fn every_metric_is_in_the_documentation_and_no_other() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/metrics.md");
    let page = std::fs::read_to_string(path).expect("docs/metrics.md");
    let source = include_str!("../../../../src/metrics.rs");
    let names = source
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|word| word.contains('_') && word.chars().all(|c| c.is_lowercase() || c.is_numeric() || c == '_'));
    let names: BTreeSet<&str> = names.collect();
    assert!(names.len() > 15, "{names:?}");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `sweep_")?.split('`').next());
    for name in rows {
        assert!(names.contains(name), "docs/metrics.md has sweep_{name}, and src/metrics.rs does not");
    }
    for name in names {
        assert!(page.contains(&format!("`sweep_{name}`")), "sweep_{name} is not in docs/metrics.md");
    }
}
