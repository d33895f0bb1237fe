//! A sweep that finds nothing to do, beside the bare candidate query in psql, and a sweep of an empty database, which
//! is all overhead. Both are measured as an operator sees them, from the start of the process to its end.

use anyhow::{Result, ensure};

use crate::figures::{median, median_ratio, milliseconds, verdict};
use crate::fixtures::Company;
use crate::postgres::Server;
use crate::sweep_process;

const BUSY: u32 = 10_000;
const SIZES: [(&str, u32); 3] = [("idle_empty", 0), ("idle_small", 100_000), ("idle_large", 1_000_000)];
const ROUNDS: usize = 9;
/// The most time that a whole sweep may take, as a multiple of psql's with the query.
const RATIO_MAX: f64 = 3.0;

const QUERY: &str = "select * from sweep.issue_candidates order by since, subject_id limit 1000";

/// Makes wakes and issues as fresh as they are meant to be, whatever time has passed.
const REFRESH: &str = "update sweep.wakes set created_at = clock_timestamp(); \
    update sweep.issues i set updated_at = clock_timestamp() where status = 'in_progress' and title = 'woken' \
    and not exists (select from sweep.wakes w where w.issue_id = i.id)";

/// Takes the wakes of ten issues: they were touched a moment ago, and nobody is at work on them yet.
const TOUCH: &str = "delete from sweep.wakes where id in (select id from sweep.wakes order by id limit 10)";

pub fn run(server: &Server) -> Result<()> {
    for (database, issues) in SIZES {
        server.create(database, &Company::healthy(issues, BUSY))?;
    }
    println!("\nNothing to do: {BUSY} of the issues in progress, all healthy, ms (median of {ROUNDS})");
    println!("     issues    sweep      psql   sweep/psql   the query alone");
    let mut sweeps = SIZES.map(|_| Vec::new());
    let mut queries = SIZES.map(|_| Vec::new());
    let mut timings = SIZES.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (size, (database, _)) in SIZES.iter().enumerate() {
            server.execute(database, REFRESH)?;
            sweeps[size].push(milliseconds(sweep_process(&server.url(database))?));
            let (whole, timing) = server.psql(database, QUERY)?;
            queries[size].push(milliseconds(whole));
            timings[size].push(timing);
        }
    }
    for (size, (database, issues)) in SIZES.into_iter().enumerate() {
        let written = server.number(database, "(select count(*) from sweep.recoveries)")?;
        ensure!(written == 0, "something was done to {written} issues");
        let ratio = median_ratio(&sweeps[size], &queries[size]);
        let (sweep, query) = (median(sweeps[size].clone()), median(queries[size].clone()));
        let required = match issues {
            0 => String::new(),
            _ => format!("   at most {RATIO_MAX}: {}", verdict(ratio <= RATIO_MAX)),
        };
        let timing = median(timings[size].clone());
        println!("  {issues:9} {sweep:8.1} {query:9.1} {ratio:12.2} {timing:17.1}{required}");
    }
    let [_, small, large] = &sweeps;
    println!("  ten times the finished issues: {:.2} times the time", median_ratio(large, small));

    let [.., (largest, _)] = SIZES;
    server.execute(largest, TOUCH)?;
    let mut touched = Vec::new();
    for _ in 0..ROUNDS {
        server.execute(largest, REFRESH)?;
        touched.push(milliseconds(sweep_process(&server.url(largest))?));
    }
    println!("  ten of them touched a moment ago, without a run: {:.1} ms", median(touched));
    SIZES.iter().try_for_each(|(database, _)| server.drop(database))
}
