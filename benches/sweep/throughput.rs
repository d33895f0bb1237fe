//! Subjects per second beside the floor: pgbench with the statements of a sweep, its writes merged into one.

use anyhow::{Result, ensure};
use sweep::store::Durable;

use crate::figures::{median, median_ratio, verdict};
use crate::fixtures::Company;
use crate::postgres::Server;
use crate::sweep_durably;

const ORPHANS: u32 = 2000;
const STRIDE: u32 = 10;
const ROUNDS: usize = 7;
/// The least ratio of a sweep's rate to pgbench's, whose every commit waits for the disk, with four connections: of a
/// sweep whose commits wait together, and of one whose every commit waits.
const TOGETHER_MIN: f64 = 1.5;
const EACH_MIN: f64 = 0.9;
/// How long the server waits before each flush, to play the slower disks that many machines have.
const SLOWER_MICROSECONDS: u32 = 2000;

pub fn run(server: &Server) -> Result<()> {
    let company = Company::with_orphans(ORPHANS, STRIDE);
    server.create("template_orphans", &company)?;
    println!("\n{ORPHANS} orphans among {} issues, subjects/s (median of {ROUNDS})", company.issues);
    println!("  the disk        commits wait  connections    sweep   pgbench   sweep/pgbench");
    for connections in [1, 4, 8] {
        measure(server, &company, "as it is", connections, Durable::Together)?;
    }
    measure(server, &company, "as it is", 4, Durable::Each)?;
    server.configure("commit_delay", &SLOWER_MICROSECONDS.to_string())?;
    server.configure("commit_siblings", "0")?;
    measure(server, &company, "2 ms slower", 4, Durable::Together)?;
    measure(server, &company, "2 ms slower", 4, Durable::Each)?;
    server.configure("commit_delay", "default")?;
    server.configure("commit_siblings", "default")?;
    server.drop("template_orphans")
}

fn measure(server: &Server, company: &Company, disk: &str, connections: u32, durable: Durable) -> Result<()> {
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        server.copy("template_orphans", "bench")?;
        floor.push(server.pgbench("bench", &script(company), connections, ORPHANS / connections)?);
        ensure_all_continued(server)?;

        server.copy("template_orphans", "bench")?;
        let took = sweep_durably(&server.url("bench"), connections, durable)?;
        ours.push(f64::from(ORPHANS) / took.as_secs_f64());
        ensure_all_continued(server)?;
    }
    let ratio = median_ratio(&ours, &floor);
    let (how, least) = match durable {
        Durable::Together => ("together", TOGETHER_MIN),
        Durable::Each => ("each", EACH_MIN),
    };
    let required = match connections {
        4 => format!("   at least {least}: {}", verdict(least <= ratio)),
        _ => String::new(),
    };
    let (ours, floor) = (median(ours), median(floor));
    println!("  {disk:14}  {how:12}  {connections:11} {ours:8.0} {floor:9.0} {ratio:15.2}{required}");
    Ok(())
}

/// Fails unless all work was done: the figure of a side that left some proves nothing.
fn ensure_all_continued(server: &Server) -> Result<()> {
    for rows in ["(select count(distinct subject_id) from sweep.recoveries)", "(select count(*) from sweep.wakes)"] {
        let found = server.number("bench", rows)?;
        ensure!(found == i64::from(ORPHANS), "{rows} is {found}, expected {ORPHANS}");
    }
    Ok(())
}

/// pgbench's script: each client takes its own share of the orphans, one by one. `make bench-peers` runs it as well.
fn script(company: &Company) -> String {
    let script = include_str!("one_each.sql").replace(":stride", &company.stride.to_string());
    script.replace(":agents", &company.agents().to_string())
}
