//! What the operator allows: the limits of what a sweep does by itself, and the guard that stops it.

use chrono::TimeDelta;
use serde::{Deserialize, Deserializer, Serialize};

/// How long a step is in progress before it is stalled, unless it, its plan or the operator says otherwise.
pub const STEP_STALLED_AFTER: TimeDelta = TimeDelta::minutes(30);

/// The limits of what a sweep does by itself; durations are not negative. In JSON they are seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    #[serde(rename = "orphan_grace_seconds", with = "seconds")]
    pub orphan_grace: TimeDelta,
    /// The grace of an issue of which a run ended within `orphan_grace`, if that is known at once and this is shorter.
    #[serde(skip)]
    pub grace_after_run: Option<TimeDelta>,
    #[serde(rename = "step_stalled_after_seconds", with = "seconds")]
    pub step_stalled_after: TimeDelta,
    /// The silence of a session that takes commands.
    #[serde(rename = "session_silent_after_seconds", with = "seconds")]
    pub session_silent_after: TimeDelta,
    /// How long a run that holds no lease, or a session that takes no commands, may be silent; for so long children
    /// that compute are progress.
    #[serde(rename = "run_silent_after_seconds", with = "seconds")]
    pub run_silent_after: TimeDelta,
    /// How long an agent must have waited for a person: a question that is answered sooner is no news.
    #[serde(rename = "session_waiting_after_seconds", with = "seconds")]
    pub session_waiting_after: TimeDelta,
    /// How long a session may move and do nothing new.
    #[serde(rename = "session_no_progress_after_seconds", with = "seconds")]
    pub session_no_progress_after: TimeDelta,
    #[serde(rename = "wake_stuck_after_seconds", with = "seconds")]
    pub wake_stuck_after: TimeDelta,
    /// People are notified of work whose agent is gone or terminated when it has been idle for longer.
    #[serde(rename = "abandoned_after_seconds")]
    pub abandoned_after: After,
    /// People are notified of work whose agent is paused, waits for an approval or has a status that is not known, or
    /// which an obstacle holds, when it has been idle for longer.
    #[serde(rename = "paused_after_seconds")]
    pub paused_after: After,
    #[serde(rename = "retry_delay_seconds", with = "seconds")]
    pub retry_delay: TimeDelta,
    /// Continuations per episode.
    pub attempts_max: u32,
    /// Continuations in 24 hours, and escalations, however often the episode restarts.
    pub attempts_per_day_max: u32,
    pub escalation: Escalation,
    /// The pause between two commands to one session, and before one that nobody takes counts as ignored.
    #[serde(rename = "nudge_delay_seconds", with = "seconds")]
    pub nudge_delay: TimeDelta,
    /// Nudges per episode.
    pub nudges_max: u32,
    /// What is typed into a session that is stuck.
    pub nudge_message: String,
    /// True if crashed sessions are relaunched.
    pub auto_relaunch: bool,
    /// Relaunches per episode.
    pub relaunches_max: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            orphan_grace: TimeDelta::minutes(2),
            grace_after_run: None,
            step_stalled_after: STEP_STALLED_AFTER,
            session_silent_after: TimeDelta::minutes(5),
            run_silent_after: TimeDelta::hours(1),
            session_waiting_after: TimeDelta::seconds(10),
            session_no_progress_after: TimeDelta::minutes(15),
            wake_stuck_after: TimeDelta::hours(1),
            abandoned_after: After::Time(TimeDelta::hours(1)),
            paused_after: After::Time(TimeDelta::days(1)),
            retry_delay: TimeDelta::minutes(5),
            attempts_max: 1,
            attempts_per_day_max: 4,
            escalation: Escalation::CommentAndBlock,
            nudge_delay: TimeDelta::minutes(2),
            nudges_max: 2,
            nudge_message: "You seem to be stuck. Go on with your task, or say what you need.".to_owned(),
            auto_relaunch: false,
            relaunches_max: 1,
        }
    }
}

/// The time after which something is done, or that it never is. In JSON seconds, or null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum After {
    Off,
    Time(#[serde(serialize_with = "seconds::serialize")] TimeDelta),
}

impl After {
    pub fn is_over(self, time: TimeDelta) -> bool {
        matches!(self, After::Time(limit) if limit < time)
    }
}

impl<'de> Deserialize<'de> for After {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<After, D::Error> {
        #[derive(Deserialize)]
        struct Seconds(#[serde(with = "seconds")] TimeDelta);
        Ok(Option::<Seconds>::deserialize(deserializer)?.map_or(After::Off, |Seconds(time)| After::Time(time)))
    }
}

/// What an escalation does to an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Escalation {
    CommentAndBlock,
    CommentOnly,
}

/// Durations as seconds, to the millisecond, as the settings are.
mod seconds {
    use chrono::TimeDelta;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(duration: &TimeDelta, serializer: S) -> Result<S::Ok, S::Error> {
        match (duration.num_seconds(), duration.subsec_nanos()) {
            (whole, 0) => serializer.serialize_i64(whole),
            (..) => serializer.serialize_f64(duration.num_milliseconds() as f64 / 1000.0),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TimeDelta, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        TimeDelta::try_milliseconds((seconds * 1000.0).round() as i64)
            .ok_or_else(|| serde::de::Error::custom("a duration of too many seconds"))
    }
}

/// The guard against acting at scale on a false picture: when half the world looks stranded, it is the look that is
/// wrong. It stops a sweep at a kind of which more than `share` and more than `min` of the subjects in progress look
/// stranded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Guard {
    /// From 0 to 1.
    pub share: f64,
    pub min: u32,
}

impl Default for Guard {
    fn default() -> Self {
        Guard { share: 0.5, min: 20 }
    }
}

impl Guard {
    /// The most that may look stranded.
    pub fn stranded_max(&self, in_progress: u64) -> u64 {
        self.share_of(in_progress).max(self.min.into())
    }

    /// True if a larger share than `share` looks stranded, however few that are.
    pub fn exceeds_share(&self, stranded: u64, in_progress: u64) -> bool {
        self.share_of(in_progress) < stranded
    }

    fn share_of(&self, in_progress: u64) -> u64 {
        // A little more, since 0.29 of 100 would come out below 29.
        (self.share * in_progress as f64 + 1e-6).floor() as u64
    }

    pub fn stops(&self, stranded: u64, in_progress: u64) -> bool {
        self.stranded_max(in_progress) < stranded
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::Guard;

    #[rstest]
    #[case::nothing_is_in_progress(0.5, 20, 0, 0, false)]
    #[case::all_of_a_few(0.5, 20, 20, 20, false)]
    #[case::one_more_than_a_few(0.5, 20, 21, 21, true)]
    #[case::many_but_not_half(0.5, 20, 49, 100, false)]
    #[case::exactly_half(0.5, 20, 50, 100, false)]
    #[case::one_more_than_half(0.5, 20, 51, 100, true)]
    #[case::half_of_an_odd_number_is_rounded_down(0.5, 20, 51, 101, true)]
    #[case::exactly_a_share_that_no_float_is(0.29, 20, 29, 100, false)]
    #[case::one_more_than_a_share_that_no_float_is(0.29, 20, 30, 100, true)]
    #[case::exactly_a_third_of_very_many(0.333, 20, 3_330_000, 10_000_000, false)]
    #[case::one_more_than_a_third_of_very_many(0.333, 20, 3_330_001, 10_000_000, true)]
    #[case::a_share_of_zero_leaves_the_minimum(0.0, 5, 5, 1000, false)]
    #[case::a_share_of_zero_and_one_more(0.0, 5, 6, 1000, true)]
    #[case::zero_and_zero_stop_at_the_first(0.0, 0, 1, 1000, true)]
    #[case::zero_and_zero_have_nothing_to_stop(0.0, 0, 0, 1000, false)]
    #[case::a_share_of_one_never_stops(1.0, 0, 1000, 1000, false)]
    fn it_stops_when_more_than_the_share_and_more_than_the_minimum_look_stranded(
        #[case] share: f64,
        #[case] min: u32,
        #[case] stranded: u64,
        #[case] in_progress: u64,
        #[case] stops: bool,
    ) {
        assert_eq!(Guard { share, min }.stops(stranded, in_progress), stops);
    }
}
