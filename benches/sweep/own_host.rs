//! A host of one's own, as docs/hosts.md connects it: what the server does for each of many that are stranded, and of a
//! sweep that finds them waiting for their wakes.

use std::path::Path;

use anyhow::{Error, Result, ensure};
use sweep::conclusion::Conclusion;
use sweep::store::Access;
use sweep::store::connect::open::Url;
use sweep::store::hosts::folders::in_directory;
use sweep::store::hosts::migrate::{Wanted, migrate};
use sweep::sweep::{Cancel, Options};

use crate::figures::verdict;
use crate::postgres::Server;

const STRANDED: [i64; 2] = [2_000, 20_000];
const FINISHED: i64 = 20_000;
/// The most milliseconds of the server for each subject: continued, found waiting, and escalated.
const MILLISECONDS_MAX: f64 = 3.0;

/// The agents that sweep woke took their jobs, and failed.
const FAILED: &str = "update jobs set state = 'failed', queued_at = queued_at - interval '1 hour', \
    ended_at = now() - interval '30 minutes' where state = 'queued'; \
    update sweep.recoveries set created_at = created_at - interval '1 hour', \
    episode_began_at = episode_began_at - interval '1 hour'";

pub fn run(server: &Server) -> Result<()> {
    println!("\nA host of one's own beside {FINISHED} finished tasks, ms of the server for each that is stranded");
    println!("  stranded  continued  waiting  escalated");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/host");
    let url = server.url("own_host");
    for stranded in STRANDED {
        server.create_empty("own_host")?;
        server.execute("own_host", &std::fs::read_to_string(folder.join("tables.sql"))?)?;
        let wanted = Wanted { host: Some(in_directory(&folder)?), ..Wanted::default() };
        migrate(&mut Url::postgres(&url).connect(Access::Write)?, &wanted)?;
        fill(stranded).iter().try_for_each(|statements| server.execute("own_host", statements))?;
        let sweep = || sweep_unguarded(&url);
        let each = |milliseconds: f64| milliseconds / stranded as f64;
        let continued = each(server.milliseconds("own_host", sweep)?);
        let waiting = each(server.milliseconds("own_host", sweep)?);
        server.execute("own_host", FAILED)?;
        let escalated = each(server.milliseconds("own_host", sweep)?);
        for action in ["continue", "escalate"] {
            let rows = format!("(select count(*) from sweep.recoveries where action = '{action}')");
            let found = server.number("own_host", &rows)?;
            ensure!(found == stranded, "{action}: {found}, expected {stranded}");
        }
        let holds = [continued, waiting, escalated].iter().all(|each| *each <= MILLISECONDS_MAX);
        println!(
            "  {stranded:8} {continued:10.2} {waiting:8.2} {escalated:10.2}   at most {MILLISECONDS_MAX}: {}",
            verdict(holds)
        );
        server.drop("own_host")?;
    }
    Ok(())
}

/// What is finished and what is stranded. The statistics know of the former alone, and that sweep's tables are empty.
fn fill(stranded: i64) -> [String; 3] {
    let workers = stranded / 8;
    let finished = format!(
        "insert into workers (name) select 'Worker ' || n from generate_series(1, {workers}) n; \
         insert into tasks (title, state, worker_id, changed_at) \
         select 'Paint', 'done', 1 + n % {workers}, now() - interval '2 days' from generate_series(1, {FINISHED}) n; \
         insert into jobs (task_id, worker_id, state, queued_at, ended_at) \
         select id, worker_id, 'done', changed_at, changed_at from tasks"
    );
    let stranded = format!(
        "insert into tasks (title, state, worker_id, changed_at) \
         select 'Mend', 'doing', 1 + n % {workers}, now() - interval '2 hours' from generate_series(1, {stranded}) n"
    );
    [finished, "vacuum analyze".to_owned(), stranded]
}

/// Nearly all that is in progress is stranded.
fn sweep_unguarded(url: &str) -> Result<()> {
    let options = Options { guard: None, ..Options::of(Url::parse(url).map_err(Error::msg)?) };
    let exit = sweep::sweep::run(&options, &Cancel::default(), &mut ())?.conclusion;
    ensure!(exit == Conclusion::Done, "the sweep ended with {exit:?}");
    Ok(())
}
