//! What is counted: by kind, and of the sweep as a whole.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::outcome::Outcome;
use crate::rules::display::HumanDuration;
use crate::rules::{Id, Kind};
use crate::store::work::counts::{KindCounts, Tally};
use crate::store::work::wakes::StuckWakes;

/// Clocks that differ by more, and rows that are further ahead, are reported.
const SKEW_MAX: TimeDelta = TimeDelta::seconds(5);

impl Tally {
    pub fn count(&mut self, outcome: Outcome) {
        // What was put off comes again: it is counted with what was not looked at.
        self.scanned += u64::from(outcome != Outcome::Deferred);
        *self.counter(outcome) += 1;
    }

    /// How many came to this.
    pub fn of(mut self, outcome: Outcome) -> u64 {
        *self.counter(outcome)
    }

    fn counter(&mut self, outcome: Outcome) -> &mut u64 {
        match outcome {
            Outcome::Continued => &mut self.continued,
            Outcome::Escalated => &mut self.escalated,
            Outcome::Recovered => &mut self.recovered,
            Outcome::HandedOver => &mut self.handed_over,
            Outcome::Abandoned => &mut self.abandoned,
            Outcome::Waiting => &mut self.waiting,
            Outcome::Skipped => &mut self.skipped,
            Outcome::Healthy => &mut self.healthy,
            Outcome::Changed => &mut self.changed,
            Outcome::Deferred => &mut self.deferred,
            Outcome::Busy => &mut self.busy,
            Outcome::Unknown => &mut self.unknown,
            Outcome::Unreadable => &mut self.unreadable,
            Outcome::Failed => &mut self.failed,
        }
    }

    pub fn sum<'a>(kinds: impl Iterator<Item = &'a KindReport>) -> Tally {
        kinds.fold(Tally::default(), |sum, report| sum.plus(report.counts.tally))
    }
}

/// What is said of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct KindReport {
    #[serde(skip)]
    pub kind: Kind,
    #[serde(flatten)]
    pub counts: KindCounts,
}

/// Subjects that were left to the next sweep unseen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deferred {
    pub count: u64,
    pub oldest: Option<DateTime<Utc>>,
}

impl Deferred {
    pub fn add(&mut self, other: Deferred) {
        self.count += other.count;
        self.oldest = self.oldest.into_iter().chain(other.oldest).min();
    }
}

/// The wakes that were stuck at the end of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stuck {
    #[serde(flatten)]
    pub wakes: StuckWakes,
    /// The limit.
    #[serde(skip)]
    pub after: TimeDelta,
    /// When they were looked for.
    #[serde(skip)]
    pub now: DateTime<Utc>,
}

impl Stuck {
    pub fn sentence(&self) -> String {
        let Stuck { wakes: StuckWakes { count, oldest_at, none_is_taken }, after, now } = self;
        let (limit, oldest) = (HumanDuration(*after), oldest_at.map(|at| *now - at).filter(|age| *after < *age));
        let wakes = match (count, oldest.map(HumanDuration)) {
            (1, Some(age)) => format!("1 wake is stuck: queued for {age}, and taken up by nobody"),
            (1, None) => format!("1 wake is stuck: queued for longer than {limit}, and taken up by nobody"),
            (_, age) => {
                let oldest = age.map(|age| format!(", the oldest for {age}")).unwrap_or_default();
                format!("{count} wakes are stuck: queued for longer than {limit}, and taken up by nobody{oldest}")
            }
        };
        match none_is_taken {
            true => {
                format!("{wakes}. No wake was taken up in the last {limit}: does whatever runs the agents still run?")
            }
            false => wakes,
        }
    }

    /// The sentence for its end.
    pub fn all_clear(&self) -> String {
        format!("wakes are taken up again: none has been queued for longer than {}", HumanDuration(self.after / 2))
    }
}

/// What ended a sweep before all was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    Limit,
    Deadline,
}

/// The database's clock compared with others, and rows that are ahead of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Clocks {
    /// By how much the database's clock is ahead of this machine's.
    pub skew_seconds: f64,
    /// How far the clock of the host's server is behind the database's; none where the host says nothing of it.
    pub host_behind_seconds: Option<f64>,
    /// By how much the newest row lies in the future, by the database's clock.
    pub future_seconds: Option<i64>,
    /// Its subject.
    pub future_subject: Option<Id>,
    /// The kind of that subject, and what people call it.
    #[serde(skip)]
    pub future_name: Option<String>,
    /// By how much the newest row of the ledger lies in the future, if by more than a minute.
    pub ledger_future_seconds: Option<i64>,
}

impl Clocks {
    /// What an operator should know of the clocks, in sentences.
    pub fn warnings(&self) -> Vec<String> {
        let skew = TimeDelta::milliseconds((self.skew_seconds * 1000.0) as i64);
        let behind = self.host_behind_seconds.map(|seconds| TimeDelta::milliseconds((seconds * 1000.0) as i64));
        let behind = behind.filter(|behind| SKEW_MAX < *behind).map(|behind| {
            format!(
                "The clock of the host's server is {0} behind the database's: after the end of a run sweep waits {0} \
                    longer",
                HumanDuration(behind)
            )
        });
        let ahead = self.future_seconds.map(TimeDelta::seconds);
        let whose = if skew < TimeDelta::zero() { "behind" } else { "ahead of" };
        let skewed = (SKEW_MAX < skew.abs()).then(|| {
            format!(
                "The database's clock is {} {whose} this machine's; only the database's counts",
                HumanDuration(skew.abs())
            )
        });
        let future = ahead.filter(|ahead| SKEW_MAX < *ahead).zip(self.future_name.as_ref()).map(|(ahead, name)| {
            format!(
                "The newest row, {name}, lies {} in the future: it counts as a sign of life until then",
                HumanDuration(ahead)
            )
        });
        let ledger = self.ledger_future_seconds.map(|seconds| {
            format!(
                "The ledger's newest row lies {} in the future: the database's clock was ahead when a sweep wrote it. \
                    Nothing waits for \
                 that time",
                HumanDuration(TimeDelta::seconds(seconds))
            )
        });
        skewed.into_iter().chain(behind).chain(future).chain(ledger).collect()
    }
}
