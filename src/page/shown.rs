//! What templates may show of what others wrote.

use std::fmt::{Display, Formatter};

use chrono::{DateTime, TimeDelta, Utc};

use crate::rules::Id;
use crate::rules::display::HumanDuration;
use crate::text::redact;

/// A text that went through `redact`: on one line, without invisible characters and credentials. The templates escape
/// it. This is the only text that a template gets besides our own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown(String);

impl Shown {
    pub fn of(text: &str) -> Shown {
        Shown(redact(text))
    }

    pub fn id(id: &Id) -> Shown {
        Shown::of(&id.0)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Display for Shown {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A time to the minute, for people and for programs.
#[derive(Clone, Copy, Debug)]
pub struct Minute(pub DateTime<Utc>);

impl Minute {
    pub fn machine(&self) -> String {
        self.0.format("%Y-%m-%dT%H:%MZ").to_string()
    }
}

impl Display for Minute {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        write!(f, "{} UTC", self.0.format("%Y-%m-%d %H:%M"))
    }
}

/// A time span in words, to the minute: so two pages of one minute are the same as long as nothing has happened.
pub fn age(seconds: Option<i64>) -> String {
    match seconds {
        None => "an unknown time".to_owned(),
        Some(seconds) if seconds < 60 => "less than a minute".to_owned(),
        Some(seconds) => HumanDuration(TimeDelta::seconds(seconds)).to_string(),
    }
}
