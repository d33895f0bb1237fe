//! `sweep run …`: what the program that runs an agent does about its run, in sweep's own tables, from a shell script.

use anyhow::{Result, ensure};
use diesel::QueryResult;
use serde_json::json;

use super::open_database::OpenDatabase;
use super::terminal::Layout;
use crate::cli::RunCommand;
use crate::conclusion::{Conclusion, some_failed, usage};
use crate::rules::Id;
use crate::settings::Environment;
use crate::store::work::runs::{self, TakenWake};
use crate::store::{Db, IdType, Purpose};
use crate::text::redact;

pub fn run(command: RunCommand, layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let begun = OpenDatabase::ask(Purpose::Run, environment, move |opened| {
        let host = &opened.store.host;
        let theirs = format!("{} has runs of its own: sweep run is for sweep's own tables", host.title());
        ensure!(host.is_native(), usage(theirs));
        match command {
            RunCommand::Start(flags) => {
                let begun = opened.change(|db, _| Ok(runs::begin(db, flags.lease)?))?;
                Ok(Some(begun.ok_or_else(|| some_failed("no wake is queued"))?))
            }
            RunCommand::Heartbeat { run } => {
                change(opened, layout, ("run heartbeat", &run), runs::note_heartbeat).map(|()| None)
            }
            RunCommand::End { run, status, done } => {
                change(opened, layout, ("run end", &run), |db, id| runs::end(db, id, status, done)).map(|()| None)
            }
        }
    })?;
    if let Some((run, TakenWake { agent_id, issue_id, plan_step_id, .. })) = begun {
        let name = |id: &Option<Id>| id.as_ref().map_or("-".to_owned(), |id| redact(&id.0));
        let line = format!("{} {} {}\n", redact(&run.0), name(&issue_id), name(&plan_step_id));
        layout.print(
            || line,
            || json!({ "schema": 1, "run": run, "agent": agent_id, "issue": issue_id, "step": plan_step_id }),
        );
    }
    Ok(Conclusion::Done)
}

/// Changes a run that is still running, and confirms the command that did so.
fn change(
    opened: &mut OpenDatabase,
    layout: Layout,
    (command, name): (&str, &str),
    body: impl FnOnce(&mut Db, &Id) -> QueryResult<bool>,
) -> Result<()> {
    let shown = redact(name);
    let (is_changed, is_there) = opened.change(|db, _| {
        let Some(id) = IdType::of(db)?.parse(name) else { return Ok((false, false)) };
        let is_changed = body(db, &id)?;
        Ok((is_changed, is_changed || runs::is_there(db, &id)?))
    })?;
    ensure!(is_there, usage(format!("there is no run {shown} in this database")));
    ensure!(is_changed, some_failed(format!("the run {shown} is not running any more: nothing was changed")));
    layout.confirm_done("", command, &[shown]);
    Ok(())
}
