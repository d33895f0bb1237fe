//! Peak memory, as the kernel counts it, and time of a dry run over many orphans.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sweep::conclusion::Conclusion;

use crate::figures::verdict;
use crate::fixtures::Company;
use crate::postgres::Server;

const ORPHANS: u32 = 200_000;
const MEBIBYTES_MAX: f64 = 64.0;
const SECONDS_MAX: f64 = 8.0;

pub fn run(server: &Server) -> Result<()> {
    server.create("many", &Company::with_orphans(ORPHANS, 3))?;
    println!("\nDry run over {ORPHANS} orphans, with 4 connections");
    println!("     output   peak MiB         s");
    for format in ["ndjson", "table"] {
        let began = Instant::now();
        let mut dry_run = Command::new(env!("CARGO_BIN_EXE_sweep"))
            .args(["--dry-run", "--detailed-exitcode", "--output", format])
            .args(["--database", &server.url("many")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let peak = peak_mebibytes(&mut dry_run)?;
        let took = began.elapsed().as_secs_f64();
        let (small, fast) = (verdict(peak <= MEBIBYTES_MAX), verdict(took <= SECONDS_MAX));
        println!(
            "  {format:>9} {peak:10.1} {took:9.1}   at most {MEBIBYTES_MAX} MiB: {small}, {SECONDS_MAX} s: {fast}"
        );
    }
    server.drop("many")
}

/// Reads the peak again and again until the process has ended, after which nobody knows it. The peak never falls.
fn peak_mebibytes(process: &mut Child) -> Result<f64> {
    let status = format!("/proc/{}/status", process.id());
    let mut peak = 0.0;
    loop {
        if let Some(kibibytes) = std::fs::read_to_string(&status).ok().as_deref().and_then(high_water) {
            peak = kibibytes / 1024.0;
        }
        if let Some(exit) = process.try_wait()? {
            let code = exit.code().context("the dry run was killed")?;
            ensure!(code == Conclusion::Changed as i32, "the dry run found nothing to do, or failed: {code}");
            return Ok(peak);
        }
        sleep(Duration::from_millis(5));
    }
}

/// Reads the peak of a process in KiB from its status in /proc.
pub fn high_water(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
