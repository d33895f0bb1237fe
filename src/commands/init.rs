//! `sweep init`: a newcomer's first step. It asks which database, who is notified and what runs sweeps, shows what a
//! migration would do and what a sweep would, and writes the files to go on with.
//!
//! Nothing is written that was not shown before, every step may be declined, and what is there already stays as it is
//! until somebody says otherwise. So it can be run again.

mod answers;
mod closing;
mod deployed;
mod deployment;
mod planned;
mod questions;
mod settings;

use anyhow::Result;

use super::host::wanted;
use super::run as sweeping;
use super::terminal::{print_wrapped, say};
use crate::cli::InitFlags;
use crate::conclusion::Conclusion;
use crate::report::Format;
use crate::rules::display::counted;
use crate::settings::{Environment, SweepFlags, create_database};
use crate::store::hosts::migrate::{self, MigrationPlan, Wanted};
use crate::store::{Access, Url};
use crate::telemetry::Loudness;
use answers::SetupAnswers;
use closing::{advice, what_next};
use deployed::files;
use deployment::Deployment;
use planned::{FilesWritten, PlannedFile};
use questions::Asker;

pub fn run(flags: &InitFlags, loudness: Loudness, environment: &Environment) -> Result<Conclusion> {
    let asker = Asker::new(flags.yes)?;
    let deployment = Deployment::choose(flags, &asker)?;
    let answers = SetupAnswers::collect(flags, &deployment, environment, &asker)?;
    let files = files(&deployment, &answers)?;
    // A place where nothing can be written is said before the database is touched.
    files.iter().try_for_each(PlannedFile::refuse_unwritable)?;
    if flags.yes {
        files.iter().try_for_each(PlannedFile::refuse_replacing)?;
    }
    answers.refuse_place_of_database()?;
    let environment = environment.clone().with_database(answers.database_text());
    let has_schema = set_up_schema(flags, &answers, &environment, &asker)?;
    if has_schema {
        say("\nThe first dry run, which writes nothing:\n\n");
        let dry_run = SweepFlags { dry_run: true, ..SweepFlags::default() };
        sweeping::run(dry_run, Format::Table, loudness, &environment)?;
    }
    let written = write_files(&files, &asker)?;
    if !has_schema || written == FilesWritten::Declined {
        say("\nNot all of it was done. `sweep init` can be run again, and asks about the rest.\n");
        return Ok(Conclusion::SomeFailed);
    }
    // Somebody copies the commands, so none is broken up.
    say(&what_next(&deployment, &answers));
    print_wrapped(&advice(&deployment, &answers));
    Ok(Conclusion::Done)
}

/// Shows what a migration would do, and does it after a yes. Is there a schema then?
fn set_up_schema(flags: &InitFlags, answers: &SetupAnswers, environment: &Environment, asker: &Asker) -> Result<bool> {
    let url = &answers.database;
    let wanted = Wanted { host: wanted(flags.host, flags.host_dir.as_deref())?, ..Wanted::default() };
    let plan = plan(url, &wanted)?;
    let (host, place) = (plan.host.title(), answers.database_shown());
    if plan.missing.is_empty() {
        print_wrapped(&format!("\n{place}: the schema is up to date (host {}, {host}).\n", plan.host.name()));
        return Ok(true);
    }
    let is_new = matches!(url, Url::Sqlite(path) if !path.exists());
    let what = if is_new { "a new file, for your user alone" } else { "it has been connected to" };
    print_wrapped(&format!(
        "\n{place}: {what} (host {}, {host}).\n`sweep migrate` would run {} there, and nothing outside of sweep's own \
         schema; with --print it shows their SQL.\n",
        plan.host.name(),
        counted(plan.missing.len() as i64, "migration", "migrations"),
    ));
    if !asker.agrees("Migrate this database?")? {
        say("Not migrated.\n");
        return Ok(false);
    }
    answers.make_directory()?;
    create_database(url, environment)?;
    let plan = migrate::migrate(&mut url.connect(Access::Write)?, &wanted).map_err(|error| url.explain(error))?;
    say(&format!("Migrated (host {}).\n", plan.host.name()));
    Ok(true)
}

/// What a migration would do; of a file that is not there yet, what it would do to an empty one.
fn plan(url: &Url, wanted: &Wanted) -> Result<MigrationPlan> {
    let of = |url: &Url| {
        let mut db = url.connect(Access::ReadOnly)?;
        db.look(|db| migrate::plan(db, wanted)).map_err(|error| url.explain(error))
    };
    match url {
        Url::Sqlite(path) if !path.exists() => {
            let directory = tempfile::tempdir()?;
            let empty = Url::Sqlite(directory.path().join("empty.db"));
            empty.create()?;
            of(&empty)
        }
        url => of(url),
    }
}

/// Shows each file, and writes those that nobody declines.
fn write_files(files: &[PlannedFile], asker: &Asker) -> Result<FilesWritten> {
    let (new, others): (Vec<&PlannedFile>, Vec<&PlannedFile>) = files.iter().partition(|file| file.is_new());
    let mut written = FilesWritten::All;
    new.iter().for_each(|file| say(&file.shown()));
    if !new.is_empty() {
        let these = counted(new.len() as i64, "new file", "new files");
        match asker.agrees(&format!("Write {these}, as shown?"))? {
            true => new.iter().try_for_each(|file| file.write())?,
            false => written = FilesWritten::Declined,
        }
    }
    for file in others.into_iter().filter(|file| !file.is_as_it_was()) {
        say(&file.shown());
        match file.may_be_replaced(asker)? {
            true => file.write()?,
            false => {
                say(&format!("Left as it was: {}\n", file.path_shown()));
                written = if file.is_needed() { FilesWritten::Declined } else { written };
            }
        }
    }
    Ok(written)
}
