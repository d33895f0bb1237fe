//! What a long history costs those who look, and a sweep that removes what is over.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::figures::{median, milliseconds, verdict};
use crate::fixtures::Company;
use crate::page::answers;
use crate::postgres::Server;
use crate::sweep_process;

const ROWS: u32 = 1_000_000;
const ATTENTION_MILLISECONDS_MORE_MAX: f64 = 1_000.0;
const PAGE_MILLISECONDS_MORE_MAX: f64 = 300.0;
const ROUNDS: usize = 5;

/// Rows that are all older than `SWEEP_KEEP`.
const OLD_ROWS: u32 = 50_000;
/// The most milliseconds that the upkeep may add to a sweep.
const UPKEEP_MILLISECONDS_MAX: f64 = 1_500.0;

/// Sweeps after which the upkeep must have come to its end.
const SWEEPS_MAX: usize = 500;

/// Rows of a ledger that ends a minute ago and has filled so many days: of twenty rows one escalates, nine continue and
/// ten recover. No trigger tells of them: they are the past.
const RECORD: &str = "
    set session_replication_role = replica;
    insert into sweep.recoveries
        (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, tenant, created_at, settled_at)
    select gen_random_uuid(), md5('sweep ' || n / 500)::uuid, 'issue', md5('subject ' || n / 2)::uuid,
           case when n % 2 = 1 then 'recover' when n % 20 = 0 then 'escalate' else 'continue' end, 'no live run', at, 1,
           'tenant ' || n % 20, at, at + interval '10 minutes'
    from (select n, now() - interval '1 minute' - interval ':days days' * n / :rows as at
          from generate_series(0, :rows - 1) n) numbered";

impl Server {
    /// Fills the ledger, and sweeps until it is summed.
    pub fn record(&self, database: &str, rows: u32, days: u32) -> Result<()> {
        self.execute(database, &RECORD.replace(":rows", &rows.to_string()).replace(":days", &days.to_string()))?;
        self.execute(database, "vacuum analyze")?;
        self.sweep_until_kept_up(database).map(drop)
    }

    /// The milliseconds of each sweep until nothing of the upkeep is due.
    fn sweep_until_kept_up(&self, database: &str) -> Result<Vec<f64>> {
        self.execute(database, "update sweep.upkeep set due_at = now()")?;
        let mut sweeps = Vec::new();
        while 0 < self.number(database, "(select count(*) from sweep.upkeep where due_at <= now())")? {
            ensure!(sweeps.len() < SWEEPS_MAX, "the upkeep has not come to its end after {SWEEPS_MAX} sweeps");
            sweeps.push(milliseconds(sweep_process(&self.url(database))?));
        }
        Ok(sweeps)
    }
}

pub fn run(server: &Server) -> Result<()> {
    println!("\nA ledger of {ROWS} rows in four weeks, ms (median of {ROUNDS})");
    let company = Company::healthy(10_000, 1_000);
    server.create("history", &company)?;
    let url = server.url("history");
    let (attention, page) = (attention(&url)?, answers(&url, "</html>")?.1);
    server.record("history", ROWS, 28)?;
    for (what, without, with, more_max) in [
        ("sweep attention", attention, self::attention(&url)?, ATTENTION_MILLISECONDS_MORE_MAX),
        ("the page", page, answers(&url, "</html>")?.1, PAGE_MILLISECONDS_MORE_MAX),
    ] {
        let holds = verdict(with - without <= more_max);
        println!("  {what:16} without {without:6.0}, with {with:6.0}   at most {more_max} more: {holds}");
    }
    server.create("history", &company)?;
    let idle = median((0..ROUNDS).map(|_| sweep_process(&url).map(milliseconds)).collect::<Result<_>>()?);
    server.execute("history", &RECORD.replace(":rows", &OLD_ROWS.to_string()).replace(":days", "60"))?;
    let old = "created_at = created_at - interval '100 days', settled_at = settled_at - interval '100 days'";
    server.execute("history", &format!("update sweep.recoveries set {old}"))?;
    server.execute("history", "vacuum analyze")?;
    let sweeps = server.sweep_until_kept_up("history")?;
    let left = server.number("history", "(select count(*) from sweep.recoveries)")?;
    ensure!(left == 0, "{left} rows that are over are left");
    let longest = sweeps.iter().copied().fold(0.0, f64::max);
    println!(
        "  {OLD_ROWS} rows older than SWEEP_KEEP are gone after {} sweeps; a sweep that finds nothing takes {idle:.0}",
        sweeps.len()
    );
    let holds = verdict(longest - idle <= UPKEEP_MILLISECONDS_MAX);
    println!("  the longest of them   {longest:.0}   at most {UPKEEP_MILLISECONDS_MAX} more: {holds}");
    server.drop("history")
}

/// The median of `sweep attention`. The first round, in which the server reads its tables from the disk, does not count.
fn attention(database: &str) -> Result<f64> {
    let mut rounds = Vec::new();
    for _ in 0..=ROUNDS {
        let began = Instant::now();
        let mut sweep = Command::new(env!("CARGO_BIN_EXE_sweep"));
        let status = sweep.args(["attention", "--database", database]).stdout(Stdio::null()).status()?;
        rounds.push(milliseconds(began.elapsed()));
        ensure!(status.success(), "sweep attention ended with {status}");
    }
    Ok(median(rounds.split_off(1)))
}
