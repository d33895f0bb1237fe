//! Values of which there are few: each is read and written by its name, and shells complete the names.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

use crate::report::Format;
use crate::rules::{Escalation, Kind};
use crate::store::hosts::folders;
use crate::store::work::exemptions::Exempts;
use crate::store::work::outbox::Event;
use crate::supervisor::record::Nudges;
use crate::sweep::KindMode;
use crate::verify::Promise;

/// All values, and the name of each.
#[derive(Clone, Copy)]
pub struct Choice<T: 'static>(fn() -> &'static [T], fn(T) -> &'static str);

/// How logs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

pub const KIND: Choice<Kind> = Choice::all();
/// What can be exempt.
pub const EXEMPTS: Choice<Exempts> = Choice::all();
/// The events of which people can be notified.
pub const EVENTS: Choice<Event> = Choice::all();
pub const KINDS: Choice<Kind> = Choice(|| Kind::ALL, Kind::plural);
pub const HOST: Choice<&str> = Choice(folders::names, |name| name);
/// What a host is verified by.
pub const CHECK: Choice<Promise> = Choice::all();
pub const SWITCH: Choice<bool> = Choice(|| &[true, false], |is_on| if is_on { "on" } else { "off" });
pub const KIND_MODE: Choice<KindMode> = Choice::all();
pub const FORMAT: Choice<Format> = Choice::all();
/// How something that is no report of a sweep is printed.
pub const LAYOUT: Choice<Format> = Choice(|| &[Format::Table, Format::Json], |format| FORMAT.name(format));
pub const LOG_FORMAT: Choice<LogFormat> = Choice::all();
pub const ESCALATION: Choice<Escalation> = Choice::all();
/// Into which programs something may be typed; by default it depends on the program.
pub const NUDGES: Choice<Nudges> = Choice(
    || &[Nudges::Idle, Nudges::Off],
    |nudges| match nudges {
        Nudges::Known => "known",
        Nudges::Idle => "idle",
        Nudges::Off => "off",
    },
);

impl<T: strum::VariantArray + Into<&'static str>> Choice<T> {
    /// All variants, by the names that their enum gives them.
    const fn all() -> Choice<T> {
        Choice(|| T::VARIANTS, T::into)
    }
}

impl<T: Copy> Choice<T> {
    pub fn name(&self, value: T) -> &'static str {
        self.1(value)
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        (self.0)().iter().map(|value| self.name(*value))
    }

    pub fn parse(&self, text: &str) -> Result<T, String> {
        let text = text.trim();
        (self.0)().iter().copied().find(|value| self.name(*value) == text).ok_or_else(|| self.expected(text))
    }

    fn expected(&self, found: &str) -> String {
        let names: Vec<&str> = self.names().collect();
        let (last, first) = names.split_last().unwrap_or((&"nothing", &[]));
        // One issue, or several.
        let is_meant = |name: &&&str| name.strip_suffix('s') == Some(found) || found.strip_suffix('s') == Some(**name);
        let hint = names.iter().find(is_meant).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        format!("expected {} or {last}{hint}", first.join(", "))
    }
}

impl<T: Copy + Send + Sync + 'static> TypedValueParser for Choice<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        let choice = *self;
        (move |text: &str| choice.parse(text)).parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_completes_is_accepted_and_means_what_it_is_called() {
        fn check<T: Copy + PartialEq + std::fmt::Debug>(choice: Choice<T>) {
            for value in (choice.0)() {
                assert_eq!(choice.parse(choice.name(*value)), Ok(*value));
            }
        }
        check(KIND);
        check(KINDS);
        check(EVENTS);
        check(KIND_MODE);
        check(FORMAT);
        check(LOG_FORMAT);
        check(HOST);
        check(CHECK);
        check(SWITCH);
        check(ESCALATION);
        check(NUDGES);
    }
}
