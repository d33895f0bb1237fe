//! Logs: on stderr, as text or JSON. At a terminal the report says it all, so only what went wrong, or is wrong with
//! the settings, is logged there, and where one stream has both, as in `sweep 2>&1 | tee`. systemd's journal has a time
//! and a priority for each line: there no line has a time of its own, and each begins with its priority, as
//! sd-daemon(3) has it.
//!
//! Where OTEL_EXPORTER_OTLP_ENDPOINT is set, `otlp` sends logs and spans to a collector.

#[cfg(feature = "otlp")]
mod otlp;

use std::fmt::{self, Debug};
use std::io::{self, IsTerminal, Write, stderr, stdout};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use rustix::fs::fstat;
use tracing::field::Field;
use tracing::{Event, Level, Subscriber, error, warn};
use tracing_subscriber::filter::{Directive, LevelFilter};
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt as logs};

use crate::conclusion::config;
use crate::parse::LogFormat;
use crate::settings::Environment;
use crate::settings::resolve::log;
use crate::settings::table::LOG;
use crate::sweep::logs::SPANS;
use crate::text::redact;

/// The reader of the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Reads the report as well.
    Person,
    /// There is nothing else to read.
    Log,
    /// A program that reads the answers, and shows what is logged when something is wrong.
    Client,
}

/// How much is logged: -q and -v win over SWEEP_LOG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loudness {
    Quiet,
    Usual,
    /// Louder by this number of steps.
    More(u8),
}

impl Loudness {
    pub fn of(quiet: bool, verbose: u8) -> Loudness {
        match (quiet, verbose) {
            (true, _) => Loudness::Quiet,
            (false, 0) => Loudness::Usual,
            (false, steps) => Loudness::More(steps),
        }
    }
}

impl Audience {
    pub fn of_stderr() -> Audience {
        if stderr().is_terminal() { Audience::Person } else { Audience::Log }
    }
}

/// Do stdout and stderr go to one place, such as one pipe? systemd's journal keeps the lines of a log apart.
pub fn are_one_stream(environment: &Environment) -> bool {
    let place = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
    let [out, err] = [fstat(stdout()).map(place), fstat(stderr()).map(place)];
    out.is_ok() && out.ok() == err.ok() && !is_journal(environment)
}

/// Can logs be as SWEEP_LOG and SWEEP_LOG_FORMAT say?
pub fn check(environment: &Environment) -> Result<()> {
    let (filter, _) = log(environment)?;
    parse(filter.as_deref().unwrap_or(LOG)).map(drop)
}

/// Targets that say more than is of use, and how much of it is logged unless a filter names them: the scheduler logs
/// each job that it takes, and the protocol's library each message, with all that is in it; spans are for a collector.
const QUIETED: [(&str, LevelFilter); 3] =
    [("tokio_cron_scheduler", LevelFilter::WARN), ("rmcp", LevelFilter::ERROR), (SPANS, LevelFilter::OFF)];

fn parse(filter: &str) -> Result<EnvFilter> {
    let refuse = |_| config(format!("SWEEP_LOG: “{filter}”: expected a filter such as warn or sweep=debug"));
    let directives = EnvFilter::try_new(filter).map_err(refuse)?;
    let is_talkative = |level: &LevelFilter| directives.max_level_hint().is_none_or(|hint| *level < hint);
    let quieted = QUIETED.iter().filter(|(name, level)| is_talkative(level) && !filter.contains(name));
    let quieted: Vec<Directive> =
        quieted.map(|(name, level)| format!("{name}={level}").parse()).collect::<Result<_, _>>()?;
    Ok(quieted.into_iter().fold(directives, EnvFilter::add_directive))
}

/// Starts logging as SWEEP_LOG (a filter such as `info` or `sweep=debug`) and SWEEP_LOG_FORMAT say.
pub fn start(environment: &Environment, audience: Audience, loudness: Loudness) -> Result<()> {
    let (filter, format) = log(environment)?;
    let filter = if loudness == Loudness::Usual { filter } else { None };
    let default = match (loudness, audience) {
        // What is wrong with the settings, the report does not say.
        (Loudness::Usual, Audience::Person) => "error,sweep::settings=warn",
        // What would be done about each subject stands in the answer.
        (Loudness::Usual, Audience::Client) => "warn,sweep::sweep=error",
        (Loudness::Usual, Audience::Log) | (Loudness::More(1), Audience::Person | Audience::Client) => LOG,
        (Loudness::More(_), _) => "debug",
        (Loudness::Quiet, _) => "error",
    };
    let (exported, unexported) = match export(environment, filter.as_deref().unwrap_or(LOG)) {
        Ok(layers) => (layers, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let printed = printed(environment, format).with_filter(parse(filter.as_deref().unwrap_or(default))?).boxed();
    let _ = tracing_subscriber::registry().with(exported.into_iter().chain([printed]).collect::<Vec<_>>()).try_init();
    if let Some(why) = unexported {
        warn!("no traces and logs are sent by OTLP: {why:#}");
    }
    // A panic is a line like all others.
    std::panic::set_hook(Box::new(|panic| error!("{}", redact(&panic.to_string()))));
    Ok(())
}

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// The logs on stderr.
fn printed(environment: &Environment, format: LogFormat) -> BoxedLayer {
    let logs = logs::layer()
        .with_writer(Held::default)
        // When nobody reads the logs any more, they are lost; a message about that would have nowhere to go either.
        .log_internal_errors(false)
        .with_ansi(stderr().is_terminal());
    match (format, is_journal(environment)) {
        (LogFormat::Text, false) => logs.fmt_fields(debug_fn(for_people)).with_target(false).boxed(),
        (LogFormat::Text, true) => {
            let logs = logs.fmt_fields(debug_fn(for_people)).with_target(false).without_time();
            logs.map_event_format(Prioritised).boxed()
        }
        (LogFormat::Json, false) => logs.json().flatten_event(true).boxed(),
        (LogFormat::Json, true) => logs.json().flatten_event(true).without_time().map_event_format(Prioritised).boxed(),
    }
}

/// What is sent to a collector, if the environment names one: `filter` says which logs.
fn export(environment: &Environment, filter: &str) -> Result<Vec<BoxedLayer>> {
    let is_wanted = environment.otel("EXPORTER_OTLP_ENDPOINT").is_some()
        && environment.otel("SDK_DISABLED").is_none_or(|disabled| !disabled.eq_ignore_ascii_case("true"));
    if !is_wanted {
        return Ok(Vec::new());
    }
    #[cfg(feature = "otlp")]
    return otlp::layers(environment, parse(filter)?);
    #[cfg(not(feature = "otlp"))]
    anyhow::bail!("this program was built without it (cargo's feature otlp; filter {filter})");
}

/// Sends what a collector has not got yet.
pub fn finish() {
    #[cfg(feature = "otlp")]
    otlp::finish();
}

/// In a text the sentence says these, or all lines have them alike.
const FOR_PROGRAMS: [&str; 6] = ["sweep", "host", "mode", "finding", "decision", "outcome"];

/// A field in a text: the sentence is the first.
fn for_people(writer: &mut Writer, field: &Field, value: &dyn Debug) -> fmt::Result {
    match field.name() {
        "message" | "database_name" => write!(writer, "{value:?}"),
        name if FOR_PROGRAMS.contains(&name) => Ok(()),
        name => write!(writer, " {name}={value:?}"),
    }
}

/// Is stderr systemd's journal? A process that redirected it has inherited the variable all the same.
fn is_journal(environment: &Environment) -> bool {
    let journal = environment.journal_stream();
    fstat(stderr()).is_ok_and(|stat| journal == Some(&format!("{}:{}", stat.st_dev, stat.st_ino)))
}

/// What an error begins with that is no log.
pub fn mark_of_errors(environment: &Environment) -> &'static str {
    if is_journal(environment) { priority(Level::ERROR) } else { "" }
}

/// How much a line matters to the journal: `<3>` is an error.
fn priority(level: Level) -> &'static str {
    match level {
        Level::ERROR => "<3>",
        Level::WARN => "<4>",
        Level::INFO => "<6>",
        _ => "<7>",
    }
}

/// Each line behind its priority.
struct Prioritised<F>(F);

impl<S, N, F> FormatEvent<S, N> for Prioritised<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(&self, context: &FmtContext<S, N>, mut writer: Writer, event: &Event) -> fmt::Result {
        writer.write_str(priority(*event.metadata().level()))?;
        self.0.format_event(context, writer, event)
    }
}

/// What is logged while it is held; none: it is not.
static HELD: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// Bytes of it; what is logged first stays.
const HELD_MAX: usize = 64 << 10;

/// Nothing is logged to stderr from now on: a full-screen program has the terminal.
pub fn hold() {
    held().get_or_insert_default();
}

/// What was held is logged now, and all that follows at once.
pub fn release() {
    let logs = held().take().unwrap_or_default();
    let _ = stderr().write_all(&logs);
}

fn held() -> MutexGuard<'static, Option<Vec<u8>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stderr, unless logs are held.
#[derive(Default)]
struct Held;

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match held().as_mut() {
            Some(logs) if logs.len() + bytes.len() <= HELD_MAX => logs.extend_from_slice(bytes),
            Some(_) => {}
            None => return stderr().write(bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        stderr().flush()
    }
}
