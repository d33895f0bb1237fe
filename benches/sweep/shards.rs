//! Subjects per second when several processes share one sweep.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::figures::{median, median_ratio};
use crate::fixtures::Company;
use crate::postgres::Server;

const ORPHANS: u32 = 4000;
const ROUNDS: usize = 5;
const SHARDS: [u32; 3] = [1, 2, 4];
/// The connections of each process.
const CONNECTIONS: u32 = 2;

pub fn run(server: &Server) -> Result<()> {
    let company = Company::with_orphans(ORPHANS, 10);
    server.create("template_shards", &company)?;
    println!(
        "\nShards: {ORPHANS} orphans among {} issues, processes with {CONNECTIONS} connections each (median of {ROUNDS})",
        company.issues
    );
    println!("  processes   subjects/s   times one process");
    let mut rates = SHARDS.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (rates, count) in rates.iter_mut().zip(SHARDS) {
            server.copy("template_shards", "bench")?;
            rates.push(rate(server, count)?);
        }
    }
    for (of, count) in rates.iter().zip(SHARDS) {
        println!("  {count:9} {:12.0} {:19.2}", median(of.clone()), median_ratio(of, &rates[0]));
    }
    server.drop("template_shards")
}

/// Subjects per second, from the start of the first process to the end of the last.
fn rate(server: &Server, count: u32) -> Result<f64> {
    let began = Instant::now();
    let shards = (0..count).map(|index| start(&server.url("bench"), index, count)).collect::<Result<Vec<_>>>()?;
    for mut shard in shards {
        let status = shard.wait()?;
        ensure!(status.success(), "a shard ended with {status}");
    }
    let rate = f64::from(ORPHANS) / began.elapsed().as_secs_f64();
    for rows in ["(select count(distinct subject_id) from sweep.recoveries)", "(select count(*) from sweep.wakes)"] {
        let found = server.number("bench", rows)?;
        ensure!(found == i64::from(ORPHANS), "{rows} is {found}, expected {ORPHANS}");
    }
    Ok(rate)
}

fn start(database: &str, index: u32, count: u32) -> Result<Child> {
    let mut sweep = Command::new(env!("CARGO_BIN_EXE_sweep"));
    sweep.args(["--database", database, "--shard", &format!("{index}/{count}")]);
    sweep.args(["--set", &format!("connections={CONNECTIONS}")]);
    Ok(sweep.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
}
