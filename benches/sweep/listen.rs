//! The time from the end of a run to the wake that resumes its issue, by a daemon as a process of its own: heard by
//! LISTEN, or seen in a SQLite file. And what it costs that daemon to look at such a file.

use std::cell::RefCell;
use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use sweep::store::Access;
use sweep::store::connect::open::Url;
use sweep::store::hosts::migrate::{Wanted, migrate};

use crate::figures::{median, milliseconds, verdict};
use crate::fixtures::Company;
use crate::postgres::Server;

const RUNS: usize = 30;
/// The most milliseconds that the median may be.
const MILLISECONDS_MAX: f64 = 1000.0;
/// The most milliseconds of a processor that looking may take in a second.
const AT_REST_MAX: f64 = 1.0;
const CHANGING_MAX: f64 = 10.0;
/// For how long a daemon's use of processors is measured.
const WINDOW: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(20);

/// The live runs, numbered.
const NUMBERED: &str = "numbered as \
    select row_number() over (order by id) as n, id, issue_id from runs where status = 'running'";

pub fn run(server: &Server) -> Result<()> {
    let company = Company::healthy(1000, 2 * RUNS as u32);
    println!("\nFrom the end of a run to its issue's wake, ms ({RUNS} runs, one after the other)");
    server.create("listen", &company)?;
    let path = "set search_path = sweep";
    server.execute("listen", &format!("{path}; delete from wakes; create table {NUMBERED}"))?;
    let board = Board {
        url: server.url("listen"),
        now: "now()",
        execute: &|sql| server.execute("listen", &format!("{path}; {sql}")),
        wakes: &|n| {
            let of = "sweep.wakes join sweep.numbered using (issue_id)";
            server.number("listen", &format!("(select count(*) from {of} where n = {n})"))
        },
    };
    board.measure("PostgreSQL")?;
    server.drop("listen")?;

    let directory = tempfile::tempdir()?;
    let file = directory.path().join("listen.db");
    let url = Url::Sqlite(file.clone());
    url.create()?;
    migrate(&mut url.connect(Access::Write)?, &Wanted::default())?;
    let path = file.to_str().context("the temporary directory's name is no UTF-8")?;
    let host = RefCell::new(SqliteConnection::establish(path)?);
    let execute = |sql: &str| Ok(host.borrow_mut().batch_execute(sql)?);
    execute(&format!("pragma busy_timeout = 5000; {}; create table {NUMBERED}", company.sqlite()))?;
    let board = Board {
        url: format!("sqlite://{path}"),
        now: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
        execute: &execute,
        wakes: &|n| {
            let of = "wakes join numbered using (issue_id)";
            let wakes = sql::<BigInt>(&format!("select count(*) from {of} where n = {n}"));
            Ok(wakes.get_result(&mut *host.borrow_mut())?)
        },
    };
    board.measure("SQLite")?;
    board.cost()
}

/// A database whose live runs are numbered.
struct Board<'a> {
    url: String,
    /// The present time, in SQL.
    now: &'a str,
    execute: &'a dyn Fn(&str) -> Result<()>,
    /// How many wakes the issue of a run has.
    wakes: &'a dyn Fn(usize) -> Result<i64>,
}

impl Board<'_> {
    fn measure(&self, database: &str) -> Result<()> {
        let daemon = Daemon::start(&self.url, "auto")?;
        daemon.says("listening for runs that end")?;
        sleep(Duration::from_secs(3));
        let mut took = Vec::new();
        for n in 1..=RUNS {
            let (run, now) = (format!("(select id from numbered where n = {n})"), self.now);
            (self.execute)(&format!("update runs set status = 'failed', finished_at = {now} where id = {run}"))?;
            let began = Instant::now();
            wait_until(|| Ok((self.wakes)(n)? == 1))?;
            took.push(milliseconds(began.elapsed()));
        }
        took.sort_by(f64::total_cmp);
        let (slowest, median) = (took[RUNS - 1], median(took));
        let required = verdict(median < MILLISECONDS_MAX);
        println!(
            "  {database:<10} median {median:.0}, slowest {slowest:.0}   median below {MILLISECONDS_MAX}: {required}"
        );
        Ok(())
    }

    /// Two daemons take turns: one that does not look, and one that does.
    fn cost(&self) -> Result<()> {
        println!("\nLooking for runs that end in a SQLite file, ms of a processor in a second");
        for (what, pause, most) in
            [("at rest", None, AT_REST_MAX), ("20 commits a second", Some(Duration::from_millis(50)), CHANGING_MAX)]
        {
            let mut used = [Vec::new(), Vec::new()];
            for _ in 0..3 {
                for (used, listen) in used.iter_mut().zip(["off", "auto"]) {
                    let daemon = Daemon::start(&self.url, listen)?;
                    // The file is closed by then.
                    sleep(Duration::from_secs(4));
                    let before = daemon.processor_time()?;
                    let began = Instant::now();
                    while began.elapsed() < WINDOW {
                        match pause {
                            None => sleep(WINDOW),
                            Some(pause) => {
                                (self.execute)(
                                    "update agents set status = 'idle' where id = (select min(id) from agents)",
                                )?;
                                sleep(pause);
                            }
                        }
                    }
                    let took = milliseconds(daemon.processor_time()?.saturating_sub(before));
                    used.push(took / began.elapsed().as_secs_f64());
                }
            }
            let [off, auto] = used.map(median);
            let (more, required) = (auto - off, verdict(auto - off <= most));
            println!("  {what:<20} without {off:.2}, with {auto:.2}: {more:.2} more   at most {most}: {required}");
        }
        Ok(())
    }
}

/// A daemon, which ends when this is dropped.
struct Daemon {
    child: Child,
    log: tempfile::NamedTempFile,
}

impl Daemon {
    fn start(database: &str, listen: &str) -> Result<Daemon> {
        let log = tempfile::NamedTempFile::new()?;
        let mut daemon = Command::new(env!("CARGO_BIN_EXE_sweep"));
        daemon.args([
            "daemon", "--database", database, "--schedule", "@yearly", "--listen", listen, "--http", "off",
            "--no-guard",
        ]);
        let stderr: File = log.reopen()?;
        Ok(Daemon { child: daemon.stdout(Stdio::null()).stderr(stderr).spawn()?, log })
    }

    fn says(&self, words: &str) -> Result<()> {
        wait_until(|| Ok(fs::read_to_string(self.log.path())?.contains(words)))
    }

    /// The time that processors spent on all of its threads: the first number of each `schedstat`, in nanoseconds.
    fn processor_time(&self) -> Result<Duration> {
        let mut nanoseconds = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let spent = fs::read_to_string(thread?.path().join("schedstat"))?;
            let first = spent.split(' ').next().unwrap_or_default();
            nanoseconds += first.parse::<u64>().context("schedstat")?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_until(mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let began = Instant::now();
    while !is_so()? {
        ensure!(began.elapsed() < PATIENCE, "nothing happened in {PATIENCE:?}");
        sleep(Duration::from_millis(5));
    }
    Ok(())
}
