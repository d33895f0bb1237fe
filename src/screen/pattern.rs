//! Regular expressions, as the files of agents hold them.

use std::ops::Deref;

use regex::{Regex, RegexSet};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(Regex);

/// Any of several.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Patterns(RegexSet);

impl TryFrom<String> for Pattern {
    type Error = regex::Error;

    fn try_from(text: String) -> Result<Pattern, regex::Error> {
        Regex::new(&text).map(Pattern)
    }
}

impl TryFrom<Vec<String>> for Patterns {
    type Error = regex::Error;

    fn try_from(texts: Vec<String>) -> Result<Patterns, regex::Error> {
        RegexSet::new(texts).map(Patterns)
    }
}

impl Default for Patterns {
    fn default() -> Patterns {
        Patterns(RegexSet::empty())
    }
}

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        &self.0
    }
}

impl Deref for Patterns {
    type Target = RegexSet;

    fn deref(&self) -> &RegexSet {
        &self.0
    }
}
