//! Lists of names, such as the kinds to sweep: a name alone is in the list, one with a + or a - changes the default.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

use super::Choice;

/// The names that a list may have, separated by commas.
#[derive(Clone, Copy)]
pub struct List<T: 'static>(pub Choice<T>);

/// One entry of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<T> {
    Named(T),
    Added(T),
    Removed(T),
}

/// What a list says: names alone replace the default. None: nothing is left.
pub fn listed<T: Copy + PartialEq>(entries: &[Entry<T>], default: &[T]) -> Option<Vec<T>> {
    let replaces = entries.iter().any(|entry| matches!(entry, Entry::Named(_)));
    let mut list = if replaces { Vec::new() } else { default.to_vec() };
    for entry in entries {
        match *entry {
            Entry::Named(value) | Entry::Added(value) if !list.contains(&value) => list.push(value),
            Entry::Named(_) | Entry::Added(_) => {}
            Entry::Removed(value) => list.retain(|kept| *kept != value),
        }
    }
    Some(list).filter(|list| !list.is_empty())
}

impl<T: Copy> List<T> {
    pub fn parse(&self, text: &str) -> Result<Entry<T>, String> {
        let text = text.trim();
        match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(name), _) => self.0.parse(name).map(Entry::Added),
            (None, Some(name)) => self.0.parse(name).map(Entry::Removed),
            (None, None) => self.0.parse(text).map(Entry::Named),
        }
    }
}

impl<T: Copy + Send + Sync + 'static> TypedValueParser for List<T> {
    type Value = Entry<T>;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<Entry<T>, Error> {
        let list = *self;
        (move |text: &str| list.parse(text)).parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::parse::KINDS;
    use crate::rules::Kind::{self, Issue, Session, Step};

    const DEFAULT: &[Kind] = &[Session, Issue];

    #[rstest]
    #[case::names_alone_replace_the_default("steps", Some(vec![Step]))]
    #[case::a_plus_adds("+steps", Some(vec![Session, Issue, Step]))]
    #[case::a_minus_takes_away("-issues", Some(vec![Session]))]
    #[case::both_at_once("+steps, -sessions", Some(vec![Issue, Step]))]
    #[case::what_is_there_is_added_once("+issues", Some(DEFAULT.to_vec()))]
    #[case::what_is_missing_is_taken_away_already("-steps", Some(DEFAULT.to_vec()))]
    #[case::changes_of_a_list_that_is_named("issues,+steps,issues", Some(vec![Issue, Step]))]
    #[case::nothing_is_left("-issues,-sessions", None)]
    fn a_list_says_which(#[case] text: &str, #[case] said: Option<Vec<Kind>>) {
        let entries: Result<Vec<_>, _> = text.split(',').map(|name| List(KINDS).parse(name)).collect();
        assert_eq!(listed(&entries.expect("kinds"), DEFAULT), said);
    }

    #[rstest]
    #[case("+plans")]
    #[case("-")]
    #[case("--issues")]
    fn a_name_that_is_not_known_is_refused_behind_a_sign_too(#[case] text: &str) {
        assert_eq!(List(KINDS).parse(text), Err("expected sessions, issues or steps".to_owned()));
    }
}
