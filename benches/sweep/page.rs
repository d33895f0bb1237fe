//! The time and memory that the page needs at 100,000 escalations, each with a continuation before it, spread over four
//! weeks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use sweep::store::Access;
use sweep::store::connect::open::Url;
use sweep::store::hosts::migrate::{Wanted, migrate};

use crate::figures::{median, milliseconds, verdict};
use crate::memory::high_water;
use crate::postgres::Server;

const ESCALATIONS: u32 = 100_000;
const ROUNDS: usize = 9;
const MILLISECONDS_MAX: f64 = 200.0;
const MEBIBYTES_MAX: f64 = 64.0;

/// How long the page shows a reading before it reads again.
const FRESH: Duration = Duration::from_millis(2100);

pub fn run(server: &Server) -> Result<()> {
    println!("\nThe page at {ESCALATIONS} escalations, by HTTP");
    println!("              database   first ms   then ms   peak MiB");
    server.create_page("page", "blocked")?;
    measure("native, blocked", &server.url("page"))?;
    server.drop("page")?;
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/paperclip/schema.sql");
    ensure!(schema.exists(), "Paperclip's schema is missing: run tests/paperclip");
    server.create_paperclip("page", &schema)?;
    server.execute("page", &fill(PAPERCLIP, "blocked"))?;
    server.execute("page", "vacuum analyze")?;
    measure("Paperclip, blocked", &server.url("page"))?;
    server.drop("page")?;
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("page.db");
    let url = Url::Sqlite(file.clone());
    url.create()?;
    migrate(&mut url.connect(Access::Write)?, &Wanted::default())?;
    let path = file.to_str().context("the temporary directory's name is no UTF-8")?;
    SqliteConnection::establish(path)?.batch_execute(&fill(SQLITE, "blocked"))?;
    measure("SQLite, blocked", &format!("sqlite://{path}"))
}

impl Server {
    fn create_page(&self, database: &str, status: &str) -> Result<()> {
        self.create(database, &crate::fixtures::Company::healthy(8, 8))?;
        self.execute(database, "truncate sweep.issues, sweep.runs, sweep.wakes, sweep.agents cascade")?;
        self.execute(database, &fill(NATIVE, status))?;
        self.execute(database, "vacuum analyze")
    }
}

fn fill(sql: &str, status: &str) -> String {
    sql.replace(":status", &format!("'{status}'")).replace(":escalations", &ESCALATIONS.to_string())
}

fn measure(name: &str, url: &str) -> Result<()> {
    let (first, then, peak) = answers(url, "100000 things need a person")?;
    let holds = verdict(then <= MILLISECONDS_MAX && peak <= MEBIBYTES_MAX);
    println!(
        "  {name:>20} {first:10.0} {then:9.0} {peak:10.1}   at most {MILLISECONDS_MAX} and {MEBIBYTES_MAX}: {holds}"
    );
    Ok(())
}

/// The first answer of a page and the median of later ones, each from a reading of its own, in milliseconds; and the
/// peak of its memory in MiB. Each answer says `expected`.
pub fn answers(url: &str, expected: &str) -> Result<(f64, f64, f64)> {
    let mut page = Command::new(env!("CARGO_BIN_EXE_sweep"))
        .args(["page", "--http", "127.0.0.1:0", "--database", url])
        .stderr(Stdio::piped())
        .spawn()?;
    let measured = answers_of(&mut page, expected);
    let status = std::fs::read_to_string(format!("/proc/{}/status", page.id()))?;
    page.kill()?;
    page.wait()?;
    let (first, then) = measured?;
    Ok((first, then, high_water(&status).context("no peak")? / 1024.0))
}

fn answers_of(page: &mut Child, expected: &str) -> Result<(f64, f64)> {
    let mut lines = BufReader::new(page.stderr.take().context("no log")?).lines();
    let port = lines.find_map(|line| line.ok()?.split("127.0.0.1:").nth(1)?.split(':').next()?.parse().ok());
    let port: u16 = port.context("no port")?;
    let first = answer(port, expected)?;
    let mut then = Vec::new();
    for _ in 0..ROUNDS {
        // A reading that took long is shown for four times as long.
        sleep(FRESH.max(Duration::from_secs_f64(first * 4.1 / 1e3)));
        then.push(answer(port, expected)?);
    }
    Ok((first, median(then)))
}

fn answer(port: u16, expected: &str) -> Result<f64> {
    let began = Instant::now();
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200") && answer.contains(expected), "{answer:.500}");
    Ok(milliseconds(began.elapsed()))
}

const NATIVE: &str = include_str!("page/native.sql");
const PAPERCLIP: &str = include_str!("page/paperclip.sql");
const SQLITE: &str = include_str!("page/sqlite.sql");
