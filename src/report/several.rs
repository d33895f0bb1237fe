//! Reports of several databases that are swept at the same time: each stands whole under its name, in the order in
//! which they were named. What comes before its turn is kept, and holds no sweep up.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Error, Result};
use owo_colors::OwoColorize;
use serde_json::json;

use super::progress::ProgressLine;
use super::table::{Detail, done_and_left};
use super::{Format, Report, databases, ended, failure, fields, heading};
use crate::conclusion::conclusion_of;
use crate::store::work::ledger::SweepEnd;
use crate::sweep::{Mode, Observer, Observers, SCHEMA, Summary, Tally};
use crate::text::redact;

/// A report of each of several databases, and at the end for people what all came to.
pub struct Reports<'a> {
    format: Format,
    detail: Detail,
    progress: ProgressLine,
    turns: Turns<'a>,
    totals: Mutex<Sums>,
}

#[derive(Default)]
struct Sums {
    databases: usize,
    failed: usize,
    total: Tally,
    is_dry_run: bool,
}

impl<'a> Reports<'a> {
    /// Makes of a report, of which nothing is printed yet, those of so many databases.
    pub fn of(report: Report<'a>, databases: usize) -> Reports<'a> {
        let Report { format, detail, progress, writer: out, .. } = report;
        progress.begin("databases");
        progress.expect(databases as u64);
        let out = Mutex::new(Out { writer: out, failure: None });
        let turns = Turns { out, turn: AtomicUsize::new(0), waiting: Mutex::default() };
        Reports { format, detail, progress, turns, totals: Mutex::default() }
    }

    fn begin(&self, report: &mut Report, is_first: bool, name: &str) {
        let text = match self.format {
            Format::Table => heading(is_first, name),
            Format::Json => {
                let begin = match is_first {
                    true => format!("{{\n  \"schema\": {SCHEMA},\n  \"databases\": [\n"),
                    false => ",\n".to_owned(),
                };
                format!("{begin}{{\n  \"database_name\": {},", json!(name))
            }
            Format::Ndjson => String::new(),
        };
        report.print(&text);
    }

    /// Several databases are added up, also with one that could not be swept to its end.
    fn end(&self, report: &mut Report, swept: &Result<Summary>) {
        let unswept = swept.as_ref().ok().and_then(Summary::failure).map(Error::new);
        let failed = swept.as_ref().err().or(unswept.as_ref());
        let mut totals = lock(&self.totals);
        totals.databases += 1;
        totals.failed += usize::from(failed.is_some());
        if let Some((total, mode)) = report.ended {
            totals.total = totals.total.plus(total);
            totals.is_dry_run = mode == Mode::DryRun;
        }
        drop(totals);
        let end = ended(failed, swept.as_ref().map_or_else(conclusion_of, |summary| summary.conclusion));
        let text = match (self.format, swept) {
            (Format::Table, Ok(_)) => String::new(),
            (Format::Table, Err(error)) => failure(error),
            (Format::Json, _) => format!("\n{}\n}}", fields(&end)),
            (Format::Ndjson, _) => report.line("database", &end),
        };
        report.print(&text);
    }

    /// Ends the reports, and tells whether all of them could be printed. A reader that has gone is no failure.
    pub fn written(self) -> io::Result<()> {
        self.progress.bar.finish_and_clear();
        let Sums { databases: number, failed, total, is_dry_run } = *lock(&self.totals);
        let ended = if failed == 0 { SweepEnd::Completed } else { SweepEnd::Failed };
        let text = match self.format {
            Format::Table => {
                let totals = format!("{}. {}", databases(number, failed), done_and_left(total, is_dry_run, ended));
                format!("\n{}\n", totals.bold())
            }
            Format::Json => "\n]}\n".to_owned(),
            Format::Ndjson => String::new(),
        };
        let mut out = lock(&self.turns.out);
        out.print(text.as_bytes());
        out.failure.take().filter(|error| error.kind() != ErrorKind::BrokenPipe).map_or(Ok(()), Err)
    }
}

impl Observers for Reports<'_> {
    fn hear(
        &self,
        place: usize,
        name: &str,
        sweep: impl FnOnce(&mut dyn Observer) -> Result<Summary>,
    ) -> Result<Summary> {
        let mut turn = Turn { place, reports: &self.turns, bar: &self.progress, kept: WaitingText::default() };
        let mut report = Report { name: Some(redact(name)), ..Report::new(self.format, self.detail, &mut turn) };
        self.begin(&mut report, place == 0, &redact(name));
        let swept = sweep(&mut report);
        self.end(&mut report, &swept);
        self.progress.bar.inc(1);
        swept
    }

    fn has_failed(&self) -> bool {
        lock(&self.turns.out).failure.as_ref().is_some_and(|error| error.kind() != ErrorKind::BrokenPipe)
    }
}

fn lock<T: ?Sized>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The turns in which databases print.
struct Turns<'a> {
    out: Mutex<Out<'a>>,
    /// The place of the database whose turn it is: those before it are printed.
    turn: AtomicUsize,
    /// What is kept of those that have ended, by their places.
    waiting: Mutex<BTreeMap<usize, WaitingText>>,
}

struct Out<'a> {
    writer: &'a mut (dyn Write + Send),
    /// Why nothing more is printed.
    failure: Option<io::Error>,
}

impl Out<'_> {
    fn print(&mut self, text: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.writer.write_all(text).and_then(|()| self.writer.flush()).err();
        }
    }

    fn print_kept(&mut self, kept: WaitingText) {
        if self.failure.is_none() {
            self.failure = kept.copy_to(self.writer).and_then(|()| self.writer.flush()).err();
        }
    }
}

/// What is printed of one database: at once if it is its turn, which ends with it, and kept until then.
struct Turn<'t, 'a> {
    place: usize,
    reports: &'t Turns<'a>,
    bar: &'t ProgressLine,
    kept: WaitingText,
}

impl Write for Turn<'_, '_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.reports.turn.load(Ordering::Acquire) == self.place {
            let mut out = lock(&self.reports.out);
            self.bar.bar.suspend(|| {
                out.print_kept(std::mem::take(&mut self.kept));
                out.print(text);
            });
        } else {
            self.kept.add(text);
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints what is kept of those whose turn it is now. Nobody else waits for a reader that is slow.
impl Drop for Turn<'_, '_> {
    fn drop(&mut self) {
        let Turns { out, turn, waiting } = self.reports;
        let mut kept = lock(waiting);
        kept.insert(self.place, std::mem::take(&mut self.kept));
        while let Some(next) = kept.remove(&turn.load(Ordering::Acquire)) {
            drop(kept);
            self.bar.bar.suspend(|| lock(out).print_kept(next));
            kept = lock(waiting);
            turn.fetch_add(1, Ordering::Release);
        }
    }
}

/// Text that waits to be printed: the first of it in memory, more in a file without a name, if one can be had.
#[derive(Default)]
struct WaitingText {
    /// What was written to the file, whole, and how much that is.
    file: Option<(File, u64)>,
    text: Vec<u8>,
}

/// How much of what waits is in memory.
const IN_MEMORY: usize = 1 << 18;

impl WaitingText {
    fn add(&mut self, text: &[u8]) {
        self.text.extend(text);
        if self.text.len() < IN_MEMORY {
            return;
        }
        if self.file.is_none() {
            self.file = tempfile::tempfile().ok().map(|file| (file, 0));
        }
        if let Some((file, length)) = &mut self.file
            && file.write_all(&self.text).is_ok()
        {
            *length += self.text.len() as u64;
            self.text.clear();
        }
    }

    fn copy_to(self, to: &mut dyn Write) -> io::Result<()> {
        if let Some((mut file, length)) = self.file {
            file.rewind()?;
            io::copy(&mut file.take(length), to)?;
        }
        to.write_all(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(out: &mut (dyn Write + Send)) -> Turns<'_> {
        let out = Mutex::new(Out { writer: out, failure: None });
        Turns { out, turn: AtomicUsize::new(0), waiting: Mutex::default() }
    }

    /// Each database writes letters of its own, as often as it comes; an empty text is its end.
    #[test]
    fn each_is_printed_whole_and_in_its_place_whenever_it_ends() {
        let bar = ProgressLine::hidden();
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            let mut text = Vec::new();
            let reports = turns(&mut text);
            let turn = |place| Turn { place, reports: &reports, bar: &bar, kept: WaitingText::default() };
            let mut open = [turn(0), turn(1), turn(2)].map(Some);
            for round in 0..3 {
                for place in order {
                    let turn = open[place].as_mut().expect("not ended");
                    turn.write_all(format!("{place}{round} ").as_bytes()).expect("a text");
                }
            }
            order.iter().for_each(|place| drop(open[*place].take()));
            drop(open);
            drop(reports);
            assert_eq!(String::from_utf8(text).expect("text"), "00 01 02 10 11 12 20 21 22 ", "{order:?}");
        }
    }

    #[test]
    fn much_of_what_waits_is_not_in_memory() {
        let (mut kept, line, mut printed) = (WaitingText::default(), [b'a'; 1000], Vec::new());
        for _ in 0..5000 {
            kept.add(&line);
            assert!(kept.text.len() < IN_MEMORY + line.len());
        }
        kept.copy_to(&mut printed).expect("a text");
        assert_eq!(printed, [b'a'; 5_000_000]);
    }

    /// A reader that does not read holds up the one that has its turn, and no other.
    #[test]
    fn a_slow_reader_holds_up_the_one_whose_turn_it_is() {
        let (mut reader, mut writer) = io::pipe().expect("a pipe");
        let (reports, bar) = (turns(&mut writer), ProgressLine::hidden());
        let turn = |place| Turn { place, reports: &reports, bar: &bar, kept: WaitingText::default() };
        std::thread::scope(|scope| {
            let mut first = turn(0);
            let held_up = scope.spawn(move || first.write_all(&[b'a'; 1 << 20]));
            let mut second = turn(1);
            second.write_all(&[b'b'; 1 << 20]).expect("a text");
            drop(second);
            assert!(!held_up.is_finished(), "nobody has read");
            let mut text = vec![0; 2 << 20];
            reader.read_exact(&mut text).expect("a text");
            assert!(
                text[..1 << 20].iter().all(|byte| *byte == b'a') && text[1 << 20..].iter().all(|byte| *byte == b'b')
            );
        });
    }
}
