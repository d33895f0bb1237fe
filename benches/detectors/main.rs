//! What live stall detectors cost: memory for each, and time for each sign of life and each line of output. `cargo
//! bench --bench detectors`; docs/benchmarks.md says how to read it.

#[path = "../sweep/figures.rs"]
#[expect(dead_code, reason = "the other benchmark needs more of it")]
mod figures;

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use sweep::rules::Id;
use sweep::stall::{DetectorRegistry, StallConfig, StallDetector, Watched};
use tokio::sync::mpsc;
use tokio::time::sleep;

use figures::{median, milliseconds, verdict};

const DETECTORS: usize = 100_000;
const BYTES_MAX: f64 = 1024.0;
const ROUNDS: usize = 9;
const SIGNS: usize = 1_000_000;
const NANOSECONDS_MAX: f64 = 200.0;
const LINES: usize = 20_000;
const MICROSECONDS_MAX: f64 = 100.0;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (events, _inbox) = mpsc::channel(64);
    let registry = DetectorRegistry::default();
    let ids: Vec<Id> = (0..DETECTORS).map(|n| Id(format!("{n:08}-0000-4000-8000-000000000000"))).collect();

    let before = resident_bytes()?;
    let began = Instant::now();
    for id in &ids {
        registry.spawn(StallDetector::new(id.clone(), StallConfig::default()), events.clone())?;
    }
    // Lets each detector look for the first time and set its timer.
    sleep(Duration::from_millis(1)).await;
    let took = milliseconds(began.elapsed());
    let each = (resident_bytes()? - before) / DETECTORS as f64;
    println!("{DETECTORS} detectors in a registry, started in {took:.0} ms");
    println!("  {each:.0} bytes each   at most {BYTES_MAX}: {}", verdict(each <= BYTES_MAX));

    println!("\nA sign of life, ns (median of {ROUNDS} rounds of {SIGNS})");
    println!("  threads   sessions of each   the clock alone   handle   registry");
    let watched: Vec<Arc<Watched>> = ids.iter().filter_map(|id| registry.get(id)).collect();
    let started = tokio::time::Instant::now();
    for (threads, share) in [(1, 1), (1, DETECTORS), (2, 1), (2, DETECTORS / 2)] {
        let [mut clock, mut handle, mut by_id] = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            clock.push(nanoseconds(threads, share, |_| _ = black_box(started.elapsed())));
            handle.push(nanoseconds(threads, share, |n| watched[n].reset()));
            by_id.push(nanoseconds(threads, share, |n| _ = registry.reset(&ids[n])));
        }
        let [clock, handle, by_id] = [clock, handle, by_id].map(median);
        let holds = verdict(handle <= NANOSECONDS_MAX);
        println!(
            "  {threads:7} {share:18} {clock:17.0} {handle:8.0} {by_id:10.0}   at most {NANOSECONDS_MAX}: {holds}"
        );
    }

    let different = |n: usize| format!("wrote src/{}.rs, all tests pass", words(n));
    let [different, repeated] = [&different as &dyn Fn(usize) -> String, &|_| "error: no such table: users".to_owned()]
        .map(|line| median((0..ROUNDS).map(|_| microseconds(&watched[0], line)).collect()));
    println!("\nA line of output through the handle, µs (median of {ROUNDS} rounds of {LINES})");
    let holds = verdict(different.max(repeated) <= MICROSECONDS_MAX);
    println!("  lines that differ: {different:.0}, the same line: {repeated:.0}   at most {MICROSECONDS_MAX}: {holds}");

    let began = Instant::now();
    let outcomes = registry.shutdown().await;
    assert!(outcomes.len() == DETECTORS && outcomes.iter().all(|(_, outcome)| outcome.is_ok()), "a detector failed");
    println!("\nAll ended and joined in {:.0} ms", milliseconds(began.elapsed()));
    Ok(())
}

/// Nanoseconds for each sign of life, given by so many threads side by side, each to its own share of the sessions.
fn nanoseconds(threads: usize, share: usize, sign: impl Fn(usize) + Sync) -> f64 {
    let of_thread = |thread: usize| {
        let began = Instant::now();
        (0..SIGNS).for_each(|n| sign(thread * share + n % share));
        began.elapsed().as_nanos() as f64 / SIGNS as f64
    };
    let of_thread = &of_thread;
    let all: Vec<f64> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || of_thread(thread))).collect();
        running.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    all.iter().sum::<f64>() / threads as f64
}

/// Microseconds for each line of output of one session.
fn microseconds(session: &Watched, line: &dyn Fn(usize) -> String) -> f64 {
    let lines: Vec<String> = (0..LINES).map(line).collect();
    let began = Instant::now();
    lines.iter().for_each(|line| session.output(line));
    began.elapsed().as_secs_f64() * 1e6 / LINES as f64
}

/// Writes a number below 456,976 as four letters, since digits could be taken for a counter.
fn words(number: usize) -> String {
    (0..4).map(|place| char::from(b'a' + (number / 26_usize.pow(place) % 26) as u8)).collect()
}

/// The resident memory of this process, as the kernel counts it.
fn resident_bytes() -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("the kernel does not say")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1024.0)
}
