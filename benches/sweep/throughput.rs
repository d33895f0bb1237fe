//! Subjects per second beside the floor: pgbench running the same statements, its writes merged into one.

use anyhow::{Result, ensure};

use crate::figures::{median, median_ratio, verdict};
use crate::fixtures::Company;
use crate::postgres::Server;
use crate::sweep_all;

const ORPHANS: u32 = 2000;
const STRIDE: u32 = 10;
const ROUNDS: usize = 7;
/// The least share of pgbench's rate, with four connections.
const RATIO_MIN: f64 = 0.7;

pub fn run(server: &Server) -> Result<()> {
    let company = Company::with_orphans(ORPHANS, STRIDE);
    server.create("template_orphans", &company)?;
    println!("\n{ORPHANS} orphans among {} issues, subjects/s (median of {ROUNDS})", company.issues);
    println!("  connections    sweep   pgbench   sweep/pgbench");
    for connections in [1, 4, 8] {
        let (mut ours, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            server.copy("template_orphans", "bench")?;
            floor.push(server.pgbench("bench", &script(&company), connections, ORPHANS / connections)?);
            ensure_all_continued(server)?;

            server.copy("template_orphans", "bench")?;
            ours.push(f64::from(ORPHANS) / sweep_all(&server.url("bench"), connections)?.as_secs_f64());
            ensure_all_continued(server)?;
        }
        let ratio = median_ratio(&ours, &floor);
        let required = match connections {
            4 => format!("   at least {RATIO_MIN}: {}", verdict(RATIO_MIN <= ratio)),
            _ => String::new(),
        };
        println!("  {connections:11} {:8.0} {:9.0} {ratio:15.2}{required}", median(ours), median(floor));
    }
    server.drop("template_orphans")
}

/// A side that did not do all its work proves nothing.
fn ensure_all_continued(server: &Server) -> Result<()> {
    for rows in ["(select count(distinct subject_id) from sweep.recoveries)", "(select count(*) from sweep.wakes)"] {
        let found = server.number("bench", rows)?;
        ensure!(found == i64::from(ORPHANS), "{rows} is {found}, expected {ORPHANS}");
    }
    Ok(())
}

/// Each client has its own share of the orphans and takes them one by one. `make bench-peers` runs the same.
fn script(company: &Company) -> String {
    let script = include_str!("one_each.sql").replace(":stride", &company.stride.to_string());
    script.replace(":agents", &company.agents().to_string())
}
