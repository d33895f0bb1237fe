//! How the costs grow: with the issues of a database, with the rows of the ledger, and with what is stranded. No line
//! may bend upwards. The table is drawn as docs/images/growth.svg too.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::chart::{self, Line};
use crate::figures::{median, milliseconds, verdict};
use crate::fixtures::Company;
use crate::postgres::Server;
use crate::sweep_all;

const ISSUES: [u32; 4] = [10_000, 50_000, 200_000, 1_000_000];
const LEDGER: [u32; 4] = [10_000, 50_000, 200_000, 1_000_000];
const STRANDED: [u32; 4] = [500, 2_000, 8_000, 32_000];
/// Issues in progress, all healthy, beside which the ledger grows and the finished issues.
const BUSY: u32 = 1_000;
const ROUNDS: usize = 5;

pub fn run(server: &Server) -> Result<()> {
    let lines = [of_issues(server)?, of_ledger(server)?, vec![of_stranded(server)?]].concat();
    println!("\nGrowth, ms (median of {ROUNDS})");
    for line in &lines {
        let points = line.points.iter().map(|(count, ms)| format!("{count}: {ms:.0}")).collect::<Vec<_>>().join(", ");
        println!("  {:44} {points}   no bend upwards: {}", line.name, verdict(!line.bends_upwards()));
    }
    let picture = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/images/growth.svg");
    std::fs::write(picture, chart::draw(&lines, "things in the database", "milliseconds"))?;
    Ok(())
}

fn of_issues(server: &Server) -> Result<Vec<Line>> {
    let mut lines = COMMANDS.map(|(name, _)| Line::new(format!("{name}, by issues")));
    for issues in ISSUES {
        server.create("growth", &Company::healthy(issues, BUSY))?;
        measure(server, issues, &mut lines)?;
    }
    server.drop("growth")?;
    Ok(lines.to_vec())
}

fn of_ledger(server: &Server) -> Result<Vec<Line>> {
    let mut lines = COMMANDS.map(|(name, _)| Line::new(format!("{name}, by rows of the ledger")));
    for rows in LEDGER {
        server.create("growth", &Company::healthy(10_000, BUSY))?;
        server.record("growth", rows, 28)?;
        measure(server, rows, &mut lines)?;
    }
    server.drop("growth")?;
    Ok(lines.to_vec())
}

fn of_stranded(server: &Server) -> Result<Line> {
    let mut line = Line::new("a sweep that continues all, by what is stranded".to_owned());
    for stranded in STRANDED {
        server.create("template_growth", &Company::with_orphans(stranded, 4))?;
        let round = |_| {
            server.copy("template_growth", "growth")?;
            let took = milliseconds(sweep_all(&server.url("growth"), 4)?);
            let wakes = server.number("growth", "(select count(*) from sweep.wakes)")?;
            ensure!(wakes == i64::from(stranded), "{wakes} of {stranded} were continued");
            Ok(took)
        };
        let rounds: Result<Vec<f64>> = (0..3).map(round).collect();
        line.points.push((stranded, median(rounds?)));
    }
    server.drop("growth")?;
    server.drop("template_growth")?;
    Ok(line)
}

const COMMANDS: [(&str, &[&str]); 2] = [("a sweep that finds nothing", &[]), ("sweep attention", &["attention"])];

/// Times the commands at so many things. The first round does not count: the server reads its tables from the disk.
fn measure(server: &Server, count: u32, lines: &mut [Line]) -> Result<()> {
    for ((_, arguments), line) in COMMANDS.iter().zip(lines) {
        let mut rounds = Vec::new();
        for _ in 0..=ROUNDS {
            server.execute("growth", "update sweep.wakes set created_at = clock_timestamp()")?;
            let began = Instant::now();
            let mut sweep = Command::new(env!("CARGO_BIN_EXE_sweep"));
            sweep
                .args(*arguments)
                .args(["--database", &server.url("growth")])
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let status = sweep.status()?;
            rounds.push(milliseconds(began.elapsed()));
            ensure!(status.success(), "sweep {arguments:?} ended with {status}");
        }
        line.points.push((count, median(rounds.split_off(1))));
    }
    Ok(())
}
