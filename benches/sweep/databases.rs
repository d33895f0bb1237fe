//! One sweep of twenty databases of a server, none of which has anything to do, beside a sweep of one of them: at the
//! server, and some milliseconds away.

use anyhow::{Context, Result, ensure};

use crate::figures::{median, median_ratio, milliseconds, verdict};
use crate::fixtures::Company;
use crate::network::{Proxy, ROUND_TRIP};
use crate::postgres::Server;
use crate::{sweep_process, sweep_processes};

const DATABASES: usize = 20;
const ISSUES: u32 = 10_000;
const BUSY: u32 = 100;
const ROUNDS: usize = 9;
/// The most time for all of them, as a multiple of that for one. Where all cores are busy meanwhile, as two are, the
/// ratio says how many cores there are, and no more.
const RATIO_MAX: f64 = 6.0;
const FAR_RATIO_MAX: f64 = 8.0;

pub fn run(server: &Server) -> Result<()> {
    let names: Vec<String> = (0..DATABASES).map(|n| format!("databases_{n}")).collect();
    server.create(&names[0], &Company::healthy(ISSUES, BUSY))?;
    names[1..].iter().try_for_each(|name| server.copy(&names[0], name))?;
    let proxy = Proxy::start(server)?;
    println!("\nNothing to do in {DATABASES} databases of a server, ms (median of {ROUNDS})");
    println!("                     one       all   all/one   cores busy");
    let near = |name: &String| server.url(name);
    let far = |name: &String| proxy.url(server, name);
    measure("at the server", RATIO_MAX, &names.iter().map(near).collect::<Vec<_>>())?;
    measure(&format!("{ROUND_TRIP:?} away"), FAR_RATIO_MAX, &names.iter().map(far).collect::<Vec<_>>())?;
    for name in &names {
        let written = server.number(name, "(select count(*) from sweep.recoveries)")?;
        ensure!(written == 0, "something was done to {written} issues");
        server.drop(name)?;
    }
    Ok(())
}

fn measure(what: &str, ratio_max: f64, urls: &[String]) -> Result<()> {
    let (mut one, mut all, mut busy) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        one.push(milliseconds(sweep_process(&urls[0])?));
        let before = Ticks::now()?;
        all.push(milliseconds(sweep_processes(urls)?));
        busy.push(Ticks::now()?.busy_since(&before));
    }
    let ratio = median_ratio(&all, &one);
    let holds = verdict(ratio <= ratio_max);
    let (one, all) = (median(one), median(all));
    let busy = 100.0 * median(busy);
    println!("  {what:14} {one:8.1} {all:9.1} {ratio:9.2} {busy:10.0} %   at most {ratio_max}: {holds}");
    Ok(())
}

/// What the machine's cores have done since it started, in the kernel's ticks.
struct Ticks {
    busy: f64,
    idle: f64,
}

impl Ticks {
    fn now() -> Result<Ticks> {
        let stat = std::fs::read_to_string("/proc/stat")?;
        let first = stat.lines().next().context("/proc/stat is empty")?;
        let ticks: Vec<f64> = first.split_whitespace().skip(1).map(str::parse).collect::<Result<_, _>>()?;
        // The fourth and the fifth number: idle, and idle while the disk works.
        let idle = ticks.iter().skip(3).take(2).sum();
        // The last two stand in the first two as well.
        let all: f64 = ticks.iter().take(8).sum();
        Ok(Ticks { busy: all - idle, idle })
    }

    /// The share of the cores' time in which they were busy.
    fn busy_since(&self, before: &Ticks) -> f64 {
        let (busy, idle) = (self.busy - before.busy, self.idle - before.idle);
        busy / (busy + idle)
    }
}
