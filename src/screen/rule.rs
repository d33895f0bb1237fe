//! One rule: what the screen looks like when an agent is in a state.
//!
//! A rule is a regular expression over the screen as text: its rows from top to bottom, without vertical frames and
//! trailing empty rows, and with `‸` at the cursor. The group `question` is what the agent asks, `resumes` when its
//! quota is available again. Other fields are further conditions; all of them must hold.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::Regex;
use serde::Deserialize;

use super::{LineMode, Look, Statement, StatementSource};
use crate::rules::session::Activity;
use crate::text::redact;

/// The mark at the cursor.
const CURSOR: char = '‸';

/// Unicode's question marks and interrobangs. People write the Greek one as a semicolon.
const QUESTION_MARKS: &str = "？\u{37e}﹖︖؟՞፧᥅‽⁇⁈⁉❓❔⳺⳻⸮⹔꘏꛷𑅃𞥟🙹🙺🙻🯄";

/// Brackets of other kinds than ASCII's, but for those with which agents mark rows.
const OPENING: &str = "【〔〖〘〚〈《「『｢⟦⟨⟪⟮﹙﹝﹛❨❪❬❲❴";
const CLOSING: &str = "】〕〗〙〛〉》」』｣⟧⟩⟫⟯﹚﹞﹜❩❫❭❳❵";

/// How far a sign of full width is from the ASCII one.
const FULL_WIDTH: u32 = 0xfee0;

const BORDERS: [char; 12] = ['─', '━', '╌', '═', '╭', '╮', '╰', '╯', '┌', '┐', '└', '┘'];

/// The length of a question in characters.
const QUESTION_MAX: usize = 300;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The rule's name in explanations.
    id: String,
    state: Activity,
    kind: Option<String>,
    screen: Option<Pattern>,
    title: Option<Pattern>,
    /// Demands that nothing has been drawn for some seconds.
    #[serde(default)]
    still: bool,
    /// Demands that the bell has rung since anything was drawn last.
    #[serde(default)]
    rung: bool,
    /// Whether the rule finds questions at the cursor: they are current, even if an agent's composer is there.
    #[serde(default)]
    pub is_current: bool,
    echo: Option<bool>,
    canonical: Option<bool>,
}

/// A screen as the rules read it: wrapped rows are joined to one line.
pub struct ScreenText {
    text: String,
    /// Where each row begins.
    rows: Vec<usize>,
}

impl ScreenText {
    pub fn from_look(look: &Look) -> ScreenText {
        let (mut text, mut rows) = (String::new(), Vec::new());
        for (at, row) in look.rows.iter().enumerate() {
            rows.push(text.len());
            if at == look.cursor_row {
                text += &plain(&look.before_cursor);
                text.push(CURSOR);
                text += &plain(&look.behind_cursor);
            } else {
                text += &plain(row);
            }
            if look.wrapped.get(at) != Some(&true) {
                text.truncate(text.trim_end_matches(' ').len());
                text.push('\n');
            }
        }
        text.truncate(text.trim_end().len());
        ScreenText { text, rows }
    }

    /// The number of the row at this position, from 1.
    fn row_of(&self, at: usize) -> usize {
        self.rows.partition_point(|begins| *begins <= at)
    }
}

/// A text as patterns read it, sign by sign: ASCII for all question marks, brackets, slashes, colons, spaces and signs
/// of full width; no accents that follow their letter; spaces for vertical frames, and for our cursor mark, should the
/// program print one.
pub fn plain(text: &str) -> String {
    let sign = |c: char| match c {
        '│' | '┃' | '║' | '▌' | '▎' | '▏' | '╎' | '┆' | CURSOR => ' ',
        _ if c.is_whitespace() => ' ',
        _ if QUESTION_MARKS.contains(c) => '?',
        _ if OPENING.contains(c) => '[',
        _ if CLOSING.contains(c) => ']',
        '⁄' | '∕' | '⧸' => '/',
        '﹕' | '︓' | '︰' | '∶' | 'ː' => ':',
        '！'..='～' => char::from_u32(u32::from(c) - FULL_WIDTH).unwrap_or(c),
        _ => c,
    };
    text.chars().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).map(sign).collect()
}

impl Rule {
    /// What this rule states of a screen, if it matches.
    pub fn apply(&self, agent: &str, look: &Look, text: &ScreenText) -> Option<Statement> {
        let holds = (!self.still || look.is_still)
            && (!self.rung || look.has_rung)
            && self.title.as_ref().is_none_or(|title| title.is_match(&look.title))
            && is_as(self.echo, look.mode.map(|LineMode { echo, .. }| echo))
            && is_as(self.canonical, look.mode.map(|LineMode { canonical, .. }| canonical));
        if !holds {
            return None;
        }
        let (lines, question, resumes) = match &self.screen {
            None => ("title or terminal mode".to_owned(), look.before_cursor.as_str(), None),
            Some(screen) => {
                let found = screen.captures(&text.text)?;
                let whole = found.get(0)?;
                let (first, last) = (text.row_of(whole.start()), text.row_of(whole.end()));
                let lines = if first == last { format!("line {first}") } else { format!("lines {first} to {last}") };
                let named = |name: &str| found.name(name).map(|part| part.as_str());
                (lines, named("question").unwrap_or_default(), named("resumes"))
            }
        };
        Some(Statement {
            activity: self.state,
            kind: self.kind.clone(),
            question: question_of(question),
            resumes: resumes.map(redact),
            source: StatementSource::Screen,
            evidence: format!("screen, rule {agent}/{}, {lines}", self.id),
        })
    }
}

/// What some rows of the screen ask, on one line.
pub fn question_of(rows: &str) -> String {
    let rows = rows.replace(CURSOR, " ");
    let rows = rows.lines().filter(|row| row.contains(char::is_alphanumeric)).map(|row| row.trim_matches(BORDERS));
    redact(&rows.collect::<Vec<_>>().join(" ")).chars().take(QUESTION_MAX).collect()
}

/// Whether a demanded value is known and right.
fn is_as(demanded: Option<bool>, found: Option<bool>) -> bool {
    demanded.is_none() || demanded == found
}

/// A regular expression in the file of an agent. It is compiled when it is first asked: a watcher meets one agent's.
///
/// # Panics
/// If it is malformed: in tests when its file is read, otherwise when it is first asked.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub struct Pattern {
    source: String,
    regex: OnceLock<Regex>,
}

impl From<String> for Pattern {
    fn from(source: String) -> Pattern {
        let pattern = Pattern { source, regex: OnceLock::new() };
        if cfg!(test) {
            let _compiled: &Regex = &pattern;
        }
        pattern
    }
}

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.regex.get_or_init(|| Regex::new(&self.source).expect("a regular expression"))
    }
}
