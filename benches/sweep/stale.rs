//! An idle sweep after a mass event: the wakes of thousands of continued issues wait, where the server last looked at
//! its tables when nothing was open. Beside it the same with fresh statistics, and where nobody
//! refreshes the old ones.

use anyhow::Result;

use crate::figures::{median, median_ratio, milliseconds, verdict};
use crate::fixtures::Company;
use crate::postgres::Server;
use crate::sweep_all;

const STRUCK: u32 = 10_000;
const ROUNDS: usize = 3;
/// The most time that an idle sweep may take, as a multiple of one with fresh statistics.
const RATIO_MAX: f64 = 2.0;

const STRIKE: &str = "set search_path = sweep; set session_replication_role = replica;
    insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, created_at, settled_at)
        select gen_random_uuid(), gen_random_uuid(), 'issue', id, 'continue', 'x', now() - interval '1 day', 1,
               now() - interval '5 hours', now() from issues;
    analyze;
    create temp table struck as select id, assignee_agent_id, gen_random_uuid() as wake_id from issues order by id limit :struck;
    update issues set status = 'in_progress' where id in (select id from struck);
    insert into wakes (id, agent_id, issue_id, reason, requested_by, created_at)
        select wake_id, assignee_agent_id, id, 'issue_continuation_needed', 'sweep', now() - interval '5 minutes' from struck;
    insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, created_at, wake_id)
        select gen_random_uuid(), gen_random_uuid(), 'issue', id, 'continue', 'x', now() - interval '3 hours', 1,
               now() - interval '5 minutes', wake_id from struck";

/// Nobody else looks at the tables.
const KEEP: &str = "alter table sweep.issues set (autovacuum_enabled = off); alter table sweep.wakes set \
    (autovacuum_enabled = off); alter table sweep.recoveries set (autovacuum_enabled = off)";

const FORGET: &str = "create or replace function sweep.refresh_statistics() returns void language sql as ''";

pub fn run(server: &Server) -> Result<()> {
    let sides = [("stale_kept", FORGET), ("stale", "select"), ("stale_fresh", "analyze")];
    let [(first, _), ..] = sides;
    server.create(first, &Company { issues: 50_000, stride: 5, states: "'finished'".to_owned() })?;
    server.execute(first, KEEP)?;
    server.execute(first, &STRIKE.replace(":struck", &STRUCK.to_string()))?;
    for (database, _) in &sides[1..] {
        server.copy(first, database)?;
    }
    for (database, prepared) in sides {
        server.execute(database, prepared)?;
    }
    let mut took = sides.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (side, (database, _)) in sides.iter().enumerate() {
            took[side].push(milliseconds(sweep_all(&server.url(database), 4)?));
        }
    }
    println!("\nAfter a mass event: {STRUCK} continued issues wait, ms (median of {ROUNDS})");
    let [kept, refreshed, fresh] = &took;
    for (words, side) in [("old statistics", kept), ("refreshed by sweeps", refreshed)] {
        let ratio = median_ratio(side, fresh);
        let (ms, holds) = (median(side.clone()), verdict(ratio <= RATIO_MAX));
        println!("  {words:20} {ms:8.1}   {ratio:.2} times fresh ones   at most {RATIO_MAX}: {holds}");
    }
    println!("  {:20} {:8.1}", "fresh statistics", median(fresh.clone()));
    sides.iter().try_for_each(|(database, _)| server.drop(database))
}
