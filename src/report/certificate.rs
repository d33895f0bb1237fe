//! The certificate of a host, for people.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use owo_colors::OwoColorize;

use super::grid;
use crate::rules::display::humanize;
use crate::text::redact;
use crate::verify::{Certificate, Check, CheckVerdict};

/// What was tried, and below it what speaks against a promise.
pub fn render(certificate: &Certificate) -> String {
    let Certificate { host, title, digest, version, database, checks, left_out, .. } = certificate;
    let (title, digest) = (redact(title), &digest[..12]);
    let heading = format!("Host {host} ({title}), digest {digest}\nsweep {version} on {database}\n\n");
    let row =
        |check: &Check| [check.name.to_owned(), verdict(check.verdict), check.promise.to_owned(), check.seen.clone()];
    let table = grid::with_header(["check", "verdict", "promise", "seen"], checks.iter().map(row), &[]);
    let evidence: String = checks.iter().map(evidence).collect();
    let caveat = match left_out.as_slice() {
        [] => String::new(),
        left_out => format!("This is no certificate. Left out: {}.\n", left_out.join(", ")),
    };
    format!("{heading}{table}{evidence}\n{}\n{caveat}", conclusion(checks))
}

fn verdict(verdict: CheckVerdict) -> String {
    match verdict {
        CheckVerdict::Kept => "kept".green().to_string(),
        CheckVerdict::Broken => "broken".red().to_string(),
        CheckVerdict::NotDecided => "not decided".yellow().to_string(),
        CheckVerdict::NotTried => "not tried".yellow().to_string(),
    }
}

fn evidence(check: &Check) -> String {
    if check.evidence.is_empty() {
        return String::new();
    }
    let lines: String = check.evidence.iter().map(|why| format!("  - {why}\n")).collect();
    format!("\n{} is {}:\n{lines}", check.name, humanize(check.verdict.name()))
}

fn conclusion(checks: &[Check]) -> String {
    let of = |verdict: CheckVerdict| -> Vec<&str> {
        checks.iter().filter(|check| check.verdict == verdict).map(|check| check.name).collect()
    };
    let named = |what: &str, verdict: CheckVerdict| match of(verdict).as_slice() {
        [] => String::new(),
        names => format!(" {what}: {}.", names.join(", ")),
    };
    let broken = named("Broken", CheckVerdict::Broken);
    let undecided = named("Not decided, so try again", CheckVerdict::NotDecided);
    let kept = match of(CheckVerdict::Kept).len() {
        _ if !broken.is_empty() => String::new(),
        0 if !undecided.is_empty() => String::new(),
        1 => "The promise that was tried is kept.".to_owned(),
        kept if undecided.is_empty() => format!("All {kept} promises that were tried are kept."),
        kept => format!("{kept} promises are kept."),
    };
    [kept, broken, undecided, named("Not tried", CheckVerdict::NotTried)].concat().trim_start().to_owned()
}

/// Shows at a terminal what is being tried.
pub struct Trying(ProgressBar);

impl Trying {
    pub fn begin() -> Trying {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Trying(bar)
    }

    pub fn now(&self, check: &str) {
        self.0.set_message(check.to_owned());
    }
}

impl Drop for Trying {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
