//! What a sweep costs, beside what the database alone can do: `make bench`. docs/benchmarks.md says how to read it.
//!
//! The machine is shared and its disk is moody, so every figure is a median of several rounds in which both sides take
//! turns, and what counts is the ratio. A sweep is measured whole, from connecting to the last line of its report.

mod boards;
mod chart;
mod databases;
mod figures;
mod fixtures;
mod growth;
mod history;
mod idle;
mod listen;
mod memory;
mod network;
mod own_host;
mod page;
mod paperclip;
mod postgres;
mod shards;
mod sqlite;
mod stale;
mod throughput;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, ensure};
use sweep::conclusion::Conclusion;
use sweep::store::Durable;
use sweep::store::connect::open::Url;
use sweep::sweep::{Cancel, Options};

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
    if wanted("stale") {
        stale::run(&server)?;
    }
    if wanted("network") {
        network::run(&server)?;
    }
    if wanted("databases") {
        databases::run(&server)?;
    }
    if wanted("listen") {
        listen::run(&server)?;
    }
    if wanted("paperclip") {
        paperclip::run(&server)?;
    }
    if wanted("own_host") {
        own_host::run(&server)?;
    }
    if wanted("page") {
        page::run(&server)?;
    }
    if wanted("boards") {
        boards::run(&server)?;
    }
    if wanted("history") {
        history::run(&server)?;
    }
    if wanted("growth") {
        growth::run(&server)?;
    }
    if wanted("memory") {
        memory::run(&server)?;
    }
    Ok(())
}

/// How long one sweep takes, as cron starts it.
fn sweep_process(database: &str) -> Result<Duration> {
    sweep_processes(&[database.to_owned()])
}

/// How long one sweep of all these databases takes, as cron starts it.
fn sweep_processes(databases: &[String]) -> Result<Duration> {
    let began = Instant::now();
    let mut sweep = Command::new(env!("CARGO_BIN_EXE_sweep"));
    let databases = databases.iter().flat_map(|database| ["--database", database]);
    sweep.args(databases).stdout(Stdio::null()).stderr(Stdio::null());
    let status = sweep.status()?;
    let took = began.elapsed();
    ensure!(status.success(), "the sweep ended with {status}");
    Ok(took)
}

/// How long one sweep of everything in a database takes, like `sweep --connections N`.
fn sweep_all(database: &str, connections: u32) -> Result<Duration> {
    sweep_durably(database, connections, Durable::default())
}

/// How long one sweep of everything takes, with commits that wait for the disk in this way.
fn sweep_durably(database: &str, connections: u32, durable: Durable) -> Result<Duration> {
    let options = Options { connections, durable, ..Options::of(Url::parse(database).map_err(Error::msg)?) };
    let began = Instant::now();
    let exit = sweep::sweep::run(&options, &Cancel::default(), &mut ())?.conclusion;
    let took = began.elapsed();
    ensure!(exit == Conclusion::Done, "the sweep ended with {exit:?}");
    Ok(took)
}
