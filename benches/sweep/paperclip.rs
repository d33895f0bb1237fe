//! sweep beside Paperclip: issues per second, and how long Paperclip's server would find a row locked that it wants.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use diesel::connection::SimpleConnection;

use crate::figures::{median, milliseconds, verdict};
use crate::postgres::Server;
use crate::sweep_all;

const ISSUES: u32 = 20_000;
const ORPHANS: u32 = 2_000;
const ROUNDS: usize = 5;
/// The issues of one sweep whose locks are watched. All but the first are locked on a connection that has planned
/// everything.
const WATCHED: u32 = 12;
const WATCHED_ROUNDS: usize = 15;
/// The most milliseconds for which Paperclip's server, which tries again for five seconds, may find a row locked.
const HELD_MILLISECONDS_MAX: f64 = 100.0;

/// The company's rows. `make bench-peers` fills a database with the same file.
const COMPANY: &str = include_str!("paperclip.sql");

pub fn run(server: &Server) -> Result<()> {
    create(server, "template_paperclip", ISSUES, ORPHANS)?;
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        server.copy("template_paperclip", "bench")?;
        rates.push(f64::from(ORPHANS) / sweep_all(&server.url("bench"), 4)?.as_secs_f64());
        let wakes = server.number("bench", "(select count(*) from agent_wakeup_requests)")?;
        ensure!(wakes == i64::from(ORPHANS), "{wakes} wakes, expected {ORPHANS}");
    }
    println!("\nPaperclip: {ORPHANS} orphans among {ISSUES} issues, 4 connections (median of {ROUNDS})");
    println!("  {:.0} issues/s", median(rates));
    print_statements(server)?;
    server.drop("template_paperclip")?;

    create(server, "template_watched", WATCHED, WATCHED)?;
    println!("\nFor how long its row is locked, ms ({WATCHED_ROUNDS} sweeps of {WATCHED} orphans)");
    for (what, n) in [("the first issue of a connection", 0), ("a later one", WATCHED - 1)] {
        let mut held = (0..WATCHED_ROUNDS).map(|_| watch(server, n)).collect::<Result<Vec<f64>>>()?;
        held.sort_by(f64::total_cmp);
        let (longest, median) = (held[WATCHED_ROUNDS - 1], median(held));
        let required = verdict(median < HELD_MILLISECONDS_MAX);
        println!(
            "  {what:32} median {median:.1}, longest {longest:.1}   median below {HELD_MILLISECONDS_MAX}: {required}"
        );
    }
    server.drop("template_watched")?;
    server.drop("bench")
}

/// Prints what one sweep's statements cost the server; statements inside functions and triggers are part of those that
/// call them.
fn print_statements(server: &Server) -> Result<()> {
    server.copy("template_paperclip", "bench")?;
    let statements = server.statements("bench", || sweep_all(&server.url("bench"), 4).map(drop))?;
    println!("  statements, ms for each of the {ORPHANS}: executed, planned");
    for (calls, executed, planned, text) in statements {
        let [executed, planned] = [executed, planned].map(|ms| ms / f64::from(ORPHANS));
        println!("  {calls:7} times {executed:7.3} {planned:7.3}   {text}");
    }
    Ok(())
}

fn create(server: &Server, database: &str, issues: u32, orphans: u32) -> Result<()> {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/paperclip/schema.sql");
    let company = COMPANY.replace(":issues", &issues.to_string()).replace(":stride", &(issues / orphans).to_string());
    server.create_paperclip(database, &schema)?;
    server.execute(database, &company)?;
    server.execute(database, "checkpoint")
}

/// The milliseconds for which somebody who asks again and again, as the server would, is refused the row of one issue.
fn watch(server: &Server, n: u32) -> Result<f64> {
    server.copy("template_watched", "bench")?;
    let mut host = server.connect("bench")?;
    let (is_over, url) = (AtomicBool::new(false), server.url("bench"));
    thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let ask = format!("begin; select from issues where id = md5('{n}')::uuid for update nowait");
            let (mut first, mut last) = (None, None);
            while !is_over.load(Ordering::Relaxed) {
                let asked = Instant::now();
                if host.batch_execute(&ask).is_err() {
                    first = first.or(Some(asked));
                    last = Some(Instant::now());
                }
                let _ = host.batch_execute("rollback");
            }
            first.zip(last).map_or(Duration::ZERO, |(first, last)| last - first)
        });
        let swept = sweep_all(&url, 1);
        is_over.store(true, Ordering::Relaxed);
        let held = watching.join().expect("a watcher that does not panic");
        swept.map(|_| milliseconds(held))
    })
}
