//! The agents whose screens are known: one file for each in `agents/`, and `generic.toml` for all programs.

mod composer;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use serde::Deserialize;

use super::look::Look;
use super::report::Signal;
use super::rule::{Pattern, Rule, ScreenText, plain};
use super::statement::{Statement, StatementSource};
use crate::rules::session::Activity;
pub use composer::condensed;

static FILES: Dir = include_dir!("$CARGO_MANIFEST_DIR/src/screen/agents");

/// Programs that run an agent which is no executable itself.
const RUNNERS: [&str; 14] =
    ["node", "bun", "bunx", "deno", "npx", "npm", "pnpm", "uv", "uvx", "pipx", "sh", "bash", "dash", "zsh"];

/// Words of theirs that have no value: what follows any other option may be its value, or a command.
const WITHOUT_VALUE: [&str; 11] =
    ["exec", "run", "dlx", "-y", "--yes", "-q", "--quiet", "-u", "-m", "--expose-gc", "--enable-source-maps"];

static AGENTS: LazyLock<Agents> = LazyLock::new(Agents::embedded);

/// Whether a program of this name runs what its words name.
pub fn is_runner(name: &str) -> bool {
    RUNNERS.contains(&name) || name.starts_with("python")
}

/// One agent, as its file describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The agent's name, for people.
    pub name: String,
    /// Whether the rules for all programs come before its own.
    #[serde(default)]
    after_generic: bool,
    /// How the path of its program ends, as in `/usr/bin/node /usr/lib/…/gemini`.
    #[serde(default)]
    commands: Vec<String>,
    /// An argument of its process that runs commands for all who started it, in their directories.
    pub server: Option<String>,
    /// What its titles and notifications mean: the first that matches counts.
    #[serde(default)]
    said: Vec<SelfReport>,
    /// What its screens mean: the first rule that matches counts.
    #[serde(default)]
    rules: Vec<Rule>,
    /// The row in which one types. This row and those below it are no output.
    composer: Option<Pattern>,
    /// Whole rows that may stand below an idle composer, as they are recorded: any other may be a question. What
    /// varies in them, such as a path or a model, is known by its form, and never by a text of several words.
    #[serde(default)]
    below: Vec<Pattern>,
    /// What one key answers: it asks beside the cursor, and in the last rows above the composer.
    #[serde(default)]
    answers: Vec<Pattern>,
    /// What else asks directly above the composer, or beside the cursor in what is no suggestion.
    #[serde(default)]
    asks: Vec<Pattern>,
    /// Rows in which agents list commands of their own, while one is typed.
    #[serde(default)]
    commands_listed: Vec<Pattern>,
    /// The hint that the composer shows when nothing has been typed, if it is not dim.
    hint: Option<Pattern>,
    /// How a tip begins. The rows into which the agent wraps it follow, up to a mark.
    tip: Option<Pattern>,
    /// Rows that change without any progress.
    #[serde(default)]
    status_rows: Vec<Pattern>,
    /// The keys that clear its composer.
    #[serde(default)]
    pub clear: Option<String>,
    /// Arguments that make it call `sweep watch event`, for this process alone. `{sweep}` stands for this program,
    /// escaped as in a string of JSON or TOML, and `{sweep in a shell}` for the same, quoted for a shell.
    #[serde(default)]
    pub hook_arguments: Vec<String>,
}

/// What it means when a title or a notification matches a pattern.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SelfReport {
    by: Channel,
    pattern: Pattern,
    state: Activity,
    kind: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Channel {
    Title,
    Notification,
}

impl Agent {
    /// The arguments that make it call this program at each event.
    pub fn hooks(&self, program: &str) -> Vec<String> {
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let in_shell = escaped(&shell_words::quote(program));
        let filled =
            |argument: &String| argument.replace("{sweep in a shell}", &in_shell).replace("{sweep}", &escaped(program));
        self.hook_arguments.iter().map(filled).collect()
    }

    /// Stands for any program that takes messages at a prompt, by the operator's word.
    pub fn is_vouched_for(&self) -> bool {
        self.commands.is_empty()
    }
}

/// All agents that are known.
pub struct Agents {
    known: Vec<Agent>,
    /// The rules for all programs.
    generic: Agent,
}

impl Agents {
    pub fn get() -> &'static Agents {
        &AGENTS
    }

    /// # Panics
    /// If a file is malformed; a test reads them all.
    fn embedded() -> Agents {
        let read = |text: &str| toml::from_str::<Agent>(text).expect("a file of agents/ is as described here");
        let files =
            || FILES.files().filter_map(|file| Some((file.path().file_stem()?.to_str()?, file.contents_utf8()?)));
        let known = files().filter(|(name, _)| *name != "generic").map(|(_, text)| read(text)).collect();
        let generic = files().find(|(name, _)| *name == "generic").map(|(_, text)| read(text));
        Agents { known, generic: generic.expect("generic.toml") }
    }

    /// The agent that a command line starts, directly or by an interpreter or a runner of packages. Its other words
    /// prove nothing: they may name a machine, a user or a file.
    pub fn find_by_command(&self, words: &[OsString]) -> Option<&Agent> {
        let path = |word: &OsString| {
            let path = word.to_string_lossy();
            PathBuf::from(path.trim_end_matches(".js").trim_end_matches(".mjs"))
        };
        let first = path(words.first()?);
        let name = first.file_name()?.to_string_lossy().into_owned();
        let is_option = |word: &&OsString| {
            let word = word.to_string_lossy();
            WITHOUT_VALUE.contains(&&*word) || word.starts_with("--no-") || word.starts_with("--") && word.contains('=')
        };
        let second = words[1..].iter().find(|word| !is_option(word)).filter(|_| is_runner(&name)).map(path);
        let programs = [Some(first), second];
        let runs = |agent: &&Agent| {
            let is_one = |program: &PathBuf| agent.commands.iter().any(|command| program.ends_with(command));
            programs.iter().flatten().any(is_one)
        };
        self.known.iter().find(runs)
    }

    /// Stands for any program that takes messages at a prompt, by the operator's word.
    pub fn prompt(&self) -> Option<&Agent> {
        self.known.iter().find(|agent| agent.is_vouched_for())
    }

    /// Reads a screen. Of an unknown program, only questions to a person are believed, as any agent asks them.
    /// Statements for which `counts` is false are ignored: they are out of date.
    pub fn read_screen(
        &self,
        agent: Option<&Agent>,
        look: &Look,
        counts: impl Fn(&Statement) -> bool,
    ) -> Option<Statement> {
        let text = ScreenText::from_look(look);
        let of = |agent: &Agent| {
            let mut matching = agent.rules.iter().filter_map(|rule| rule.apply(&agent.name, look, &text));
            let first = matching.find(&counts)?;
            match first.activity {
                Activity::Idle => self.weigh(agent, first, look),
                Activity::Exhausted => self.question_below(agent, &first, look).or(Some(first)),
                Activity::Working | Activity::Waiting => Some(first),
            }
        };
        let asks = |statement: &Statement| statement.activity == Activity::Waiting;
        let current = || self.generic.rules.iter().filter(|rule| rule.is_current);
        let at_cursor = || current().filter_map(|rule| rule.apply(&self.generic.name, look, &text)).find(&counts);
        let generic = || of(&self.generic);
        match agent {
            Some(agent) if agent.after_generic => generic().or_else(|| of(agent)),
            // All else may be on the screen for long, while a question at the cursor is current.
            Some(agent) => match of(agent) {
                Some(question) if asks(&question) => Some(question),
                Some(statement) => at_cursor().or(Some(statement)),
                None => generic(),
            },
            None => self.known.iter().find_map(|agent| of(agent).filter(asks)).or_else(generic),
        }
    }

    /// Reads what an agent reports of itself by its title.
    pub fn read_title(&self, agent: Option<&Agent>, title: &str) -> Option<Statement> {
        self.self_report(agent, Channel::Title, title)
            .map(|report| statement(report, String::new(), format!("its title: {}", title.trim())))
    }

    /// Reads what an agent reports of itself by an escape sequence.
    pub fn read_signal(&self, agent: Option<&Agent>, signal: &Signal) -> Option<Statement> {
        match signal {
            Signal::Status(statement) => Some(statement.clone()),
            Signal::Notification(text) => {
                let report = self.self_report(agent, Channel::Notification, text)?;
                Some(statement(report, text.clone(), format!("its notification: {text}")))
            }
        }
    }

    fn self_report<'a>(&'a self, agent: Option<&'a Agent>, by: Channel, text: &str) -> Option<&'a SelfReport> {
        let matches = |report: &&SelfReport| report.by == by && report.pattern.is_match(text);
        agent.into_iter().chain([&self.generic]).find_map(|agent| agent.said.iter().find(matches))
    }

    /// The lines that are output: without the composer, what is below it, and rows that change without any progress.
    pub fn output(&self, agent: Option<&Agent>, look: &Look) -> Vec<String> {
        let mut look = look.clone();
        let found = agent.and_then(|agent| look.rows.iter().rposition(|row| agent.composer_in(row)));
        if let Some(at) = found.filter(|at| look.is_one_text(*at)) {
            let is_border = |row: &String| !row.is_empty() && !row.chars().any(char::is_alphanumeric);
            let first = (0..at).rev().take_while(|&above| is_border(&look.rows[above])).last().unwrap_or(at);
            look.rows.truncate(first);
        }
        let mut lines = look.lines();
        let status_rows = || agent.into_iter().chain([&self.generic]).flat_map(|agent| &agent.status_rows);
        let tip = agent.and_then(|agent| agent.tip.as_ref());
        let mut is_in_tip = false;
        lines.retain(|line| {
            let line = &plain(line);
            is_in_tip &= line.trim_start().starts_with(char::is_alphanumeric);
            is_in_tip |= tip.is_some_and(|tip| tip.is_match(line));
            !is_in_tip && !status_rows().any(|row| row.is_match(line))
        });
        lines
    }
}

/// What a title or a notification states.
fn statement(report: &SelfReport, question: String, evidence: String) -> Statement {
    Statement {
        activity: report.state,
        kind: report.kind.clone(),
        question: if report.state == Activity::Waiting { question } else { String::new() },
        resumes: None,
        source: StatementSource::Sequence,
        evidence,
    }
}
