//! The composer of an agent: whether it is idle, what stands in it, and what stands around it.

use std::iter::once;

use super::{Agent, Agents};
use crate::rules::session::Activity;
use crate::screen::look::Look;
use crate::screen::rule::{Pattern, plain, question_of};
use crate::screen::statement::{Statement, StatementSource};

/// How many rows with text above a composer may hold a question: the lower one may be a row of the agent's own.
const ROWS_ABOVE: usize = 4;

/// How many signs in a row make a line.
const RULE_MIN: usize = 3;

impl Agent {
    /// Whether a row is the first one of a composer.
    pub(super) fn composer_in(&self, row: &str) -> bool {
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

impl Agents {
    /// What an idle composer is taken for, by what stands around it: a question if something asks there, and nothing
    /// that is known if something else is unknown there, or if the agent does not read the keys.
    pub(super) fn weigh(&self, agent: &Agent, idle: Statement, look: &Look) -> Option<Statement> {
        let unknown = self.unknown_around(agent, look);
        match unknown.is_empty() {
            true => Some(idle).filter(|_| agent.reads_keys(look)),
            false => question_in(&unknown, &idle, look, has_question_mark),
        }
    }

    /// The question that came up below the cursor while an agent says for long that its quota or context is used up.
    pub(super) fn question_below(&self, agent: &Agent, exhausted: &Statement, look: &Look) -> Option<Statement> {
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

fn is_frame(row: &str) -> bool {
    !row.trim().is_empty() && (!has_text(row) || is_rule(row))
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
