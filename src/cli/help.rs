//! What `-h`, `--help` and the manual pages say besides a command's own options.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, ArgAction, Command, CommandFactory, Error};
use serde::Deserialize;

use super::command_line::Cli;
use crate::parse::{FORMAT, LAYOUT};
use crate::settings::definition::{Assignment, KnownSetting};
use crate::settings::file::assignment;
use crate::settings::table;

/// What `help/pages.toml` says.
#[derive(Deserialize)]
struct HelpTexts {
    #[serde(rename = "page")]
    pages: Vec<HelpPage>,
    offers: BTreeMap<String, OfferedSetting>,
    manual: Vec<ManualSection>,
}

/// A section that all manual pages have: names, and what each means.
#[derive(Deserialize)]
pub struct ManualSection {
    pub title: String,
    pub entries: Vec<(String, String)>,
}

/// What there is to know of one command besides its options.
#[derive(Deserialize)]
pub struct HelpPage {
    command: String,
    /// Options that several commands have.
    #[serde(default)]
    pub takes: Vec<SharedOption>,
    /// Settings that it offers as options of their own.
    #[serde(default)]
    offers: Vec<String>,
    examples: Vec<Example>,
    #[serde(default)]
    pub notes: String,
}

/// What a command does, and the line that does it.
type Example = (String, String);

/// An option that several commands have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedOption {
    /// `--database`
    Database,
    /// `--output`: table, json
    Layout,
    /// `--output`: table, json, ndjson
    Format,
    /// `--set`
    Settings,
}

/// How a setting is an option of its own.
#[derive(Deserialize)]
struct OfferedSetting {
    option: Option<String>,
    unit: String,
    heading: Option<String>,
}

static TEXTS: LazyLock<HelpTexts> =
    LazyLock::new(|| toml::from_str(include_str!("help/pages.toml")).expect("a file that is as it describes itself"));

/// The sections that all manual pages have; the last one has the exit codes.
pub fn manual_sections() -> &'static [ManualSection] {
    &TEXTS.manual
}

/// Sweep's command line with all its texts.
pub fn command() -> Command {
    described(Cli::command().subcommand_help_heading("Commands"), &[])
}

/// What there is to know of the command of these words.
pub fn page_of(path: &[&str]) -> Option<&'static HelpPage> {
    let command = path.join(" ");
    TEXTS.pages.iter().find(|page| page.command == command)
}

/// What the command of these words is good for; of one that only has others below it, the first example of each.
pub fn examples_of(path: &[&str]) -> Vec<&'static Example> {
    if let Some(page) = page_of(path) {
        return page.examples.iter().collect();
    }
    let above = format!("{} ", path.join(" "));
    let below = TEXTS.pages.iter().filter(|page| page.command.starts_with(&above));
    below.filter_map(|page| page.examples.first()).collect()
}

fn described(command: Command, path: &[&str]) -> Command {
    let mut command = command.mut_subcommands(|below| {
        let name = below.get_name().to_owned();
        described(below, &[path, &[name.as_str()]].concat())
    });
    let mut long = vec![render_examples(&examples_of(path))];
    if path.is_empty() {
        long.push(render_exit_codes());
    }
    if let Some(page) = page_of(path) {
        command = command.args(page.takes.iter().map(SharedOption::argument)).args(page.offers.iter().map(offered));
        long.extend(Some(page.notes.clone()).filter(|notes| !notes.is_empty()));
    }
    let name = [&["sweep"], path].concat().join(" ");
    // `-h` has what is of use every day: the options of no group.
    let is_grouped = |argument: &Arg| argument.get_help_heading().is_some();
    command
        .mut_args(|argument| if is_grouped(&argument) { argument.hide_short_help(true) } else { argument })
        .after_help(format!("`{name} --help` says more: all options, with examples."))
        .after_long_help(long.join("\n\n"))
}

impl SharedOption {
    /// Its name in what clap has read.
    pub fn id(&self) -> &'static str {
        match self {
            SharedOption::Database => "database",
            SharedOption::Layout | SharedOption::Format => "output",
            SharedOption::Settings => "set",
        }
    }

    fn argument(&self) -> Arg {
        let option = Arg::new(self.id()).long(self.id()).hide_possible_values(true);
        let format = |option: Arg| option.short('o').alias("format").value_name("FORMAT").allow_hyphen_values(true);
        match self {
            SharedOption::Database => option
                .short('d')
                .aliases(["db", "url"])
                .value_name("URL")
                .action(ArgAction::Append)
                .help("postgres://… or sqlite://PATH [default: DATABASE_URL]"),
            SharedOption::Layout => {
                format(option).value_parser(LAYOUT).help("How to print it: table, json [default: table]")
            }
            SharedOption::Format => {
                format(option).value_parser(FORMAT).help("How to print it: table, json, ndjson [default: table]")
            }
            SharedOption::Settings => option
                .value_name("NAME=VALUE")
                .action(ArgAction::Append)
                .allow_hyphen_values(true)
                .value_parser(assignment)
                .help("Set what `sweep config` lists, such as orphan_grace=5m (repeatable)"),
        }
    }
}

/// The option that a setting is.
fn offered(setting: &'static String) -> Arg {
    let offer = TEXTS.offers.get(setting).expect("an offer of pages.toml");
    let known = table::find(setting).expect("a setting of the table");
    Arg::new(setting.as_str())
        .long(offer.option.as_deref().unwrap_or(setting))
        .value_name(offer.unit.as_str())
        .value_parser(SettingParser(known))
        .allow_hyphen_values(true)
        .hide_possible_values(true)
        .help_heading(offer.heading.as_deref())
        .help(known.help())
        .long_help(known.long_help())
}

fn render_examples(examples: &[&Example]) -> String {
    let lines = examples.iter().map(|(what, line)| format!("  # {what}\n  {line}"));
    format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn render_exit_codes() -> String {
    let entries = manual_sections().last().into_iter().flat_map(|section| &section.entries);
    let lines = entries.map(|(code, what)| format!("  {code:>3}  {what}"));
    format!("Exit codes:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// Reads the value of an option that is a setting by its own name.
#[derive(Clone)]
struct SettingParser(&'static KnownSetting);

impl TypedValueParser for SettingParser {
    type Value = Assignment;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<Assignment, Error> {
        let known = self.0;
        (move |text: &str| known.assign(text)).parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let choices = (self.0.choices)();
        (!choices.is_empty()).then(|| Box::new(choices.into_iter().map(PossibleValue::new)) as Box<_>)
    }
}
