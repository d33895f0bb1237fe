//! Values of which there are few: shells complete them.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

use crate::parse;
use crate::report::Format;
use crate::rules::{Escalation, Kind};
use crate::store::hosts::Host;
use crate::store::open::StatementCache;
use crate::supervisor::record::Nudges;
use crate::sweep::KindMode;

pub const KIND: OneOf<Kind> = OneOf(parse::kind_of_one, &["session", "issue", "step"]);
pub const KINDS: OneOf<Kind> = OneOf(parse::kind, &["sessions", "issues", "steps"]);
pub const KIND_MODE: OneOf<KindMode> = OneOf(parse::kind_mode, &["on", "shadow", "off"]);
pub const FORMAT: OneOf<Format> = OneOf(parse::format, &["table", "json", "ndjson"]);
pub const HOST: OneOf<Host> = OneOf(parse::host, &["native", "paperclip"]);
pub const SWITCH: OneOf<bool> = OneOf(parse::switch, &["on", "off"]);
pub const STATEMENT_CACHE: OneOf<StatementCache> = OneOf(parse::statement_cache, &["on", "off"]);
pub const ESCALATION: OneOf<Escalation> = OneOf(parse::escalation, &["comment_and_block", "comment_only"]);
pub const NUDGES: OneOf<Nudges> = OneOf(parse::nudges, &["idle", "off"]);

/// How such a value is read, and all that it may be.
#[derive(Clone)]
pub struct OneOf<T: 'static>(fn(&str) -> Result<T, String>, &'static [&'static str]);

impl<T: Clone + Send + Sync + 'static> TypedValueParser for OneOf<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        self.0.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.1.iter().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_completes_is_accepted() {
        fn check<T>(OneOf(parse, names): OneOf<T>) {
            assert!(names.iter().all(|name| parse(name).is_ok()), "{names:?}");
        }
        check(KIND);
        check(KINDS);
        check(KIND_MODE);
        check(FORMAT);
        check(HOST);
        check(SWITCH);
        check(STATEMENT_CACHE);
        check(ESCALATION);
        check(NUDGES);
    }
}
