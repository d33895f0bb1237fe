//! Sweeps of a server that is some milliseconds away: a proxy delays every byte.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::figures::{median, verdict};
use crate::fixtures::Company;
use crate::postgres::Server;
use crate::{sweep_all, sweep_process};

/// The delay there and back.
pub const ROUND_TRIP: Duration = Duration::from_millis(5);
const SUBJECTS: u32 = 400;
const CONNECTIONS: u32 = 4;
const ROUNDS: usize = 5;
/// The most seconds: a quarter of what sweeps took before they read candidates by the page (7.4 and 4.7 s).
const ORPHANS_SECONDS_MAX: f64 = 1.85;
const WAITING_SECONDS_MAX: f64 = 1.18;
/// The most round trips of a sweep that finds nothing.
const IDLE_ROUND_TRIPS: u32 = 15;
const IDLE_BESIDE: Duration = Duration::from_millis(100);

/// Gives each issue a wait that its host has declared.
const WAIT: &str = "update sweep.issues set waiting_for = 'approval by legal' where status = 'in_progress'";

pub fn run(server: &Server) -> Result<()> {
    let proxy = Proxy::start(server)?;
    println!("\n{ROUND_TRIP:?} to the server and back, {CONNECTIONS} connections (median of {ROUNDS})");
    println!("                       s   round trips");
    server.create("template_far", &Company::with_orphans(SUBJECTS, 10))?;
    let sweep = |database: &str| Ok(sweep_all(&proxy.url(server, database), CONNECTIONS)?.as_secs_f64());
    measure(server, &proxy, &format!("{SUBJECTS} orphans"), ORPHANS_SECONDS_MAX, sweep)?;
    ensure!(server.number("bench", "(select count(*) from sweep.wakes)")? == i64::from(SUBJECTS), "not all continued");
    server.execute("template_far", WAIT)?;
    measure(server, &proxy, &format!("{SUBJECTS} that wait"), WAITING_SECONDS_MAX, sweep)?;
    ensure!(server.number("bench", "(select count(*) from sweep.wakes)")? == 0, "one that waits was continued");
    server.execute("template_far", "update sweep.issues set status = 'done'")?;
    let process = |database: &str| Ok(sweep_process(&proxy.url(server, database))?.as_secs_f64());
    let idle_max = IDLE_BESIDE + ROUND_TRIP * IDLE_ROUND_TRIPS;
    measure(server, &proxy, "nothing to do", idle_max.as_secs_f64(), process)?;
    server.drop("template_far")?;
    server.drop("bench")
}

fn measure(
    server: &Server,
    proxy: &Proxy,
    what: &str,
    seconds_max: f64,
    sweep: impl Fn(&str) -> Result<f64>,
) -> Result<()> {
    let (mut seconds, mut round_trips) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        server.copy("template_far", "bench")?;
        proxy.round_trips.store(0, Ordering::Relaxed);
        seconds.push(sweep("bench")?);
        round_trips.push(proxy.round_trips.load(Ordering::Relaxed) as f64);
    }
    let (seconds, round_trips) = (median(seconds), median(round_trips));
    let holds = verdict(seconds <= seconds_max);
    println!("  {what:14} {seconds:8.2} {round_trips:13.0}   at most {seconds_max:.2} s: {holds}");
    Ok(())
}

/// A proxy before the server's socket, which lives until the program ends.
pub struct Proxy {
    directory: tempfile::TempDir,
    /// How many answers the client waited for; an answer to several messages at once counts once.
    round_trips: Arc<AtomicU64>,
}

impl Proxy {
    pub fn start(server: &Server) -> Result<Proxy> {
        let (directory, port) = server.socket().context("the server has no socket")?;
        let socket = format!("{directory}/.s.PGSQL.{port}");
        let directory = tempfile::tempdir()?;
        let listener = UnixListener::bind(directory.path().join(format!(".s.PGSQL.{port}")))?;
        let round_trips = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&round_trips);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = UnixStream::connect(&socket) else { continue };
                relay(client, server, &counter);
            }
        });
        Ok(Proxy { directory, round_trips })
    }

    pub fn url(&self, server: &Server, database: &str) -> String {
        server.url_by(database, &self.directory.path().display().to_string()).expect("a server with a socket")
    }
}

fn relay(client: UnixStream, server: UnixStream, round_trips: &Arc<AtomicU64>) {
    let (Ok(to_client), Ok(to_server)) = (client.try_clone(), server.try_clone()) else { return };
    let is_awaited = Arc::new(AtomicBool::new(false));
    let (asked, answered, round_trips) = (Arc::clone(&is_awaited), is_awaited, Arc::clone(round_trips));
    delayed(client, to_server, move || asked.store(true, Ordering::Relaxed));
    delayed(server, to_client, move || {
        if answered.swap(false, Ordering::Relaxed) {
            round_trips.fetch_add(1, Ordering::Relaxed);
        }
    });
}

/// Passes on each piece half a round trip after it came; a piece that waits does not hold up the next one.
fn delayed(mut from: UnixStream, mut to: UnixStream, comes: impl Fn() + Send + 'static) {
    let (sender, pieces) = channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        for (due, piece) in pieces {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&piece).is_err() {
                return;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            comes();
            if sender.send((Instant::now() + ROUND_TRIP / 2, buffer[..length].to_vec())).is_err() {
                return;
            }
        }
    });
}
