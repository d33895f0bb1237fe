//! What an agent is doing, by several sources; and when an agent whose quota is used up can go on.
//!
//! The sources are, the most reliable first: an event of a hook, a sequence that the agent sent to its terminal, the
//! screen. A source is believed until a less reliable one states something newer, since agents do not report
//! everything. Two exceptions: while a question is on the screen, no other source is believed; and a question that
//! another source has reported is not over because the agent is idle by its screen or its title, until there is a sign
//! that somebody has answered.
// decisions.md#a-question-on-the-screen

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use chrono::{DateTime, Days, NaiveTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;
use regex::Regex;

use crate::rules::Essence;
use crate::rules::session::Activity;

/// Where a statement comes from, the least reliable source first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatementSource {
    /// A rule matches what stands on the screen.
    Screen,
    /// The agent reported it to its terminal: by a title, a notification, a status sequence.
    Sequence,
    /// The agent reported it to `sweep watch event`.
    Event,
}

/// What an agent is doing at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub activity: Activity,
    /// `permission`, `trust`, `login`, `password`, `confirmation`, `choice`, `question`, `enter`; `context`, `quota`.
    pub kind: Option<String>,
    /// The question that it asks, on one line; empty if it asks none.
    pub question: String,
    /// When its quota is available again, in its own words.
    pub resumes: Option<String>,
    pub source: StatementSource,
    /// The rule, the sequence or the event, and the lines of the screen: `screen, rule claude/permission, lines 14 to
    /// 19`.
    pub evidence: String,
}

/// A part of a duration: `2h`, `5 minutes`.
static DURATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(\d+)\s*(d|h|m|s)(?:ays?|ours?|in(?:ute)?s?|ec(?:ond)?s?|rs?)?\b").expect("a pattern")
});
/// A time of day, and its zone.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(\d{1,2})(?::(\d{2}))?\s*(am|pm)?\b(?:\s*\(([\w/+-]+)\))?").expect("a pattern")
});

/// Longer than the period of any quota: a time beyond was misread.
const LONGEST: TimeDelta = TimeDelta::days(8);

/// Parses the time at which a quota is available again, None if that fails. `said_at` is when the agent reported it,
/// `zone` the time zone of times that name none.
pub fn resumes_at(text: &str, said_at: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
    let at = match text.trim().strip_prefix("in ") {
        Some(duration) => said_at + after(duration)?,
        None => next(text, said_at, zone)?,
    };
    (at - said_at < LONGEST).then_some(at)
}

/// How long a duration lasts.
fn after(text: &str) -> Option<TimeDelta> {
    let parts = DURATION.captures_iter(text).map(|part| {
        let number: i64 = part[1].parse().ok()?;
        Some(match part[2].to_lowercase().as_str() {
            "d" => TimeDelta::try_days(number)?,
            "h" => TimeDelta::try_hours(number)?,
            "m" => TimeDelta::try_minutes(number)?,
            _ => TimeDelta::try_seconds(number)?,
        })
    });
    let parts: Vec<TimeDelta> = parts.collect::<Option<_>>()?;
    (!parts.is_empty()).then(|| parts.into_iter().sum())
}

/// The next time at which a clock in the zone shows this.
fn next(text: &str, said_at: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
    let found = TIME.captures(text)?;
    let hour: u32 = found[1].parse().ok()?;
    let half = found.get(3).map(|half| half.as_str().to_lowercase());
    if half.is_none() && found.get(2).is_none() {
        return None;
    }
    let hour = match half.as_deref() {
        Some("am") => hour % 12,
        Some(_) => hour % 12 + 12,
        None => hour,
    };
    let minute = found.get(2).map_or(Ok(0), |minute| minute.as_str().parse()).ok()?;
    let time = NaiveTime::from_hms_opt(hour, minute, 0)?;
    let zone = found.get(4).map_or(Some(zone), |zone| zone.as_str().parse().ok())?;
    let today = said_at.with_timezone(&zone).date_naive();
    let at = |day| zone.from_local_datetime(&today.checked_add_days(Days::new(day))?.and_time(time)).earliest();
    (0..2).filter_map(at).map(|at| at.with_timezone(&Utc)).find(|at| said_at < *at)
}

/// Within this time, statements of several sources count as simultaneous.
const SIMULTANEOUS: Duration = Duration::from_secs(2);

/// A question whose words change sooner is still the same question: a log flows through it.
const WORDS_LAST: Duration = Duration::from_secs(8);

/// An agent that is seen at work for so long has its answer. A shorter time may be a row that passes over a composer.
const WORK_LASTS: Duration = Duration::from_secs(10);

/// A statement about an agent, and since when it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownActivity {
    pub statement: Statement,
    pub since: Instant,
    /// When the question was first asked in these words.
    worded_at: Instant,
}

/// The latest statement of each source.
#[derive(Default)]
pub struct ActivityTracker {
    screen: Option<KnownActivity>,
    /// What the screen said until it was doubted.
    doubted: Option<KnownActivity>,
    sequence: Option<KnownActivity>,
    event: Option<KnownActivity>,
    /// The question on the screen was painted anew since it was last read: its words are wrapped otherwise.
    is_repainted: bool,
    /// A question was reported, and nothing tells that it was answered.
    unanswered: Option<Unanswered>,
    /// What the title says that was seen last.
    titled: Option<Statement>,
}

/// A question that was reported to the terminal or by a hook, or for which a window has become too small.
struct Unanswered {
    question: KnownActivity,
    reported_at: Instant,
    /// The title reports it.
    is_titled: bool,
    /// The screen has shown a question since.
    is_shown: bool,
    /// The question was on the screen, until the window became too small for it.
    is_cut_off: bool,
}

impl Unanswered {
    fn new(question: KnownActivity, reported_at: Instant) -> Unanswered {
        Unanswered { question, reported_at, is_titled: false, is_shown: false, is_cut_off: false }
    }
}

impl ActivityTracker {
    /// Takes in what the screen shows; None: nothing that the rules know.
    pub fn set_screen(&mut self, statement: Option<Statement>, now: Instant) {
        match statement {
            Some(statement) => self.add(statement, now),
            None => {
                (self.screen, self.doubted) = (None, None);
                self.unanswered.take_if(|unanswered| unanswered.is_cut_off);
            }
        }
    }

    /// The window has become too small for the question that was on the screen; false if there was none.
    pub fn cut_off_question(&mut self, now: Instant) -> bool {
        if let Some(question) = self.screen.take_if(|seen| seen.statement.activity.needs_person()) {
            let unanswered = Unanswered::new(question, now);
            self.unanswered = Some(Unanswered { is_shown: true, is_cut_off: true, ..unanswered });
            self.is_repainted = false;
        }
        self.has_cut_off_question()
    }

    fn has_cut_off_question(&self) -> bool {
        self.unanswered.as_ref().is_some_and(|unanswered| unanswered.is_cut_off)
    }

    /// The screen says what may not be so just now. What it said before is no news when it is believed again.
    pub fn doubt_screen(&mut self) {
        self.doubted = self.screen.take().or(self.doubted.take());
    }

    /// A question on the screen is being painted anew in another size, and is kept meanwhile; false if there is none.
    pub fn repaints_question(&mut self) -> bool {
        let is_asked = self.on_screen().is_some_and(|seen| seen.activity.needs_person());
        self.is_repainted = is_asked || self.has_cut_off_question();
        self.is_repainted
    }

    /// Takes in what the title says. A title stays until it is changed, and what it says is news only then.
    pub fn set_title(&mut self, statement: Option<Statement>, now: Instant) {
        if self.titled == statement {
            return;
        }
        self.titled.clone_from(&statement);
        self.unanswered.take_if(|unanswered| unanswered.is_titled);
        let Some(statement) = statement else { return };
        let asks = statement.activity.needs_person();
        self.add(statement, now);
        if let Some(unanswered) = self.unanswered.as_mut().filter(|_| asks) {
            unanswered.is_titled = true;
        }
    }

    /// A person has typed a key: what was reported may be answered.
    pub fn keyed(&mut self) {
        self.unanswered = None;
    }

    /// Takes in a statement of any source.
    pub fn add(&mut self, statement: Statement, now: Instant) {
        let is_repainted = statement.source == StatementSource::Screen && std::mem::take(&mut self.is_repainted);
        if statement.source == StatementSource::Screen {
            let cut_off = self.unanswered.take_if(|unanswered| unanswered.is_cut_off).map(|it| it.question);
            self.screen = self.screen.take().or(cut_off).or(self.doubted.take());
        }
        let known = match statement.source {
            StatementSource::Screen => &mut self.screen,
            StatementSource::Sequence => &mut self.sequence,
            StatementSource::Event => &mut self.event,
        };
        // What was asked and answered is another question when it is reported once more.
        let is_reported = statement.source != StatementSource::Screen && statement.activity.needs_person();
        let asked = self.unanswered.as_ref().map(|unanswered| &unanswered.question);
        let before = if is_reported { asked } else { known.as_ref() };
        let is_alike = |other: &Statement| (other.activity, &other.kind) == (statement.activity, &statement.kind);
        let (mut since, mut worded_at) = (now, now);
        if let Some(before) = before.filter(|_| is_repainted && statement.activity.needs_person()) {
            (since, worded_at) = (before.since, before.worded_at);
        } else if let Some(before) = before.filter(|before| is_alike(&before.statement)) {
            // Questions may differ in what changes by itself, such as a clock.
            if Essence::parse(&before.statement.question) == Essence::parse(&statement.question) {
                (since, worded_at) = (before.since, before.worded_at);
            } else if now.saturating_duration_since(before.worded_at) < WORDS_LAST {
                since = before.since;
            }
        }
        let (activity, source) = (statement.activity, statement.source);
        let said = KnownActivity { statement, since, worded_at };
        *known = Some(said.clone());
        match source {
            StatementSource::Screen => self.look_for_answer(activity, since, now),
            StatementSource::Sequence | StatementSource::Event if activity.needs_person() => {
                self.unanswered = Some(Unanswered::new(said, now));
            }
            // What was asked in a turn is answered when the agent goes on with it, or has ended it.
            StatementSource::Event => self.unanswered = None,
            // A terminal is told of progress, and by a title, whatever is asked.
            StatementSource::Sequence => {}
        }
    }

    /// The screen has shown this since then: a question that is on it no more is answered.
    fn look_for_answer(&mut self, activity: Activity, since: Instant, now: Instant) {
        let Some(unanswered) = &mut self.unanswered else { return };
        let works_since = since.max(unanswered.reported_at);
        let has_worked = activity == Activity::Working && WORK_LASTS <= now.saturating_duration_since(works_since);
        if activity.needs_person() {
            unanswered.is_shown = true;
        } else if unanswered.is_shown || has_worked {
            self.unanswered = None;
        }
    }

    /// What the agent is doing, by the source that is believed.
    pub fn current(&self) -> Option<&KnownActivity> {
        let seen = self.screen.as_ref();
        if let Some(question) = seen.filter(|seen| seen.statement.activity.needs_person()) {
            return Some(question);
        }
        let believed = [&self.sequence, &self.event].into_iter().flatten().fold(seen, |lesser, better| match lesser {
            Some(lesser) if better.since + SIMULTANEOUS < lesser.since => Some(lesser),
            Some(_) | None => Some(better),
        });
        let is_open = believed.is_none_or(|known| known.statement.activity == Activity::Idle);
        self.unanswered.as_ref().filter(|_| is_open).map(|unanswered| &unanswered.question).or(believed)
    }

    /// What the screen shows, whatever the agent reports.
    pub fn on_screen(&self) -> Option<&Statement> {
        self.screen.as_ref().map(|known| &known.statement)
    }
}

#[cfg(test)]
mod tests;
