//! How long the boards of everybody and of one tenant take when very much is in progress among very many finished
//! issues: as whole processes, from connecting to the last line.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::figures::{median, milliseconds, verdict};
use crate::fixtures::Company;
use crate::postgres::Server;

const ISSUES: u32 = 5_000_000;
/// One issue in 45 is in progress: 111,112.
const STRIDE: u32 = 45;
const OF_ONE_TENANT: u32 = 1_000;
const ROUNDS: usize = 5;
const MILLISECONDS_MAX: f64 = 1_500.0;
const MILLISECONDS_MAX_OF_ONE_TENANT: f64 = 300.0;

/// In progress: twelve issues of twenty have a live run, four a recent wake, two wait, one is orphaned and one
/// escalated. The first thousand belong to one tenant, the others to fifty; all have two hundred agents.
const IN_PROGRESS: &str = "
    update sweep.issues i
    set assignee_agent_id = md5('agent ' || k % 200)::uuid,
        tenant = case when k < :of_one_tenant then 'small' else 'tenant ' || k % 50 end,
        waiting_for = case when k % 10 = 8 then 'approval by legal' end
    from (select id, substr(identifier, 5)::int / :stride as k from sweep.issues where status = 'in_progress') n
    where n.id = i.id;
    insert into sweep.recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt)
    select gen_random_uuid(), gen_random_uuid(), 'issue', id, 'escalate', 'no attempt is left', started_at, 1
    from sweep.issues where status = 'in_progress' and substr(identifier, 5)::int / :stride % 20 = 19";

const COMMANDS: [&str; 2] = ["status", "attention"];

pub fn run(server: &Server) -> Result<()> {
    server.create("boards", &company())?;
    let in_progress = IN_PROGRESS.replace(":of_one_tenant", &OF_ONE_TENANT.to_string());
    server.execute("boards", &in_progress.replace(":stride", &STRIDE.to_string()))?;
    server.execute("boards", "vacuum analyze")?;
    let count = server.number("boards", "(select count(*) from sweep.issue_subjects)")?;
    println!("\nHow the work stands: {count} of {ISSUES} issues in progress, ms (median of {ROUNDS})");
    println!("                     everybody   a tenant of {OF_ONE_TENANT}");
    for command in COMMANDS {
        let all = shown(&server.url("boards"), &[command])?;
        let one = shown(&server.url("boards"), &[command, "--tenant", "small"])?;
        let holds = verdict(all <= MILLISECONDS_MAX && one <= MILLISECONDS_MAX_OF_ONE_TENANT);
        println!(
            "  sweep {command:12} {all:10.0} {one:18.0}   at most {MILLISECONDS_MAX} and \
             {MILLISECONDS_MAX_OF_ONE_TENANT}: {holds}"
        );
    }
    server.drop("boards")
}

fn company() -> Company {
    let states = format!(
        "case when n % {STRIDE} <> 0 then 'finished' when n / {STRIDE} % 10 < 6 then 'live' \
         when n / {STRIDE} % 10 < 8 then 'woken' else 'orphaned' end"
    );
    Company { issues: ISSUES, stride: STRIDE, states }
}

/// The median time of a command. The first round, in which the server reads its tables from the disk, does not count.
fn shown(database: &str, arguments: &[&str]) -> Result<f64> {
    let mut rounds = Vec::new();
    for _ in 0..=ROUNDS {
        let began = Instant::now();
        let mut sweep = Command::new(env!("CARGO_BIN_EXE_sweep"));
        sweep.args(arguments).args(["--database", database]).stdout(Stdio::null());
        let status = sweep.status()?;
        rounds.push(milliseconds(began.elapsed()));
        ensure!(status.success(), "sweep {arguments:?} ended with {status}");
    }
    Ok(median(rounds.split_off(1)))
}
