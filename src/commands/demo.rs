//! `sweep demo`: a small made-up company, swept four times.
//!
//! The sweeps are real. What happens between them is made up: `ten_minutes.sql` ends the continuations and dates every
//! row ten minutes back.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Error, Result};
use comfy_table::{ContentArrangement, Table as Grid, presets::UTF8_BORDERS_ONLY};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use include_dir::{Dir, File, include_dir};
use owo_colors::{OwoColorize, Style};
use serde::Deserialize;
use tempfile::TempDir;

use super::terminal::{print_wrapped, say};
use crate::cli::{DemoAt, DemoFlags};
use crate::conclusion::{Conclusion, config, usage};
use crate::report::{Detail, Format, Report, page};
use crate::store::hosts::migrate::{Wanted, migrate};
use crate::store::{Access, Db, DbConnection, Timeouts, Url};
use crate::sweep::{self, Cancel, Options};
use crate::text::redact;

/// Stories are wrapped by hand, and the comment to this width.
const COLUMNS: u16 = 98;
const STORY_COLUMNS: usize = 106;

/// The files of the demo: what is in its database, and its scenes.
static FILES: Dir = include_dir!("$CARGO_MANIFEST_DIR/src/commands/demo");

/// What `scenes.toml` says.
#[derive(Deserialize)]
struct Scenes {
    scene: Vec<Scene>,
}

/// What is printed, then happens, then is swept, then shown; and how the sweep ends.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Scene {
    story: String,
    happens: Option<String>,
    dry_run: bool,
    shows: Option<String>,
    is_guarded: bool,
}

pub fn run(flags: &DemoFlags, databases: &[String]) -> Result<Conclusion> {
    let is_kept = flags.keep || flags.at.is_some() || !databases.is_empty();
    let (file, _temporary) = make_file(databases, is_kept)?;
    let url = Url::Sqlite(file.clone());
    let mut db = url.connect(Access::Write)?;
    migrate(&mut db, &Wanted::default())?;
    happen(&mut db, "company.sql")?;
    let at = redact(&format!("sqlite://{}", file.display()));
    let rows = text(&mut db, "board.sql")?;
    say(&format!("\n{}\n{}\n\n{}\n", "Acme, a made-up company".bold(), at.dimmed(), board(&rows)));
    if flags.at == Some(DemoAt::Start) {
        let said =
            "Nothing has been swept yet, and the database stays. The examples of README.md and docs/ begin here:";
        print_wrapped(&format!("\n{said}\n\n  export DATABASE_URL={}\n  sweep --dry-run\n", shell_words::quote(&at)));
        return Ok(Conclusion::Done);
    }
    let exit = play(&mut db, &url)?;
    print_wrapped(&match is_kept {
        false => "\nThe database is removed again; --keep leaves it here.\n".to_owned(),
        true => format!("\nThe database stays. Look around: sweep --dry-run --database {at}\n"),
    });
    Ok(exit)
}

/// Its two columns stand below one another on a terminal that is too narrow for them.
fn board(text: &str) -> String {
    if page::columns(std::io::stdout()).is_none_or(|columns| STORY_COLUMNS <= columns) {
        return text.to_owned();
    }
    let halves = |line: &str| match line.rmatch_indices("  ACM-").next() {
        Some((at, _)) if 0 < at => (line[..at].trim_end().to_owned(), line[at..].to_owned()),
        Some(_) | None => (line.to_owned(), String::new()),
    };
    let (left, right): (Vec<String>, Vec<String>) = text.lines().map(halves).unzip();
    let lines = left.into_iter().chain(right.into_iter().filter(|line| !line.is_empty()));
    page::wrapped(&lines.collect::<Vec<_>>().join("\n"))
}

/// As it is wrapped by hand, or for a terminal that is narrower.
fn story(text: &str) -> String {
    match page::columns(std::io::stdout()) {
        Some(columns) if columns < STORY_COLUMNS => page::wrapped(&text.replace('\n', " ")),
        Some(_) | None => text.to_owned(),
    }
}

fn play(db: &mut DbConnection, url: &Url) -> Result<Conclusion> {
    let cancel = Cancel::on_signals()?;
    for scene in toml::from_str::<Scenes>(file("scenes.toml")?)?.scene {
        scene.happens.iter().try_for_each(|statements| happen(db, statements))?;
        let command = if scene.dry_run { "sweep --dry-run" } else { "sweep" };
        say(&format!("\n{}\n\n{} {}\n", story(&scene.story).cyan(), "$".dimmed(), command.bold()));
        let mut out = anstream::stdout();
        let mut report = Report::new(Format::Table, Detail::Table, &mut out);
        // The defaults, whatever the environment says.
        let options = Options { dry_run: scene.dry_run, ..Options::of(url.clone()) };
        let conclusion = sweep::run(&options, &cancel, &mut report)?.conclusion;
        let expected = if scene.is_guarded { Conclusion::Guarded } else { Conclusion::Done };
        if conclusion != expected {
            return Ok(conclusion);
        }
        if let Some(query) = scene.shows {
            let story = "This is what people read on the issue:".cyan();
            say(&format!("\n{story}\n\n{}\n", boxed(&text(db, &query)?)));
        }
    }
    Ok(Conclusion::Done)
}

fn file(name: &str) -> Result<&'static str> {
    FILES.get_file(name).and_then(File::contents_utf8).with_context(|| format!("the demo has no file {name}"))
}

fn happen(db: &mut DbConnection, name: &str) -> Result<()> {
    let statements = file(name)?;
    db.in_transaction(Access::Write, &Timeouts::default(), |db| db.batch_execute(statements))
        .map_err(Error::from)
        .context("playing the demo's company")
}

fn text(db: &mut DbConnection, name: &str) -> Result<String> {
    let query = file(name)?;
    let read = |db: &mut Db| diesel::select(sql::<Text>(query)).get_result(db);
    db.in_transaction(Access::ReadOnly, &Timeouts::default(), read)
        .map_err(Error::from)
        .context("reading the demo's company")
}

/// Markdown as a board would show it: as far as sweep's own comments need it.
fn boxed(markdown: &str) -> String {
    let bold = between(markdown, "**", |part| part.bold().to_string());
    let shown = between(&bold, "`", |part| part.style(Style::new().cyan()).to_string());
    let mut grid = Grid::new();
    grid.load_style(UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic).add_row([shown]);
    let columns = grid.width().map_or(COLUMNS, |terminal| terminal.clamp(60, COLUMNS));
    grid.set_width(columns);
    grid.to_string()
}

/// What stands between two marks is drawn as they say; they themselves are not.
fn between(text: &str, mark: &str, draw: impl Fn(&str) -> String) -> String {
    text.split(mark).enumerate().map(|(n, part)| if n % 2 == 1 { draw(part) } else { part.to_owned() }).collect()
}

/// Makes the file of the database. A directory of its own is removed at the end, also after an error, unless the
/// directory is kept.
fn make_file(databases: &[String], is_kept: bool) -> Result<(PathBuf, Option<TempDir>)> {
    let refuse = |why: String| usage(format!("--database: {why}"));
    let (file, temporary) = match databases {
        [] => {
            let permissions = Permissions::from_mode(0o700);
            let directory = tempfile::Builder::new().prefix("sweep-demo-").permissions(permissions).tempdir();
            let mut directory =
                directory.map_err(|error| config(format!("cannot create a temporary directory: {error}")))?;
            directory.disable_cleanup(is_kept);
            (directory.path().join("acme.db"), Some(directory))
        }
        [url] => match Url::parse(url).map_err(refuse)? {
            Url::Sqlite(file) if file.exists() => {
                let why = format!("{} exists already, and the demo makes a new file", file.display());
                return Err(refuse(why).into());
            }
            Url::Sqlite(file) => (file, None),
            Url::Postgres(..) => {
                return Err(refuse("the demo makes a SQLite file, expected sqlite://PATH".to_owned()).into());
            }
        },
        _ => return Err(refuse("the demo makes one file, and several databases are named".to_owned()).into()),
    };
    Url::Sqlite(file.clone()).create()?;
    Ok((file, temporary))
}
