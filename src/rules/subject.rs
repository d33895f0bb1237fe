//! Subjects: their kinds and their ids.

use std::fmt::{Display, Formatter, Result};

use serde::{Deserialize, Serialize};

use super::display::one_line;

/// A row's id as its database prints it: a hyphenated uuid.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Id(pub String);

/// The kinds of subject, in the order in which they are swept.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    Session,
    Issue,
    Step,
}

/// As it may be printed: on SQLite, and in another's process, an id is any text.
impl Display for Id {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(&one_line(&self.0))
    }
}

impl Kind {
    pub const ALL: &[Kind] = <Kind as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        Kind::ALL.iter().map(|kind| kind.name())
    }

    /// Rows of sweep's own, and of hosts, name a kind as text.
    pub fn parse(name: &str) -> Option<Kind> {
        name.parse().ok()
    }

    pub fn plural(self) -> &'static str {
        match self {
            Kind::Session => "sessions",
            Kind::Issue => "issues",
            Kind::Step => "steps",
        }
    }

    pub fn with_article(self) -> &'static str {
        match self {
            Kind::Session => "a session",
            Kind::Issue => "an issue",
            Kind::Step => "a step",
        }
    }
}
