//! What the table of settings consists of, and what `settings!` makes of it.

use chrono::TimeDelta;
use chrono_tz::Tz;

use crate::parse::{self, Choice, List, ListEntry, LogFormat};
use crate::rules::{After, Escalation};
use crate::schedule::CronPattern;
use crate::store::connect::listen::ListenMode;
use crate::store::work::candidates::Shard;
use crate::store::work::outbox::Event;
use crate::sweep::KindMode;

/// What the names of all variables begin with.
pub const PREFIX: &str = "SWEEP_";

/// The variable of the setting of this name.
pub fn variable(setting: &str) -> String {
    format!("{PREFIX}{}", setting.to_uppercase())
}

/// True if it is called as a setting of sweep's is.
pub fn is_of_sweep(name: &str) -> bool {
    let is_word = |rest: &str| rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    ["DATABASE_URL", "DATABASE_URL_FILE"].contains(&name) || name.strip_prefix(PREFIX).is_some_and(is_word)
}

/// Settings that belong together: a section of docs/settings.md.
pub struct Group {
    pub title: &'static str,
    /// What docs/settings.md says below the title.
    pub intro: String,
    pub settings: Vec<KnownSetting>,
}

/// One setting that sweep knows.
pub struct KnownSetting {
    /// As in `SWEEP_…`, in lower case.
    pub name: &'static str,
    /// As one would write it; empty: none.
    pub default: String,
    /// May be kept in a file of its own, which the variable of the same name and `_FILE` names: it holds a secret, or
    /// names who gets one.
    pub is_secret: bool,
    /// Refuses a value that cannot be used, with what is expected in its place.
    pub check: fn(&str) -> Result<(), String>,
    /// The values of a setting that has few; shells complete them.
    pub choices: fn() -> Vec<&'static str>,
    /// Its first paragraph is the line in `--help`.
    pub(super) doc: String,
}

impl KnownSetting {
    pub fn new(name: &'static str, doc: &[&str], default: String) -> KnownSetting {
        KnownSetting { name, default, is_secret: false, check: |_| Ok(()), choices: Vec::new, doc: paragraphs(doc) }
    }

    pub fn secret(name: &'static str, doc: &[&str]) -> KnownSetting {
        KnownSetting { is_secret: true, ..KnownSetting::new(name, doc, String::new()) }
    }

    /// Its name in the environment.
    pub fn variable(&self) -> String {
        variable(self.name)
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

    /// Gives the setting this value, if it can be used.
    pub fn assign(&self, value: &str) -> Result<Assignment, String> {
        (self.check)(value)?;
        Ok(Assignment { name: self.name, value: value.to_owned() })
    }

    fn parts(&self) -> (&str, &str) {
        self.doc.split_once("\n\n").unwrap_or((&self.doc, ""))
    }
}

/// A setting of the table, with a value that its parser takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub name: &'static str,
    pub value: String,
}

/// The lines of a doc comment, each paragraph on one line.
pub fn paragraphs(lines: &[&str]) -> String {
    let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n");
    text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n")
}

/// Makes of the table
/// - for each setting a function of its name, which reads it from an environment;
/// - for each group of `engine` the function that puts what is set into the engine's options;
/// - `GROUPS`: what there is to know of each setting.
///
/// A row is a name, its type, its parser, and `=>` where it goes in the engine's options. What stands there when
/// nothing is set is the default. For a setting that is handled by hand the default stands behind `or`.
macro_rules! settings {
    (
        engine {$(
            $(#[doc = $intro:literal])*
            $title:literal, $apply:ident($target:ident: $engine:ty = $defaults:expr) {$(
                $(#[doc = $doc:literal])+
                $name:ident: $type:ty, $parser:expr => $field:expr;
            )+}
        )+}
        by_hand {$(
            $by_hand_title:literal {$(
                $(#[doc = $by_hand_doc:literal])+
                $by_hand:ident: $by_hand_type:ty, $by_hand_parser:expr $(, or $default:expr)?;
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
            $(pub fn $name(environment: &Environment) -> Result<Option<$type>> {
                environment.read(stringify!($name), &$parser)
            })+

            pub fn $apply(environment: &Environment, $target: &mut $engine) -> Result<()> {
                $(if let Some(value) = $name(environment)? {
                    $field = value.into();
                })+
                Ok(())
            }
        )+
        $($(pub fn $by_hand(environment: &Environment) -> Result<Option<$by_hand_type>> {
            environment.read(stringify!($by_hand), &$by_hand_parser)
        })+)+

        pub static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| vec![
            $({
                let $target: &mut $engine = &mut $defaults;
                let settings = vec![$(KnownSetting {
                    check: |text| Parser::<$type>::read(&$parser, text).map(drop),
                    choices: || Parser::<$type>::choices(&$parser),
                    ..KnownSetting::new(stringify!($name), &[$($doc),+], $field.written())
                }),+];
                Group { title: $title, intro: paragraphs(&[$($intro),*]), settings }
            },)+
            $(Group { title: $by_hand_title, intro: String::new(), settings: vec![$(KnownSetting {
                check: |text| Parser::<$by_hand_type>::read(&$by_hand_parser, text).map(drop),
                choices: || Parser::<$by_hand_type>::choices(&$by_hand_parser),
                ..KnownSetting::new(
                    stringify!($by_hand), &[$($by_hand_doc),+], Vec::<String>::from([$($default.written())?]).concat(),
                )
            }),+] },)+
            $(Group { title: $secrets_title, intro: paragraphs(&[$($secrets_intro),*]), settings: vec![
                $(KnownSetting::secret(stringify!($secret), &[$($secret_doc),+])),+
            ] },)+
        ]);
    };
}
pub(super) use settings;

/// What reads the text of a setting.
pub trait Parser<T> {
    fn read(&self, text: &str) -> Result<T, String>;

    /// All values that there are, where they are few.
    fn choices(&self) -> Vec<&'static str> {
        Vec::new()
    }
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

    fn choices(&self) -> Vec<&'static str> {
        self.names().collect()
    }
}

/// Several values, with commas between them.
impl<T: Copy> Parser<Vec<ListEntry<T>>> for List<T> {
    fn read(&self, text: &str) -> Result<Vec<ListEntry<T>>, String> {
        text.split(',').map(|name| self.parse(name)).collect()
    }
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
    TimeDelta: |time| written_duration(*time),
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
    Shard: |shard| format!("{}/{}", shard.index, shard.count),
    Event: |event| event.name().to_owned(),
    bool: |is_on| parse::SWITCH.name(*is_on).to_owned(),
    ListenMode: |listening| parse::LISTENING.name(*listening).to_owned(),
    KindMode: |mode| parse::KIND_MODE.name(*mode).to_owned(),
    LogFormat: |format| parse::LOG_FORMAT.name(*format).to_owned(),
    Escalation: |escalation| parse::ESCALATION.name(*escalation).to_owned(),
}

/// `1d 30m`, in the units of the documents: humantime's own words are `1day`, and `1month 14days` for 45 days.
fn written_duration(time: TimeDelta) -> String {
    let (days, rest) = (time.num_days(), time - TimeDelta::days(time.num_days()));
    let rest = (days == 0 || !rest.is_zero()).then(|| humantime::format_duration(rest.to_std().unwrap_or_default()));
    let days = (0 < days).then(|| format!("{days}d"));
    days.into_iter().chain(rest.map(|rest| rest.to_string())).collect::<Vec<_>>().join(" ")
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

#[cfg(test)]
mod tests {
    use super::{TimeDelta, Written};
    use crate::parse::duration;

    #[test]
    fn a_duration_is_written_as_the_documents_write_it_and_read_again() {
        for text in ["0s", "500ms", "90s", "30m", "1h 30m", "1d", "1d 500ms", "45d", "400d 1s"] {
            let time = TimeDelta::from_std(humantime::parse_duration(text).expect("a duration")).expect("a duration");
            let written = time.written();
            assert_eq!(written, text.replace("90s", "1m 30s"));
            assert_eq!(duration(&written).unwrap_or_default(), time, "{text}");
        }
    }
}
