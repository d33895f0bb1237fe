//! The shape of the code: which module may import which, and how long a file may be.

mod circles;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files below a directory with this ending, and their texts.
pub(super) fn files(directory: &str, ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                let text = fs::read_to_string(&path).expect("a file");
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "no {ending} below {directory}");
    found
}

/// The files of one module: `src/store.rs` and all below `src/store/`.
fn module(name: &str) -> Vec<(PathBuf, String)> {
    let inside = |path: &Path| {
        let path = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("a path in the project").display().to_string();
        path == format!("src/{name}.rs") || path.starts_with(&format!("src/{name}/"))
    };
    files("src", "rs").into_iter().filter(|(path, _)| inside(path)).collect()
}

/// Every module except these.
fn all_but(names: &[&str]) -> Vec<String> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("a directory");
    let names_of_all = entries.filter_map(|entry| entry.expect("an entry").file_name().into_string().ok());
    let modules = names_of_all.filter_map(|file| file.strip_suffix(".rs").map(str::to_owned));
    modules.filter(|module| !names.contains(&module.as_str())).collect()
}

fn refuse(modules: &[impl AsRef<str>], words: &[&str]) {
    refuse_except(&[], modules, words);
}

fn refuse_except(exceptions: &[&str], modules: &[impl AsRef<str>], words: &[&str]) {
    let is_excepted = |path: &Path| exceptions.iter().any(|exception| path.ends_with(exception));
    let files = modules.iter().flat_map(|name| module(name.as_ref()));
    for (path, text) in files.filter(|(path, _)| !is_excepted(path)) {
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in words {
                assert!(!code.contains(word), "{}:{}: `{word}` does not belong here", path.display(), number + 1);
            }
        }
    }
}

#[test]
fn the_rules_are_pure() {
    let outside = ["diesel", "tokio", "anyhow", "tracing", "uuid", "std::env", "std::fs", "std::time", "Utc::now"];
    refuse(&["rules"], &outside);
    let known = ["std", "chrono", "serde", "anstream::adapter", "strum", "super", "crate::rules", "proptest", "rstest"];
    for (path, text) in module("rules") {
        let imports = text.lines().map(str::trim_start).filter_map(|line| line.strip_prefix("use "));
        for import in imports.filter(|import| import.contains("::")) {
            let is_local = import.starts_with(|c: char| c.is_lowercase())
                && text.contains(&format!("mod {};", import.split("::").next().unwrap_or_default()));
            assert!(
                is_local || known.iter().any(|known| import.starts_with(known)),
                "{}: use {import}",
                path.display()
            );
        }
    }
}

/// The modules by rank: each imports those above it in this table, and none beside or below it.
const RANKS: [&[&str]; 15] = [
    &["rules", "conclusion", "files", "schedule"],
    &["text", "stall", "http"],
    &["screen", "store"],
    &["notify", "sweep"],
    &["verify", "doctor"],
    &["metrics", "supervisor", "report"],
    &["cycle"],
    &["page"],
    &["daemon"],
    // From here on modules belong to the command line.
    &["parse"],
    &["mcp"],
    &["settings"],
    &["cli"],
    &["telemetry"],
    &["commands"],
];

fn rank_of(module: &str) -> usize {
    RANKS.iter().position(|rank| rank.contains(&module)).unwrap_or_else(|| panic!("{module} has no rank"))
}

/// The imports of a file of this module that its rank does not allow.
fn forbidden_imports(module: &str, text: &str) -> Vec<String> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let imported = code.flat_map(|line| line.split("crate::").skip(1));
    let names = imported.map(|path| path.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default());
    let is_forbidden = |name: &&str| *name != module && rank_of(module) <= rank_of(name);
    names.filter(|name| !name.is_empty()).filter(is_forbidden).map(str::to_owned).collect()
}

#[test]
fn each_module_imports_lower_ranks_only() {
    for name in all_but(&["main", "lib"]) {
        for (path, text) in module(&name) {
            assert_eq!(forbidden_imports(&name, &text), Vec::<String>::new(), "{}", path.display());
        }
    }
}

/// The negative control: one import of each kind that is not allowed, planted where it does harm.
#[test]
fn a_planted_import_of_each_kind_is_refused() {
    for (module, planted) in [
        ("rules", "use crate::text::redact;"),
        ("store", "use crate::settings::Environment;"),
        ("store", "use crate::sweep::Options;"),
        ("sweep", "use crate::settings::resolve::SweepFlags;"),
        ("sweep", "    let url = crate::settings::Environment::of(&[]);"),
        ("sweep", "use crate::report::Report;"),
        ("daemon", "use crate::telemetry;"),
        ("notify", "use crate::sweep;"),
        ("report", "use crate::commands;"),
        ("settings", "use crate::cli::Cli;"),
    ] {
        let names = forbidden_imports(module, &format!("//! crate::rules\nuse crate::rules::Id;\n{planted}\n"));
        assert_eq!(names.len(), 1, "{module}: {planted}");
    }
}

/// The wings of `store` by rank: each imports itself and those before it.
const WINGS: [&str; 5] = ["db", "hosts", "connect", "work", "read"];

/// The imports of a file of this wing that the wing's rank does not allow.
fn forbidden_wings(wing: &str, text: &str) -> Vec<String> {
    let rank = |name: &str| WINGS.iter().position(|wing| *wing == name);
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let imported = code.flat_map(|line| line.split("crate::store::").skip(1));
    let names = imported.map(|path| path.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default());
    names.filter(|name| rank(wing) < rank(name)).map(str::to_owned).collect()
}

#[test]
fn each_wing_of_the_store_imports_lower_wings_only() {
    for wing in WINGS {
        for (path, text) in module(&format!("store/{wing}")) {
            assert_eq!(forbidden_wings(wing, &text), Vec::<String>::new(), "{}", path.display());
        }
    }
    let planted = "use crate::store::work::ledger;\nuse crate::store::db::errors;\n";
    assert_eq!(forbidden_wings("connect", planted), ["work"], "negative control");
    let all: usize = WINGS.iter().map(|wing| module(&format!("store/{wing}")).len()).sum();
    assert_eq!(all + 1, module("store").len(), "each file of the store stands in one of the wings");
}

/// The paths below `src/` that ARCHITECTURE.md names; `documents/prose.rs` checks those from the root.
#[test]
fn each_file_that_the_architecture_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("a page");
    let is_path = |code: &&str| {
        let is_of_a_module = code.split_once('/').is_some_and(|(module, _)| RANKS.concat().contains(&module));
        is_of_a_module && code.chars().all(|c| c.is_ascii_lowercase() || "_/.".contains(c))
    };
    let named: Vec<&str> = page.split('`').filter(is_path).collect();
    let is_dead = |path: &&&str| !root.join("src").join(path.trim_end_matches(".rs")).with_extension("rs").exists();
    assert!(8 < named.len() && named.iter().filter(is_dead).count() == 0, "{named:?}");
}

/// Another database may bear the name of the one that was opened before.
#[test]
fn what_connects_again_looks_at_the_schema_first() {
    refuse(&["sweep", "notify", "supervisor", "daemon"], &["connect(Access", "url.connect(", "database.connect("]);
}

/// Only the face knows the command line.
#[test]
fn the_engine_does_not_know_clap() {
    let engine: Vec<&str> = RANKS[..9].concat();
    refuse(&engine, &["clap"]);
}

/// The user chose these crates, so that each of them does its work here.
#[test]
fn the_crates_that_the_user_chose_are_used() {
    let code: String = files("src", "rs").into_iter().map(|(_, text)| text).collect();
    let chosen = ["anyhow", "diesel", "diesel_migrations", "envy", "tokio_cron_scheduler", "tracing_subscriber"];
    let unused = |names: &[&'static str]| -> Vec<&'static str> {
        names.iter().copied().filter(|name| !code.contains(&format!("{name}::"))).collect()
    };
    assert_eq!(unused(&chosen), [""; 0]);
    assert_eq!(unused(&["no_such_crate"]), ["no_such_crate"], "negative control");
}

/// The live detectors need no database: a control plane has them in its own process.
#[test]
fn the_live_detectors_know_the_rules_alone() {
    for (path, text) in module("stall") {
        let imported = text.lines().filter(|line| line.contains("crate::") && !line.contains("///"));
        for line in imported {
            assert!(line.contains("crate::rules") || line.contains("crate::stall"), "{}: {line}", path.display());
        }
    }
}

/// The names of the crates that these features compile.
fn crates(features: &[&str]) -> BTreeSet<String> {
    let tree = ["tree", "--locked", "--offline", "--edges", "normal", "--prefix", "none", "--no-dedupe"];
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let out = Command::new(env!("CARGO")).args(tree).args(features).arg("--manifest-path").arg(manifest).output();
    let out = out.expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let lines = String::from_utf8(out.stdout).expect("text");
    lines.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn a_user_of_the_library_compiles_fewer_than_30_crates_and_no_database() {
    let heavy = ["diesel", "pq-sys", "libsqlite3-sys", "openssl-sys", "axum", "hyper", "clap", "ureq", "regex"];
    let heavy_of = |crates: &BTreeSet<String>| heavy.iter().filter(|name| crates.contains(**name)).count();
    let library = crates(&["--no-default-features"]);
    assert_eq!(heavy_of(&library), 0, "{library:?}");
    // One more for the user's own.
    assert!(library.len() + 1 < 30, "{} crates: {library:?}", library.len());
    assert_eq!(heavy_of(&crates(&[])), heavy.len(), "negative control: the program needs them all");
}

#[test]
fn only_the_store_speaks_sql_and_only_the_settings_read_the_environment() {
    refuse(&all_but(&["store", "rules"]), &["sql_query", "SELECT ", "batch_execute(\"BEGIN"]);
    refuse(&all_but(&["settings"]), &["std::env::var", "env::vars"]);
}

#[test]
fn every_connection_to_a_file_is_guarded_and_nothing_else_is_unsafe() {
    // The module's own tests compare it with a plain connection.
    let (guard, its_tests) = ("connection/sqlite_guard.rs", "connection/sqlite_guard/tests.rs");
    refuse_except(&[guard, its_tests], &all_but(&[]), &["SqliteConnection::establish"]);
    let unsafe_code = ["unsafe {", "unsafe fn", "t(unsafe_code)", "w(unsafe_code)"];
    refuse_except(&[guard, "connection/sqlite_guard/texts.rs", "src/c_library.rs"], &all_but(&[]), &unsafe_code);
}

/// A host is a folder: decisions.md#a-host-is-a-folder. Tables named by one plain word are left out, since all code
/// uses such words.
#[test]
fn no_table_of_a_host_is_named_in_rust() {
    let hosts = sweep::store::hosts::folders::built_in();
    let tables = hosts.iter().flat_map(|host| host.tables()).filter(|table| table.contains('_')).collect::<Vec<_>>();
    assert!(5 < tables.len(), "{tables:?}");
    refuse(&all_but(&[]), &tables);
}

/// P15: texts are printed through `text::redact`, which does more than bring them on one line.
#[test]
fn texts_of_others_are_shown_in_one_way() {
    refuse(&all_but(&["rules", "text"]), &["one_line("]);
}

/// P10: the only clock is the one in `History::observed_at`; a sweep measures its own time with `Instant`.
/// `sweep/clock.rs` asks this machine's clock once, to tell an operator by how much it differs. A schedule goes by this
/// machine's clock by definition: `daemon/timer.rs`. A message on trial is signed without a database:
/// `notify/trial.rs`.
#[test]
fn nothing_asks_this_machines_clock_for_the_time() {
    let exceptions = ["src/sweep/clock.rs", "src/daemon/timer.rs", "src/notify/trial.rs"];
    refuse_except(&exceptions, &all_but(&[]), &["Utc::now", "Local::now", "SystemTime"]);
}

/// The numbers of the lines that are too long. Lines of a raw string cannot be broken, and do not count.
fn long_lines(text: &str) -> Vec<usize> {
    let (mut found, mut closes_with) = (Vec::new(), None);
    for (number, line) in (1..).zip(text.lines()) {
        let opens = ["r#\"", "r\""].iter().find_map(|raw| Some((line.find(raw)? + raw.len(), raw.len() - 2)));
        if closes_with.is_none() && opens.is_none() && 120 < line.chars().count() {
            found.push(number);
        }
        let end = |hashes| format!("\"{}", "#".repeat(hashes));
        closes_with = match (closes_with, opens) {
            (Some(end), _) if line.contains(&end) => None,
            (None, Some((at, hashes))) if !line[at..].contains(&end(hashes)) => Some(end(hashes)),
            (open, _) => open,
        };
    }
    found
}

#[test]
fn no_line_is_longer_than_120_characters() {
    for (path, text) in files("src", "rs").into_iter().chain(files("tests", "rs")) {
        assert_eq!(long_lines(&text), Vec::<usize>::new(), "{}", path.display());
    }
    let (short, long) = ("é".repeat(120), "e".repeat(121));
    assert_eq!(long_lines(&format!("{short}\n{long}\nr#\"\n{long}\n\"#\n{long}")), [2, 6], "negative control");
}

/// A file holds one idea, and its code fits into 400 lines: comments and blank lines do not count.
#[test]
fn files_have_400_lines_of_code_at_most() {
    let files = files("src", "rs").into_iter().chain(files("tests", "rs")).chain(files("migrations", "sql"));
    // A list of columns is no logic.
    for (path, text) in files.filter(|(path, _)| !path.ends_with("src/store/db/schema.rs")) {
        let is_code =
            |line: &&str| !line.trim().is_empty() && !["//", "--"].iter().any(|mark| line.trim().starts_with(mark));
        let lines = text.lines().filter(is_code).count();
        assert!(lines <= 400, "{} has {lines} lines of code", path.display());
    }
}
