//! What an agent is doing, from several witnesses.
//!
//! In their order: an event of the agent's own, a sequence that it sent to its terminal, what stands on the screen. A better
//! witness is believed until a lesser one says something that is newer: agents do not tell of everything. With one exception:
//! while a question stands on the screen, nobody is believed who says that there is none.

use std::time::{Duration, Instant};

use super::statement::{Source, Statement};
use crate::rules::Essence;

/// The same thing reaches us by different ways within this time.
const SIMULTANEOUS: Duration = Duration::from_secs(2);

/// A question whose words change sooner than that is one question: something flows through it.
const WORDS_LAST: Duration = Duration::from_secs(8);

#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    pub statement: Statement,
    pub since: Instant,
    /// When its question was first asked in these words.
    worded_at: Instant,
}

#[derive(Default)]
pub struct States {
    screen: Option<Known>,
    sequence: Option<Known>,
    event: Option<Known>,
}

impl States {
    /// What stands on the screen now; None: nothing that the rules know.
    pub fn seen(&mut self, statement: Option<Statement>, now: Instant) {
        match statement {
            Some(statement) => self.heard(statement, now),
            None => self.screen = None,
        }
    }

    pub fn heard(&mut self, statement: Statement, now: Instant) {
        let known = match statement.evidence.source {
            Source::Screen => &mut self.screen,
            Source::Sequence => &mut self.sequence,
            Source::Event => &mut self.event,
        };
        let (mut since, mut worded_at) = (now, now);
        if let Some(before) = known.as_ref().filter(|before| is_alike(&before.statement, &statement)) {
            if is_same_question(&before.statement, &statement) {
                (since, worded_at) = (before.since, before.worded_at);
            } else if now.saturating_duration_since(before.worded_at) < WORDS_LAST {
                since = before.since;
            }
        }
        *known = Some(Known { statement, since, worded_at });
    }

    /// What the agent is doing, as far as anybody knows.
    pub fn now(&self) -> Option<&Known> {
        let seen = self.screen.as_ref();
        if let Some(question) = seen.filter(|seen| seen.statement.activity.needs_person()) {
            return Some(question);
        }
        [&self.sequence, &self.event].into_iter().flatten().fold(seen, |lesser, better| match lesser {
            Some(lesser) if better.since + SIMULTANEOUS < lesser.since => Some(lesser),
            Some(_) | None => Some(better),
        })
    }

    /// What stands on the screen, whatever the agent says.
    pub fn on_screen(&self) -> Option<&Statement> {
        self.screen.as_ref().map(|known| &known.statement)
    }
}

fn is_alike(one: &Statement, other: &Statement) -> bool {
    (one.activity, &one.kind) == (other.activity, &other.kind)
}

/// A question in which a clock runs is the same.
fn is_same_question(one: &Statement, other: &Statement) -> bool {
    Essence::of(&one.question) == Essence::of(&other.question)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::session::Activity;
    use crate::screen::Evidence;

    fn says(source: Source, activity: Activity, question: &str) -> Statement {
        let evidence = Evidence { source, what: String::new() };
        Statement { activity, kind: None, question: question.to_owned(), resumes: None, evidence }
    }

    fn after(seconds: u64, began: Instant) -> Instant {
        began + Duration::from_secs(seconds)
    }

    fn activity(states: &States) -> Option<Activity> {
        states.now().map(|known| known.statement.activity)
    }

    #[test]
    fn an_event_is_believed_until_the_screen_says_something_newer() {
        let (mut states, began) = (States::default(), Instant::now());
        states.seen(Some(says(Source::Screen, Activity::Working, "")), began);
        states.heard(says(Source::Event, Activity::Waiting, "rm -rf"), after(5, began));
        assert_eq!(activity(&states), Some(Activity::Waiting), "the screen has been saying the other thing for longer");
        states.seen(Some(says(Source::Screen, Activity::Idle, "")), after(6, began));
        assert_eq!(activity(&states), Some(Activity::Waiting), "about the same moment");
        states.seen(Some(says(Source::Screen, Activity::Working, "")), after(30, began));
        assert_eq!(activity(&states), Some(Activity::Working), "somebody has answered");
    }

    #[test]
    fn a_question_on_the_screen_is_a_question_whatever_the_agent_says() {
        let (mut states, began) = (States::default(), Instant::now());
        states.seen(Some(says(Source::Screen, Activity::Waiting, "rm -rf")), began);
        states.heard(says(Source::Sequence, Activity::Idle, ""), after(1, began));
        states.heard(says(Source::Event, Activity::Working, ""), after(9, began));
        assert_eq!(activity(&states), Some(Activity::Waiting));
        states.seen(None, after(10, began));
        assert_eq!(activity(&states), Some(Activity::Working), "negative control");
    }

    #[test]
    fn a_clock_in_a_question_makes_no_other_question() {
        let (mut states, began) = (States::default(), Instant::now());
        states.seen(Some(says(Source::Screen, Activity::Waiting, "go on? (9s left)")), began);
        states.seen(Some(says(Source::Screen, Activity::Waiting, "go on? (8s left)")), after(1, began));
        assert_eq!(states.now().map(|known| known.since), Some(began));
        states.seen(Some(says(Source::Screen, Activity::Waiting, "remove it?")), after(9, began));
        assert_eq!(states.now().map(|known| known.since), Some(after(9, began)), "another question");
    }

    #[test]
    fn a_question_through_which_a_log_flows_is_one_question() {
        let (mut states, began) = (States::default(), Instant::now());
        for seconds in 0..30 {
            let question = format!("line {} of a log, go on?", ["one", "two", "three"][seconds as usize % 3]);
            states.seen(Some(says(Source::Screen, Activity::Waiting, &question)), after(seconds, began));
            assert_eq!(states.now().map(|known| known.since), Some(began));
        }
    }

    #[test]
    fn of_a_screen_that_nobody_knows_nothing_is_known() {
        let mut states = States::default();
        states.seen(None, Instant::now());
        assert_eq!(states.now(), None);
    }
}
