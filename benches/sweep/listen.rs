//! The time from the end of a run to the wake that resumes its issue, by a daemon that listens, as a process of its
//! own.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::figures::{median, milliseconds, verdict};
use crate::fixtures::Company;
use crate::postgres::Server;

const RUNS: usize = 30;
/// The most milliseconds that the median may be.
const MILLISECONDS_MAX: f64 = 1000.0;
const PATIENCE: Duration = Duration::from_secs(20);

/// The live runs, numbered.
const NUMBERED: &str = "create table sweep.numbered as \
    select row_number() over (order by id) as n, id, issue_id from sweep.runs where status = 'running'";

pub fn run(server: &Server) -> Result<()> {
    server.create("listen", &Company::healthy(1000, 2 * RUNS as u32))?;
    server.execute("listen", "delete from sweep.wakes")?;
    server.execute("listen", NUMBERED)?;
    let log = tempfile::NamedTempFile::new()?;
    let daemon = Daemon::start(&server.url("listen"), log.reopen()?)?;
    wait_until(|| Ok(fs::read_to_string(log.path())?.contains("listening for runs that end")))?;
    sleep(Duration::from_secs(3));
    let mut took = Vec::new();
    for n in 1..=RUNS {
        let run = format!("(select id from sweep.numbered where n = {n})");
        server.execute(
            "listen",
            &format!("update sweep.runs set status = 'failed', finished_at = now() where id = {run}"),
        )?;
        let began = Instant::now();
        let woken = format!("(select count(*) from sweep.wakes join sweep.numbered using (issue_id) where n = {n})");
        wait_until(|| Ok(server.number("listen", &woken)? == 1))?;
        took.push(milliseconds(began.elapsed()));
    }
    drop(daemon);
    took.sort_by(f64::total_cmp);
    let (slowest, median) = (took[RUNS - 1], median(took));
    let required = verdict(median < MILLISECONDS_MAX);
    println!("\nFrom the end of a run to its issue's wake, heard by LISTEN, ms ({RUNS} runs, one after the other)");
    println!("  median {median:.0}, slowest {slowest:.0}   median below {MILLISECONDS_MAX}: {required}");
    server.drop("listen")
}

/// A daemon, which ends when this is dropped.
struct Daemon(Child);

impl Daemon {
    fn start(database: &str, log: File) -> Result<Daemon> {
        let mut daemon = Command::new(env!("CARGO_BIN_EXE_sweep"));
        daemon.args([
            "daemon", "--database", database, "--schedule", "@yearly", "--listen", "on", "--http", "off", "--no-guard",
        ]);
        Ok(Daemon(daemon.stdout(Stdio::null()).stderr(log).spawn()?))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
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
