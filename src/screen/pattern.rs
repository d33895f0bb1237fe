//! Regular expressions in the files of agents.

use regex::{Error, Regex, RegexSet};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(pub Regex);

/// Several regular expressions, any of which may match.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Patterns(pub RegexSet);

impl TryFrom<String> for Pattern {
    type Error = Error;

    fn try_from(text: String) -> Result<Pattern, Error> {
        Regex::new(&text).map(Pattern)
    }
}

impl TryFrom<Vec<String>> for Patterns {
    type Error = Error;

    fn try_from(texts: Vec<String>) -> Result<Patterns, Error> {
        RegexSet::new(texts).map(Patterns)
    }
}
