//! What an agent is doing, from several sources.
//!
//! The sources are, the most reliable first: an event of a hook, a sequence that the agent sent to its terminal, the
//! screen. A source is believed until a less reliable one states something newer, since agents do not report
//! everything. Two exceptions: while a question is on the screen, no other source is believed; and a question that
//! another source has reported is not over because the screen shows an idle composer, until there is a sign that
//! somebody has answered.

use std::time::{Duration, Instant};

use super::statement::{Source, Statement};
use crate::rules::Essence;
use crate::rules::session::Activity;

/// Within this time, statements of several sources count as simultaneous.
const SIMULTANEOUS: Duration = Duration::from_secs(2);

/// A question whose words change sooner is still the same question: a log flows through it.
const WORDS_LAST: Duration = Duration::from_secs(8);

/// An agent that is seen at work for so long has its answer. A shorter time may be a row that passes over a composer.
const WORK_LASTS: Duration = Duration::from_secs(10);

/// A statement, and for how long it has held.
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
}

/// A question that was reported to the terminal or by a hook.
#[derive(Clone, Copy)]
struct Unanswered {
    /// The screen has shown a question as well.
    is_shown: bool,
}

impl ActivityTracker {
    /// Takes in what the screen shows; None: nothing that the rules know.
    pub fn set_screen(&mut self, statement: Option<Statement>, now: Instant) {
        match statement {
            Some(statement) => self.add(statement, now),
            None => (self.screen, self.doubted) = (None, None),
        }
    }

    /// The screen says what may not be so just now. What it said before is no news when it is believed again.
    pub fn doubt_screen(&mut self) {
        self.doubted = self.screen.take().or(self.doubted.take());
    }

    /// A question on the screen is being painted anew in another size, and is kept meanwhile; false if there is none.
    pub fn repaints_question(&mut self) -> bool {
        self.is_repainted = self.on_screen().is_some_and(|seen| seen.activity.needs_person());
        self.is_repainted
    }

    /// A person has typed a key: what was reported may be answered.
    pub fn keyed(&mut self) {
        self.unanswered = None;
    }

    /// Takes in a statement of any source.
    pub fn add(&mut self, statement: Statement, now: Instant) {
        let is_repainted = statement.evidence.source == Source::Screen && std::mem::take(&mut self.is_repainted);
        if statement.evidence.source == Source::Screen {
            self.screen = self.screen.take().or(self.doubted.take());
        }
        let known = match statement.evidence.source {
            Source::Screen => &mut self.screen,
            Source::Sequence => &mut self.sequence,
            Source::Event => &mut self.event,
        };
        let (mut since, mut worded_at) = (now, now);
        if let Some(before) = known.as_ref().filter(|_| is_repainted && statement.activity.needs_person()) {
            (since, worded_at) = (before.since, before.worded_at);
        } else if let Some(before) = known.as_ref().filter(|before| is_alike(&before.statement, &statement)) {
            if is_same_question(&before.statement, &statement) {
                (since, worded_at) = (before.since, before.worded_at);
            } else if now.saturating_duration_since(before.worded_at) < WORDS_LAST {
                since = before.since;
            }
        }
        let (activity, source) = (statement.activity, statement.evidence.source);
        *known = Some(KnownActivity { statement, since, worded_at });
        if source == Source::Screen {
            self.look_for_answer(activity, now.saturating_duration_since(since));
        } else if activity.needs_person() && since == now {
            let is_shown = self.on_screen().is_some_and(|seen| seen.activity.needs_person());
            self.unanswered = Some(Unanswered { is_shown });
        }
    }

    /// The screen shows this, and has done so for this long: a question that is on it no more is answered.
    fn look_for_answer(&mut self, activity: Activity, lasts: Duration) {
        match &mut self.unanswered {
            Some(unanswered) if activity.needs_person() => unanswered.is_shown = true,
            Some(unanswered) if unanswered.is_shown || activity == Activity::Working && WORK_LASTS <= lasts => {
                self.unanswered = None;
            }
            Some(_) | None => {}
        }
    }

    /// What the agent is doing, by the source that is believed.
    pub fn current(&self) -> Option<&KnownActivity> {
        let seen = self.screen.as_ref();
        if let Some(question) = seen.filter(|seen| seen.statement.activity.needs_person()) {
            return Some(question);
        }
        [&self.sequence, &self.event].into_iter().flatten().fold(seen, |lesser, better| match lesser {
            Some(lesser) if better.since + SIMULTANEOUS < lesser.since && !self.is_unanswered(better, lesser) => {
                Some(lesser)
            }
            Some(_) | None => Some(better),
        })
    }

    /// Whether a question was reported that an idle composer has not answered.
    fn is_unanswered(&self, reported: &KnownActivity, newer: &KnownActivity) -> bool {
        let asks = reported.statement.activity.needs_person();
        asks && self.unanswered.is_some() && newer.statement.activity == Activity::Idle
    }

    /// What the screen shows, whatever the agent reports.
    pub fn on_screen(&self) -> Option<&Statement> {
        self.screen.as_ref().map(|known| &known.statement)
    }
}

fn is_alike(one: &Statement, other: &Statement) -> bool {
    (one.activity, &one.kind) == (other.activity, &other.kind)
}

/// Whether two questions are the same but for what changes by itself, such as a clock.
fn is_same_question(one: &Statement, other: &Statement) -> bool {
    Essence::of(&one.question) == Essence::of(&other.question)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Evidence;

    fn says(source: Source, activity: Activity, question: &str) -> Statement {
        let evidence = Evidence { source, what: String::new() };
        Statement { activity, kind: None, question: question.to_owned(), resumes: None, evidence }
    }

    fn after(seconds: u64, began: Instant) -> Instant {
        began + Duration::from_secs(seconds)
    }

    fn activity(tracker: &ActivityTracker) -> Option<Activity> {
        tracker.current().map(|known| known.statement.activity)
    }

    #[test]
    fn what_the_screen_said_before_it_was_doubted_is_no_news() {
        let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
        let idle = || Some(says(Source::Screen, Activity::Idle, ""));
        tracker.set_screen(idle(), began);
        tracker.add(says(Source::Event, Activity::Waiting, "rm -rf"), after(5, began));
        tracker.doubt_screen();
        assert_eq!(tracker.on_screen(), None);
        tracker.set_screen(idle(), after(60, began));
        assert_eq!(activity(&tracker), Some(Activity::Waiting));
        tracker.doubt_screen();
        tracker.set_screen(None, after(70, began));
        tracker.set_screen(idle(), after(80, began));
        assert_eq!(activity(&tracker), Some(Activity::Waiting), "it is drawn anew, and nobody has answered");
    }

    /// A hook or a notification has reported a question, and the composer that was on the screen before is there again.
    #[test]
    fn what_was_reported_is_a_question_until_somebody_has_answered() {
        let saw = |activity| Some(says(Source::Screen, activity, "rm -rf"));
        let after_all = |screens: &[(u64, Option<Activity>)], is_keyed: bool| {
            let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
            tracker.set_screen(saw(Activity::Idle), began);
            tracker.add(says(Source::Sequence, Activity::Waiting, "rm -rf"), after(5, began));
            for (seconds, screen) in screens {
                tracker.set_screen(screen.and_then(saw), after(*seconds, began));
            }
            if is_keyed {
                tracker.keyed();
            }
            activity(&tracker)
        };
        let (asks, idle) = (Some(Activity::Waiting), Some(Activity::Idle));
        assert_eq!(after_all(&[(20, None), (21, idle)], false), asks, "an empty screen");
        assert_eq!(after_all(&[(20, Some(Activity::Working)), (21, idle)], false), asks, "a row that passes");
        assert_eq!(after_all(&[(20, asks), (21, idle)], false), idle, "the question was shown, and is gone");
        let works = |seconds| (seconds, Some(Activity::Working));
        assert_eq!(after_all(&[works(20), works(30), (31, idle)], false), idle, "the agent has worked");
        assert_eq!(after_all(&[(20, None), (21, idle)], true), idle, "a person has typed");
    }

    #[test]
    fn an_event_is_believed_until_the_screen_says_something_newer() {
        let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
        tracker.set_screen(Some(says(Source::Screen, Activity::Working, "")), began);
        tracker.add(says(Source::Event, Activity::Waiting, "rm -rf"), after(5, began));
        assert_eq!(
            activity(&tracker),
            Some(Activity::Waiting),
            "the screen has been saying the other thing for longer"
        );
        tracker.set_screen(Some(says(Source::Screen, Activity::Idle, "")), after(6, began));
        assert_eq!(activity(&tracker), Some(Activity::Waiting), "about the same moment");
        tracker.set_screen(Some(says(Source::Screen, Activity::Working, "")), after(30, began));
        assert_eq!(activity(&tracker), Some(Activity::Working), "somebody has answered");
    }

    #[test]
    fn a_question_on_the_screen_is_a_question_whatever_the_agent_says() {
        let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
        tracker.set_screen(Some(says(Source::Screen, Activity::Waiting, "rm -rf")), began);
        tracker.add(says(Source::Sequence, Activity::Idle, ""), after(1, began));
        tracker.add(says(Source::Event, Activity::Working, ""), after(9, began));
        assert_eq!(activity(&tracker), Some(Activity::Waiting));
        tracker.set_screen(None, after(10, began));
        assert_eq!(activity(&tracker), Some(Activity::Working), "negative control");
    }

    #[test]
    fn a_clock_in_a_question_makes_no_other_question() {
        let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
        tracker.set_screen(Some(says(Source::Screen, Activity::Waiting, "go on? (9s left)")), began);
        tracker.set_screen(Some(says(Source::Screen, Activity::Waiting, "go on? (8s left)")), after(1, began));
        assert_eq!(tracker.current().map(|known| known.since), Some(began));
        tracker.set_screen(Some(says(Source::Screen, Activity::Waiting, "remove it?")), after(9, began));
        assert_eq!(tracker.current().map(|known| known.since), Some(after(9, began)), "another question");
    }

    #[test]
    fn a_question_that_is_painted_anew_is_one_question() {
        let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
        assert!(!tracker.repaints_question(), "there is none");
        tracker.set_screen(Some(says(Source::Screen, Activity::Waiting, "remove ./important?")), began);
        assert!(tracker.repaints_question());
        tracker.set_screen(Some(says(Source::Screen, Activity::Waiting, "remove ./imp…")), after(60, began));
        assert_eq!(tracker.current().map(|known| known.since), Some(began));
        tracker.set_screen(Some(says(Source::Screen, Activity::Waiting, "remove it?")), after(70, began));
        assert_eq!(tracker.current().map(|known| known.since), Some(after(70, began)), "another question");
    }

    #[test]
    fn a_question_through_which_a_log_flows_is_one_question() {
        let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
        for seconds in 0..30 {
            let question = format!("line {} of a log, go on?", ["one", "two", "three"][seconds as usize % 3]);
            tracker.set_screen(Some(says(Source::Screen, Activity::Waiting, &question)), after(seconds, began));
            assert_eq!(tracker.current().map(|known| known.since), Some(began));
        }
    }

    #[test]
    fn of_a_screen_that_nobody_knows_nothing_is_known() {
        let mut tracker = ActivityTracker::default();
        tracker.set_screen(None, Instant::now());
        assert_eq!(tracker.current(), None);
    }
}
