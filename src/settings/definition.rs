//! What the table of settings consists of, and what `settings!` makes of it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use chrono::TimeDelta;
use chrono_tz::Tz;
use clap::builder::PathBufValueParser;

use crate::conclusion::{Failure, config};
use crate::parse::{self, Choice, Entry, List, LogFormat};
use crate::report::Format;
use crate::rules::{After, Escalation, Kind};
use crate::schedule::CronPattern;
use crate::store::Durable;
use crate::store::connect::open::StatementCache;
use crate::store::hosts::links::HostUrl;
use crate::store::work::candidates::Shard;
use crate::store::work::outbox::Event;
use crate::sweep::KindMode;

/// What the names of all variables begin with.
pub const PREFIX: &str = "SWEEP_";

/// Settings that belong together: a section of docs/settings.md.
pub struct Group {
    pub title: &'static str,
    /// What docs/settings.md says below the title.
    pub intro: String,
    pub settings: Vec<Known>,
}

/// One setting that sweep knows.
pub struct Known {
    /// As in `SWEEP_…`, in lower case.
    pub name: &'static str,
    /// As one would write it; empty: none.
    pub default: String,
    /// May be kept in a file of its own, which the variable of the same name and `_FILE` names: it holds a secret, or
    /// names who gets one.
    pub is_secret: bool,
    /// Its first paragraph is the line in `--help`.
    doc: String,
}

impl Known {
    pub fn new(name: &'static str, doc: &[&str], default: &[String]) -> Known {
        Known { name, default: default.concat(), is_secret: false, doc: paragraphs(doc) }
    }

    pub fn secret(name: &'static str, doc: &[&str]) -> Known {
        Known { is_secret: true, ..Known::new(name, doc, &[]) }
    }

    /// Its name in the environment.
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.name.to_uppercase())
    }

    /// The line of `-h` and `--help`.
    pub fn help(&self) -> String {
        let (line, _) = self.parts();
        if self.default.is_empty() { line.to_owned() } else { format!("{line} [default: {}]", self.default) }
    }

    /// The line and what else there is to know.
    pub fn long_help(&self) -> String {
        let (_, rest) = self.parts();
        if rest.is_empty() { self.help() } else { format!("{}\n\n{rest}", self.help()) }
    }

    /// In whole sentences, on one line.
    pub fn meaning(&self) -> String {
        let (line, rest) = self.parts();
        format!("{line}. {}", rest.replace("\n\n", " ")).trim_end().to_owned()
    }

    fn parts(&self) -> (&str, &str) {
        self.doc.split_once("\n\n").unwrap_or((&self.doc, ""))
    }
}

/// The lines of a doc comment, each paragraph on one line.
pub fn paragraphs(lines: &[&str]) -> String {
    let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n");
    text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n")
}

/// The group has a heading of its own in `--help`, and is left out of `-h`.
pub fn heading(title: &'static str) -> Option<&'static str> {
    Some(title)
}

/// The group stands among the options that a command has first.
pub fn plain(_title: &'static str) -> Option<&'static str> {
    None
}

/// Makes of the table
/// - for each group of `options` a struct of clap's flags, with `or` (what no flag gives comes from a variable) and
///   `apply` (what was given goes into the engine's options);
/// - `Variables`, which envy reads, with a method for each that reads its value;
/// - `GROUPS`: what there is to know of each setting.
///
/// A row is a name, its type, the unit in `--help`, its parser, and `=>` where it goes in the engine's options. What
/// stands there when nothing is set is the default. For a setting that is handled by hand the default stands behind
/// `or`.
macro_rules! settings {
    (
        options {$(
            $(#[doc = $intro:literal])*
            $group:ident, $place:ident $title:tt {
                $(let $target:ident: $engine:ty = $defaults:expr;)?
                $(
                    $(#[doc = $doc:literal])+
                    $(#[arg($($arg:tt)+)])?
                    $name:ident: $type:ty, $unit:literal, $parser:expr $(=> $field:expr)? $(, or $default:expr)?;
                )+
            }
        )+}
        variables {$(
            $variables_title:tt {$(
                $(#[doc = $variable_doc:literal])+
                $variable:ident: $variable_type:ty, $variable_parser:expr $(, or $variable_default:expr)?;
            )+}
        )+}
        secrets {$(
            $(#[doc = $secrets_intro:literal])*
            $secrets_title:literal {$(
                $(#[doc = $secret_doc:literal])+
                $secret:ident;
            )+}
        )+}
    ) => {
        $(
            #[derive(Clone, Debug, Default, clap::Args)]
            pub struct $group {$(
                #[arg(
                    long,
                    value_name = $unit,
                    value_parser = $parser,
                    allow_hyphen_values = true,
                    hide_possible_values = true,
                    help_heading = $place($title),
                    help = known(stringify!($name)).help(),
                    long_help = known(stringify!($name)).long_help(),
                    $($($arg)+)?
                )]
                pub $name: Option<$type>,
            )+}

            impl $group {
                /// What no flag gives comes from a variable.
                pub fn or(mut self, variables: &Variables) -> Result<$group> {
                    $(if self.$name.is_none() {
                        self.$name = variables.$name()?;
                    })+
                    Ok(self)
                }

                /// What was given goes into the engine's options.
                pub fn apply(self $(, $target: &mut $engine)?) {
                    $($(if let Some(value) = self.$name {
                        $field = value.into();
                    })?)+
                }
            }
        )+

        /// The variables, as strings: an error of envy's own would not name the variable.
        #[derive(Debug, Default, serde::Deserialize)]
        pub struct Variables {
            $($($name: Option<String>,)+)+
            $($($variable: Option<String>,)+)+
        }

        impl Variables {
            $($(pub fn $name(&self) -> Result<Option<$type>> {
                read(stringify!($name), self.$name.as_deref(), &$parser)
            })+)+
            $($(pub fn $variable(&self) -> Result<Option<$variable_type>> {
                read(stringify!($variable), self.$variable.as_deref(), &$variable_parser)
            })+)+
        }

        pub static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| vec![
            $({
                $(let $target: &mut $engine = &mut $defaults;)?
                let settings = vec![$(Known::new(
                    stringify!($name), &[$($doc),+], &[$($field.written(),)? $($default.written(),)?],
                )),+];
                Group { title: $title, intro: paragraphs(&[$($intro),*]), settings }
            },)+
            $(Group { title: $variables_title, intro: String::new(), settings: vec![$(Known::new(
                stringify!($variable), &[$($variable_doc),+], &[$($variable_default.written(),)?],
            )),+] },)+
            $(Group { title: $secrets_title, intro: paragraphs(&[$($secrets_intro),*]), settings: vec![
                $(Known::secret(stringify!($secret), &[$($secret_doc),+])),+
            ] },)+
        ]);
    };
}
pub(super) use settings;

/// What reads a variable, as clap reads the flag.
pub trait Parser<T> {
    fn read(&self, text: &str) -> Result<T, String>;
}

impl<T, F: Fn(&str) -> Result<T, String>> Parser<T> for F {
    fn read(&self, text: &str) -> Result<T, String> {
        self(text)
    }
}

impl<T: Copy> Parser<T> for Choice<T> {
    fn read(&self, text: &str) -> Result<T, String> {
        self.parse(text)
    }
}

/// Several, with commas between them.
impl<T: Copy> Parser<Vec<Entry<T>>> for List<T> {
    fn read(&self, text: &str) -> Result<Vec<Entry<T>>, String> {
        text.split(',').map(|name| self.parse(name)).collect()
    }
}

impl Parser<PathBuf> for PathBufValueParser {
    fn read(&self, text: &str) -> Result<PathBuf, String> {
        Ok(PathBuf::from(text))
    }
}

pub fn read<T>(name: &str, value: Option<&str>, parser: &impl Parser<T>) -> Result<Option<T>> {
    let refuse = |value, why| malformed(name, value, why).into();
    value.map(|value| parser.read(value).map_err(|why| refuse(value, why))).transpose()
}

fn malformed(name: &str, value: &str, why: String) -> Failure {
    config(format!("{PREFIX}{}: “{value}”: {why}", name.to_uppercase()))
}

/// A value as one would write it; empty: none.
pub trait Written {
    fn written(&self) -> String;
}

macro_rules! written {
    ($($type:ty: $written:expr),+ $(,)?) => {
        $(impl Written for $type {
            fn written(&self) -> String {
                let written: fn(&$type) -> String = $written;
                written(self)
            }
        })+
    };
}
written! {
    TimeDelta: |time| time.to_std().unwrap_or_default().written(),
    Duration: |time| humantime::format_duration(*time).to_string(),
    After: |after| match after {
        After::Off => "off".to_owned(),
        After::Time(time) => time.written(),
    },
    u32: u32::to_string,
    f64: f64::to_string,
    str: str::to_owned,
    String: String::clone,
    std::net::SocketAddr: ToString::to_string,
    Tz: ToString::to_string,
    CronPattern: ToString::to_string,
    HostUrl: |url| url.as_str().to_owned(),
    Shard: |shard| format!("{}/{}", shard.index, shard.count),
    Event: |event| event.name().to_owned(),
    bool: |is_on| parse::SWITCH.name(*is_on).to_owned(),
    Kind: |kind| parse::KINDS.name(*kind).to_owned(),
    KindMode: |mode| parse::KIND_MODE.name(*mode).to_owned(),
    Format: |format| parse::FORMAT.name(*format).to_owned(),
    LogFormat: |format| parse::LOG_FORMAT.name(*format).to_owned(),
    StatementCache: |cache| parse::STATEMENT_CACHE.name(*cache).to_owned(),
    Durable: |durable| parse::DURABLE.name(*durable).to_owned(),
    Escalation: |escalation| parse::ESCALATION.name(*escalation).to_owned(),
}

impl<T: Written> Written for Option<T> {
    fn written(&self) -> String {
        self.as_ref().map(T::written).unwrap_or_default()
    }
}

impl<T: Written> Written for [T] {
    fn written(&self) -> String {
        self.iter().map(T::written).collect::<Vec<_>>().join(",")
    }
}
