//! What a sweep costs, beside what the database alone can do: `make bench`. docs/benchmarks.md says how to read it.
//!
//! The machine is shared and its disk is moody, so every figure is a median of several rounds in which both sides take
//! turns, and what counts is the ratio. A sweep is measured whole, from connecting to the last line of its report.

mod figures;
mod fixtures;
mod idle;
mod listen;
mod memory;
mod paperclip;
mod postgres;
mod shards;
mod sqlite;
mod throughput;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sweep::cli::{DatabaseFlag, ScopeFlags, SweepFlags};
use sweep::exit::Exit;
use sweep::settings::{Environment, Settings};
use sweep::sweep::signals::Stop;

use postgres::Server;

fn main() -> Result<()> {
    let server = Server::of_environment().context("benchmarks need a PostgreSQL that does fsync: run `make bench`")?;
    println!("{}", server.describe()?);
    // `cargo bench -- idle memory` runs these two; cargo adds a flag of its own.
    let named: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let wanted = |name: &str| named.is_empty() || named.iter().any(|named| named == name);
    if wanted("throughput") {
        throughput::run(&server)?;
    }
    if wanted("shards") {
        shards::run(&server)?;
    }
    if wanted("sqlite") {
        sqlite::run()?;
    }
    if wanted("idle") {
        idle::run(&server)?;
    }
    if wanted("listen") {
        listen::run(&server)?;
    }
    if wanted("paperclip") {
        paperclip::run(&server)?;
    }
    if wanted("memory") {
        memory::run(&server)?;
    }
    Ok(())
}

/// One sweep of everything in a database, as `sweep --connections N` does it; how long it took.
fn sweep_all(database: &str, connections: u32) -> Result<Duration> {
    let database = DatabaseFlag { database: Some(database.to_owned()), ..DatabaseFlag::default() };
    let scope = ScopeFlags { database, connections: Some(connections), ..ScopeFlags::default() };
    let flags = SweepFlags { scope, ..SweepFlags::default() };
    let settings = Settings::resolve(flags, &Environment::of(&[]))?;
    let began = Instant::now();
    let exit = sweep::sweep::run(&settings, &Stop::default(), &mut std::io::sink())?.exit;
    let took = began.elapsed();
    ensure!(exit == Exit::Done, "the sweep ended with {exit:?}");
    Ok(took)
}
