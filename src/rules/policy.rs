//! What the operator allows.

use chrono::TimeDelta;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
    /// A session that takes commands.
    #[serde(rename = "session_silent_after_seconds", with = "seconds")]
    pub session_silent_after: TimeDelta,
    /// A session that takes none, such as a host's run; and for so long children that compute are progress.
    #[serde(rename = "run_silent_after_seconds", with = "seconds")]
    pub run_silent_after: TimeDelta,
    /// A session whose agent waits for a person: what a person answers sooner is no news.
    #[serde(rename = "session_waiting_after_seconds", with = "seconds")]
    pub session_waiting_after: TimeDelta,
    /// A session that moves, and does nothing new.
    #[serde(rename = "session_no_progress_after_seconds", with = "seconds")]
    pub session_no_progress_after: TimeDelta,
    #[serde(rename = "wake_stuck_after_seconds", with = "seconds")]
    pub wake_stuck_after: TimeDelta,
    /// People are notified of work whose agent is gone or terminated when it has been idle for longer.
    #[serde(rename = "abandoned_after_seconds")]
    pub abandoned_after: After,
    /// The same of work whose agent is paused, or waits for an approval.
    #[serde(rename = "paused_after_seconds")]
    pub paused_after: After,
    #[serde(rename = "retry_delay_seconds", with = "seconds")]
    pub retry_delay: TimeDelta,
    /// Continuations per episode.
    pub attempts_max: u32,
    /// Continuations in 24 hours, and escalations, however often the episode restarts.
    pub attempts_per_day_max: u32,
    pub escalation: Escalation,
    /// Between two commands to one session, and before one that nobody takes counts as ignored.
    #[serde(rename = "nudge_delay_seconds", with = "seconds")]
    pub nudge_delay: TimeDelta,
    /// Nudges per episode.
    pub nudges_max: u32,
    /// What is typed into a session that is stuck.
    pub nudge_message: String,
    /// Are crashed sessions relaunched?
    pub auto_relaunch: bool,
    /// Relaunches per episode.
    pub relaunches_max: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            orphan_grace: TimeDelta::minutes(2),
            grace_after_run: None,
            step_stalled_after: TimeDelta::minutes(30),
            session_silent_after: TimeDelta::minutes(5),
            run_silent_after: TimeDelta::hours(1),
            session_waiting_after: TimeDelta::seconds(10),
            session_no_progress_after: TimeDelta::minutes(15),
            wake_stuck_after: TimeDelta::hours(1),
            abandoned_after: After::Time(TimeDelta::hours(1)),
            paused_after: After::Off,
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

/// After which time something is done, or that it never is. In JSON seconds, or null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    Off,
    Time(TimeDelta),
}

impl After {
    pub fn is_over(self, time: TimeDelta) -> bool {
        matches!(self, After::Time(limit) if limit < time)
    }
}

impl Serialize for After {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            After::Off => serializer.serialize_none(),
            After::Time(time) => seconds::serialize(time, serializer),
        }
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

/// To the millisecond, as the settings are.
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
