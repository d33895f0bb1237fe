//! Subjects per second beside the floor: pgbench running the same statements, its writes merged into one.

use anyhow::{Result, ensure};

use crate::figures::{median, median_ratio, verdict};
use crate::fixtures::Company;
use crate::postgres::Server;
use crate::sweep_all;

const ORPHANS: u32 = 2000;
const STRIDE: u32 = 10;
const ROUNDS: usize = 7;
/// The least share of pgbench's rate, with four connections.
const RATIO_MIN: f64 = 0.7;

pub fn run(server: &Server) -> Result<()> {
    let company = Company::with_orphans(ORPHANS, STRIDE);
    server.create("template_orphans", &company)?;
    println!("\n{ORPHANS} orphans among {} issues, subjects/s (median of {ROUNDS})", company.issues);
    println!("  connections    sweep   pgbench   sweep/pgbench");
    for connections in [1, 4, 8] {
        let (mut ours, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            server.copy("template_orphans", "bench")?;
            floor.push(server.pgbench("bench", &script(&company), connections, ORPHANS / connections)?);
            ensure_all_continued(server)?;

            server.copy("template_orphans", "bench")?;
            ours.push(f64::from(ORPHANS) / sweep_all(&server.url("bench"), connections)?.as_secs_f64());
            ensure_all_continued(server)?;
        }
        let ratio = median_ratio(&ours, &floor);
        let required = match connections {
            4 => format!("   at least {RATIO_MIN}: {}", verdict(RATIO_MIN <= ratio)),
            _ => String::new(),
        };
        println!("  {connections:11} {:8.0} {:9.0} {ratio:15.2}{required}", median(ours), median(floor));
    }
    server.drop("template_orphans")
}

/// A side that did not do all its work proves nothing.
fn ensure_all_continued(server: &Server) -> Result<()> {
    for rows in ["(select count(distinct subject_id) from sweep.recoveries)", "(select count(*) from sweep.wakes)"] {
        let found = server.number("bench", rows)?;
        ensure!(found == i64::from(ORPHANS), "{rows} is {found}, expected {ORPHANS}");
    }
    Ok(())
}

/// Each client has its own share of the orphans and takes them one by one.
fn script(company: &Company) -> String {
    let (stride, agents) = (company.stride, company.agents());
    let issue = "md5(:number::text)::uuid";
    format!(
        "\\set number (:client_id * :each + :round) * {stride}
\\set round :round + 1
begin;
select (select a.id from agents a where a.id = i.assignee_agent_id for share skip locked), null::uuid
    from issues i where i.id = {issue} for update of i skip locked;
select * from issue_facts where subject_id = {issue};
with wake as (
    insert into wakes (id, agent_id, issue_id, reason, payload, requested_by)
    values (gen_random_uuid(), md5('agent ' || :number::integer / {stride} % {agents})::uuid, {issue}, 'issue_continuation_needed',
            jsonb_build_object('issueId', {issue}, 'retryOfRunId', {issue}, 'wakeReason', 'issue_continuation_needed',
                               'retryReason', 'issue_continuation_needed'), 'sweep')
    returning id)
insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, wake_id)
    select gen_random_uuid(), '00000000-0000-0000-0000-000000000000', 'issue', {issue}, 'continue', 'nobody is working on it',
           now(), 1, wake.id from wake;
commit;
"
    )
}
