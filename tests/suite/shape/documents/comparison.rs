//! Compares what a page shows with what is printed, apart from times, durations and ids, which differ for each reader.
//! `make documents` writes what is printed into the pages.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use regex::Regex;

use super::Page;
use super::blocks::Block;
use super::reader::Printed;

static OWN: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?( UTC|Z)?", "TIME"),
        // A date or a time alone, where a table breaks a line within a timestamp.
        (r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b|\b[0-9]{2}:[0-9]{2}( UTC)", "TIME"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "ID"),
        (r"\b(run|wake|session) [0-9a-f]{8}\b", "$1 ID"),
        (r"\b[0-9]+(?:[dhms]|ms|[.][0-9]+ m?s)(?: [0-9]+[hms])*\b", "DURATION"),
        (r"PostgreSQL [0-9.]+(?: \([^)]*\))?|SQLite [0-9.]+", "DATABASE"),
        (r#"("[a-z_]*(?:seconds|_ms)": ?)-?[0-9.]+"#, "${1}DURATION"),
        // Columns are as wide as their contents.
        (r" {2,}", "  "),
        (r"(?m) +$", ""),
    ]
    .into_iter()
    .map(|(pattern, own)| (Regex::new(pattern).expect("an expression"), own))
    .collect()
});

pub fn normal(text: &str) -> String {
    OWN.iter().fold(text.to_owned(), |text, (pattern, own)| pattern.replace_all(&text, *own).into_owned())
}

/// Lets one test at a time read the pages and write them anew.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if BLESS is set: then the pages are written anew in place of being compared.
#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
pub fn is_blessing() -> bool {
    std::env::var("BLESS").is_ok()
}

/// Compares what each console shows with what was printed, or writes it anew.
pub fn compare(page: &Page, blocks: &[Block], printed: &[Printed]) {
    match is_blessing() {
        true => bless(page, &otherwise(blocks, printed)),
        false => expect_as_shown(page, blocks, printed),
    }
}

/// Like `compare`, but never writes into the page: for blocks that the page does not show literally.
pub fn expect_as_shown(page: &Page, blocks: &[Block], printed: &[Printed]) {
    for (block, printed) in otherwise(blocks, printed) {
        for ((command, shown), printed) in block.commands().iter().zip(printed) {
            let (shown, now, page) = (normal(shown), normal(printed), page.path.display());
            assert_eq!(
                shown, now,
                "{page} shows otherwise for: {command}\n`make documents` writes what is printed:\n{printed}"
            );
        }
    }
}

/// The consoles that show something else than was printed.
fn otherwise<'a>(blocks: &'a [Block], printed: &'a [Printed]) -> Vec<(&'a Block, &'a Printed)> {
    let consoles = blocks.iter().zip(printed).filter(|(block, _)| block.language == "console");
    let is_otherwise = |(block, printed): &(&Block, &Printed)| {
        block.commands().iter().zip(*printed).any(|((_, shown), printed)| normal(shown) != normal(printed))
    };
    consoles.filter(is_otherwise).collect()
}

/// Compares the quotations of a page, its blocks of `text` with this mark, with what was printed. Returns their number.
pub fn compare_quotations(page: &Page, mark: &str, of: &str) -> usize {
    let is_quotation = |block: &Block| block.language == "text" && block.mark.as_deref() == Some(mark);
    let quotations: Vec<Block> = page.blocks().into_iter().filter(is_quotation).collect();
    let lines: Vec<&str> = of.lines().collect();
    let mut text = page.text.clone();
    for block in quotations.iter().rev() {
        let is_quoted = format!("\n{}", normal(of)).contains(&format!("\n{}", normal(&block.text)));
        if !is_blessing() {
            assert!(is_quoted, "{}: not printed ({mark}):\n{}\nprinted:\n{of}", page.path.display(), block.text);
        } else if !is_quoted {
            text.replace_range(block.place.clone(), &quotation(&lines, &block.text));
        }
    }
    if text != page.text {
        std::fs::write(&page.path, text).expect("a page");
    }
    quotations.len()
}

/// The printed lines from the one with which a quotation begins to the one with which it ends.
fn quotation(lines: &[&str], quoted: &str) -> String {
    let same = |line: &str, as_line: Option<&str>| as_line.is_some_and(|other| normal(line) == normal(other));
    let first = lines.iter().position(|line| same(line, quoted.lines().next()));
    let first = first.unwrap_or_else(|| panic!("where does it begin? {quoted}"));
    let last = lines[first..].iter().position(|line| same(line, quoted.lines().last()));
    let last = first + last.unwrap_or_else(|| panic!("where does it end? {quoted}"));
    lines[first..=last].iter().map(|line| format!("{line}\n")).collect()
}

fn bless(page: &Page, otherwise: &[(&Block, &Printed)]) {
    let mut text = page.text.clone();
    // The last block first, so that the places of the others stay valid.
    for (block, printed) in otherwise.iter().rev() {
        let commands = block.commands();
        let anew: String =
            commands.iter().zip(*printed).map(|((command, _), out)| format!("$ {command}\n{out}")).collect();
        text.replace_range(block.place.clone(), &anew);
    }
    std::fs::write(&page.path, text).expect("a page");
}

#[test]
fn times_durations_and_ids_are_each_readers_own_and_nothing_else_is() {
    for (text, is) in [
        ("until 2026-12-24 00:00:00 UTC: x", "until TIME: x"),
        ("idle for 2d 5h  or 40s in 0.03 s", "idle for DURATION  or DURATION in DURATION"),
        ("its run 60000000 failed, 15500000-0000-4000-8000-000000000012", "its run ID failed, ID"),
        ("since 2026-11-23 │\n│ 08:11 UTC it", "since TIME │\n│ TIME it"),
        ("4 waiting, 3 of 40, ACM-12, #2", "4 waiting, 3 of 40, ACM-12, #2"),
        ("a     b  ", "a  b"),
        (r#""idle_seconds":12,"attempts": 1"#, r#""idle_seconds":DURATION,"attempts": 1"#),
    ] {
        assert_eq!(normal(text), is);
    }
}
