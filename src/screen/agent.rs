//! The agents whose screens are known: one file for each in `agents/`, and `generic.toml` for all programs; and the
//! composer of an agent: whether it is idle, what stands in it, and what stands around it.

use std::ffi::OsString;
use std::iter::once;
use std::path::PathBuf;
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use serde::Deserialize;

use super::{Look, Pattern, Rule, ScreenText, Signal, Statement, StatementSource, plain, question_of};
use crate::rules::session::Activity;

static FILES: Dir = include_dir!("$CARGO_MANIFEST_DIR/src/screen/agents");

/// Programs that run an agent which is no executable itself.
const RUNNERS: [&str; 14] =
    ["node", "bun", "bunx", "deno", "npx", "npm", "pnpm", "uv", "uvx", "pipx", "sh", "bash", "dash", "zsh"];

/// Words of theirs that have no value: what follows any other option may be its value, or a command.
const WITHOUT_VALUE: [&str; 11] =
    ["exec", "run", "dlx", "-y", "--yes", "-q", "--quiet", "-u", "-m", "--expose-gc", "--enable-source-maps"];

/// How many rows with text above a composer may hold a question: the lower one may be a row of the agent's own.
const ROWS_ABOVE: usize = 4;

/// How many signs in a row make a line.
const RULE_MIN: usize = 3;

static AGENTS: LazyLock<Agents> = LazyLock::new(Agents::embedded);

/// Whether a program of this name runs what its words name.
pub fn is_runner(name: &str) -> bool {
    RUNNERS.contains(&name) || name.starts_with("python")
}

/// One agent, as its file describes it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Agent {
    /// The agent's name, for people.
    pub name: String,
    /// Whether the rules for all programs come before its own.
    after_generic: bool,
    /// How the path of its program ends, as in `/usr/bin/node /usr/lib/…/gemini`.
    commands: Vec<String>,
    /// An argument of its process that runs commands for all who started it, in their directories.
    pub server: Option<String>,
    /// What its titles and notifications mean: the first that matches counts.
    said: Vec<SelfReport>,
    /// What its screens mean: the first rule that matches counts.
    rules: Vec<Rule>,
    /// The row in which one types. This row and those below it are no output.
    composer: Option<Pattern>,
    /// Entire rows that may stand below an idle composer, as they are recorded: any other may be a question. What
    /// varies in them, such as a path or a model, is known by its form, and never by a text of several words.
    below: Vec<Pattern>,
    /// What one key answers: it asks beside the cursor, and in the last rows above the composer.
    answers: Vec<Pattern>,
    /// What else asks directly above the composer, or beside the cursor in what is no suggestion.
    asks: Vec<Pattern>,
    /// Rows in which agents list commands of their own, while one is typed.
    commands_listed: Vec<Pattern>,
    /// The hint that the composer shows when nothing has been typed, if it is not dim.
    hint: Option<Pattern>,
    /// How a tip begins. The rows into which the agent wraps it follow, up to a mark.
    tip: Option<Pattern>,
    /// Rows that change without any progress.
    status_rows: Vec<Pattern>,
    /// The keys that clear its composer.
    pub clear: Option<String>,
    /// Arguments that make it call `sweep watch event`, for this process alone. `{sweep}` stands for this program,
    /// escaped as in a string of JSON or TOML, and `{sweep in a shell}` for the same, quoted for a shell.
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

    /// Whether a row is the first one of a composer.
    fn composer_in(&self, row: &str) -> bool {
        self.composer.as_ref().is_some_and(|composer| composer.is_match(&plain(row)))
    }

    /// Whether what looks like its composer could be what reads the keys: agents take them one by one, and show them
    /// themselves. A line that the terminal edits or shows is read by a child, unless the operator vouches for the
    /// program.
    fn reads_keys(&self, look: &Look) -> bool {
        let takes_keys = || look.mode.is_some_and(|mode| !mode.canonical && !mode.echo);
        !look.is_misread && (self.is_vouched_for() || takes_keys())
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
        let known = FILES.files().filter(|file| !file.path().ends_with("generic.toml"));
        let known = known.filter_map(|file| file.contents_utf8()).map(read).collect();
        Agents { known, generic: read(include_str!("agents/generic.toml")) }
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
        self.self_report(agent, Channel::Title, title, format!("its title: {}", title.trim()))
    }

    /// Reads what an agent reports of itself by an escape sequence.
    pub fn read_signal(&self, agent: Option<&Agent>, signal: &Signal) -> Option<Statement> {
        match signal {
            Signal::Status(statement) => Some(statement.clone()),
            Signal::Notification(text) => {
                self.self_report(agent, Channel::Notification, text, format!("its notification: {text}"))
            }
        }
    }

    fn self_report(&self, agent: Option<&Agent>, by: Channel, text: &str, evidence: String) -> Option<Statement> {
        let matches = |report: &&SelfReport| report.by == by && report.pattern.is_match(text);
        let report = agent.into_iter().chain([&self.generic]).find_map(|agent| agent.said.iter().find(matches))?;
        let (activity, kind, source) = (report.state, report.kind.clone(), StatementSource::Sequence);
        let asks = by == Channel::Notification && activity == Activity::Waiting;
        let question = if asks { text.to_owned() } else { String::new() };
        Some(Statement { activity, kind, question, resumes: None, source, evidence })
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

    /// What an idle composer is taken for, by what stands around it: a question if something asks there, and nothing
    /// that is known if something else is unknown there, or if the agent does not read the keys.
    fn weigh(&self, agent: &Agent, idle: Statement, look: &Look) -> Option<Statement> {
        let unknown = self.unknown_around(agent, look);
        match unknown.is_empty() {
            true => Some(idle).filter(|_| agent.reads_keys(look)),
            false => question_in(&unknown, &idle, look, has_question_mark),
        }
    }

    /// The question that came up below the cursor while an agent says for long that its quota or context is used up.
    fn question_below(&self, agent: &Agent, exhausted: &Statement, look: &Look) -> Option<Statement> {
        let asks = |row: &str| has_question_mark(row) || self.takes_one_key(row);
        question_in(&self.unknown_below(agent, look), exhausted, look, asks)
    }

    /// What may be a question around the composer: what asks above it, in one row or wrapped, or beside the cursor, and
    /// all below but rows that the agent is known to show there. A hint that begins in lower case or with a digit
    /// suggests what to say. A program for which the operator vouches may show anything below but what one key answers.
    fn unknown_around<'a>(&self, agent: &Agent, look: &'a Look) -> Vec<&'a str> {
        let suggests =
            |text: &str| text.trim_start().starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        let is_composer = |row: &String| agent.composer_in(row);
        let at = look.rows.iter().take(look.cursor_row + 1).rposition(is_composer);
        let rows = || look.rows.iter().map(String::as_str);
        // In a small window some of them have scrolled off.
        let above = || rows().take(at.unwrap_or(0)).rev().chain(look.above.iter().rev().map(String::as_str));
        let near: Vec<&str> = above().filter(|row| has_text(row)).take(ROWS_ABOVE).collect();
        // A terminal may have wrapped it, or the agent, with the space left out.
        let joined = |between| near.iter().rev().map(|row| row.trim()).collect::<Vec<_>>().join(between);
        let wraps = || ["", " "].into_iter().any(|between| self.takes_one_key(&joined(between)));
        let keys =
            near.iter().find(|row| self.takes_one_key(row)).or_else(|| near.first().filter(|_| wraps())).copied();
        let is_frame = |row: &str| !row.trim().is_empty() && (!has_text(row) || is_rule(row));
        let mut nearest = above().filter(|row| !is_frame(row));
        let (directly, before) = (nearest.next(), nearest.next().unwrap_or_default());
        let directly = directly.filter(|row| self.asks(row) || self.asks_across(&self.generic.asks, before, row));
        let beside = Some(look.behind_cursor.as_str())
            .filter(|text| self.takes_one_key(text) || self.asks(text) && !suggests(text));
        keys.into_iter().chain(directly).chain(beside).chain(self.unknown_below(agent, look)).collect()
    }

    fn unknown_below<'a>(&self, agent: &Agent, look: &'a Look) -> Vec<&'a str> {
        let is_known = |row: &str| match agent.is_vouched_for() {
            true => !self.takes_one_key(row),
            false => matches(&agent.below, row),
        };
        let below = look.rows.iter().skip(look.cursor_row + 1).map(String::as_str).filter(|row| has_text(row));
        let rows: Vec<&str> = once(look.behind_cursor.as_str()).chain(below).collect();
        let wraps = |pair: &[&str]| agent.is_vouched_for() && self.asks_across(&[], pair[0], pair[1]);
        rows.windows(2).filter(|pair| !is_known(pair[1]) || wraps(pair)).map(|pair| pair[1]).collect()
    }

    /// Whether these rows ask for one key, or in such a way, once more than the first one does: a terminal may have
    /// wrapped a question into the second, or the agent, with the space left out.
    fn asks_across(&self, asks: &[Pattern], first: &str, second: &str) -> bool {
        let [first, second] = [first, second].map(|row| plain(row.trim()));
        ["", " "].into_iter().any(|between| {
            let joined = format!("{first}{between}{second}");
            let mut asking = self.generic.answers.iter().chain(asks).filter(|pattern| pattern.is_match(&joined));
            asking.any(|pattern| pattern.find_iter(&first).count() < pattern.find_iter(&joined).count())
        })
    }

    /// Whether the return key would reach a composer that holds this message, and nothing that came up around it. For a
    /// command of its own an agent lists the commands that it could be.
    pub fn takes_message(&self, agent: Option<&Agent>, look: &Look, message: &str) -> bool {
        let is_command = |row: &str| message.starts_with('/') && matches(&self.generic.commands_listed, row);
        agent.is_some_and(|agent| {
            self.unknown_around(agent, look).into_iter().all(|row| is_command(row) && !self.asks(row))
        })
    }

    /// Whether a text asks for what a person answers with one key.
    fn takes_one_key(&self, text: &str) -> bool {
        matches(&self.generic.answers, text)
    }

    /// Whether a text asks, directly above a composer or beside the cursor.
    fn asks(&self, text: &str) -> bool {
        self.takes_one_key(text) || matches(&self.generic.asks, text)
    }

    /// The text in the composer before the cursor and behind it, without spaces, frames and hints; None without one.
    pub fn composed(&self, agent: Option<&Agent>, look: &Look) -> Option<(String, String)> {
        let agent = agent.filter(|agent| agent.reads_keys(look))?;
        let composer = agent.composer.as_ref()?;
        let first =
            look.rows.iter().rposition(|row| agent.composer_in(row)).filter(|first| look.is_one_text(*first))?;
        let mut before = look.rows[first..look.cursor_row].join(" ");
        before.push_str(&look.before_cursor);
        let before = plain(&before);
        let mark = composer.find(&before).map_or(0, |mark| mark.end());
        let is_hint = agent.hint.as_ref().is_some_and(|hint| hint.is_match(&look.behind_cursor));
        let behind = if is_hint { "" } else { &look.solid_behind_cursor };
        Some((condensed(&before[mark..]), condensed(behind)))
    }
}

/// What asks in one of these rows, if any does.
fn question_in(rows: &[&str], beside: &Statement, look: &Look, asks: impl Fn(&str) -> bool) -> Option<Statement> {
    let asked = rows.iter().filter(|row| **row != look.behind_cursor).copied().collect::<Vec<_>>();
    asked.iter().any(|row| asks(row)).then(|| Statement {
        activity: Activity::Waiting,
        kind: Some("question".to_owned()),
        question: question_of(&asked.join("\n")),
        resumes: None,
        source: StatementSource::Screen,
        evidence: format!("{}, and what stands around it", beside.evidence),
    })
}

fn matches(patterns: &[Pattern], text: &str) -> bool {
    let text = plain(text);
    patterns.iter().any(|pattern| pattern.is_match(&text))
}

fn has_question_mark(row: &str) -> bool {
    plain(row).contains('?')
}

/// Whether a row is a line that was drawn by a sign, as `------` or `+====+` is.
fn is_rule(row: &str) -> bool {
    let row = plain(row);
    let signs = row.trim().trim_matches(['+', '|']);
    let is_sign = |c: &char| !c.is_alphanumeric() && *c != '?';
    let sign = signs.chars().next().filter(is_sign);
    RULE_MIN <= signs.chars().count() && sign.is_some_and(|sign| signs.chars().all(|c| c == sign))
}

/// Whether a row has more than a frame. One of several kinds of blocks is part of a picture, such as a code to scan.
fn has_text(row: &str) -> bool {
    let is_block = |c: &char| ('\u{2580}'..='\u{259f}').contains(c);
    let mut blocks = row.chars().filter(is_block);
    let is_picture = blocks.next().is_some_and(|first| blocks.any(|c| c != first));
    is_picture || row.chars().any(|c| !c.is_whitespace() && !('\u{2500}'..='\u{259f}').contains(&c))
}

/// A text without spaces and the frame at its sides: terminals wrap at spaces, and composers may have frames.
pub fn condensed(text: &str) -> String {
    plain(text).chars().filter(|c| !c.is_whitespace()).collect()
}
