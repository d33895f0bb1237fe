//! The metrics, in Prometheus' text format: one text for node_exporter's textfile and for the daemon's /metrics. Each
//! has its name here, what it means, its labels and its values.
//!
//! docs/metrics.md says what each means. All but the daemon's own are read from the database, so that every process
//! says the same.

use std::collections::BTreeMap;
use std::fmt::Result;
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Error;
use chrono::{DateTime, Utc};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, GaugeValueEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use tempfile::NamedTempFile;
use tracing::warn;

use crate::rules::Kind;
use crate::store::connect::databases::Found;
use crate::store::read::metrics::{LastSweep, Outbox, Reading};
use crate::store::work::ledger::{Action, SweepEnd};
use crate::store::work::outbox::Destination;
use crate::store::work::surroundings::StuckWakes;
use crate::sweep::Outcome;
use crate::text::redact;

/// The media type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All that is known of each database that answered, and what the daemon knows by itself.
pub fn text(readings: Vec<(Option<String>, Reading)>, daemon: Option<DaemonState>) -> String {
    let mut registry = Registry::with_prefix("sweep");
    registry.register_collector(Box::new(Families { readings, daemon }));
    let mut text = String::new();
    // Without OpenMetrics' end mark: what Prometheus and node_exporter read is the older format.
    encode_registry(&mut text, &registry).expect("a String takes everything");
    text
}

/// The mode of the file: node_exporter runs as another user.
const MODE: u32 = 0o644;

/// Writes for node_exporter what the databases say now, each by its short name. What fails is logged; when none of them
/// answers, the old file stays: its age shows it.
pub fn publish(path: &Path, read: impl Iterator<Item = (Option<String>, anyhow::Result<Reading>)>) {
    let warn = |error: &Error| {
        let (path, why) = (redact(&path.to_string_lossy()), redact(&format!("{error:#}")));
        warn!("the metrics could not be written to {path}: {why}");
    };
    let readings: Vec<_> = read.filter_map(|(name, read)| Some((name, read.inspect_err(warn).ok()?))).collect();
    if !readings.is_empty()
        && let Err(error) = write(path, &text(readings, None))
    {
        warn(&error.into());
    }
}

/// Why nothing could ever be written to this path.
pub fn refuse_path(path: &Path) -> std::result::Result<(), String> {
    let shown = path.display();
    match directory(path) {
        directory if !directory.is_dir() => Err(format!("{shown}: there is no directory {}", directory.display())),
        // A directory or a device would be replaced.
        _ if (path.exists() && !path.is_file()) || path.file_name().is_none() => {
            Err(format!("{shown}: expected the name of a file"))
        }
        _ => Ok(()),
    }
}

/// Replaces the file in one step: who reads at the same time finds the old one or the new one.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(directory(path))?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(Permissions::from_mode(MODE))?;
    file.persist(path)?;
    Ok(())
}

fn directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

/// What only the daemon knows; its counters begin with the process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DaemonState {
    /// Sweeps by how they ended.
    pub completed: u64,
    pub failed: u64,
    pub interrupted: u64,
    pub next_sweep_at: Option<DateTime<Utc>>,
    pub databases: Vec<DatabaseState>,
    /// For how long a sweep has made no progress that is taken to hang.
    pub hung_for: Option<Duration>,
    /// How many ends of runs the daemon heard of.
    pub run_ends: u64,
}

/// One database that the daemon sweeps.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseState {
    pub found: Found,
    pub condition: Condition,
    /// Does the daemon hear of ends of runs there?
    pub is_listening: bool,
}

/// How a database stood at the last sweep or look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The database was not yet looked at.
    Unknown,
    Up,
    Gone,
    /// Rights, schema or settings are wrong.
    Refuses,
}

/// What there is to measure.
#[derive(Debug)]
struct Families {
    /// What was read of each database; if there are several, with its name.
    readings: Vec<(Option<String>, Reading)>,
    daemon: Option<DaemonState>,
}

impl Collector for Families {
    fn encode(&self, encoder: DescriptorEncoder) -> Result {
        let mut page = Exposition::default();
        let version = [([env!("CARGO_PKG_VERSION")], 1_i64)];
        page.family("build_info", "The version of this sweep; the value is 1", ["version"], version);
        for (name, reading) in &self.readings {
            page.database = name.clone();
            page.reading(reading);
        }
        page.database = None;
        self.daemon.iter().for_each(|daemon| page.daemon(daemon));
        page.encode(encoder)
    }
}

/// Families of metrics, in the order in which they came first.
#[derive(Default)]
struct Exposition {
    families: Vec<Family>,
    /// The label of all values that follow, if there are several databases.
    database: Option<String>,
}

struct Family {
    name: &'static str,
    help: &'static str,
    values: Vec<(Labels, MetricValue)>,
}

type Labels = Vec<(&'static str, String)>;

/// The value of a metric: whole numbers stay whole.
struct MetricValue(Box<dyn EncodeGaugeValue>);

impl EncodeGaugeValue for MetricValue {
    fn encode(&self, encoder: &mut GaugeValueEncoder) -> Result {
        self.0.encode(encoder)
    }
}

/// Left undone, and to do for the next sweep.
const BACKLOG: [Outcome; 4] = [Outcome::Deferred, Outcome::Busy, Outcome::Failed, Outcome::Unknown];

impl Exposition {
    fn reading(&mut self, reading: &Reading) {
        // Destructured so that nothing that was read can be forgotten.
        let Reading {
            read_at,
            kinds,
            last_success_at,
            last_sweep,
            work,
            quarantined,
            recoveries,
            false_rescues,
            waiting,
            handed_over,
            stuck_wakes,
            outbox,
        } = reading;
        let help =
            "End of the latest sweep of everything that did all it had to, all its shards included; absent: never";
        self.value("last_success_timestamp_seconds", help, last_success_at.map(seconds));
        last_sweep.iter().for_each(|last_sweep| self.last_sweep(last_sweep));
        let states =
            work.iter().flat_map(|(kind, states)| states.iter().map(|(state, n)| ([kind.name(), state.name()], *n)));
        let help = "Subjects that are in progress, or that an escalation blocked, by their state now";
        self.family("work_subjects", help, ["kind", "state"], states);
        let of =
            |counts: &BTreeMap<String, i64>, kind: Kind| Some(counts.get(kind.name()).copied().unwrap_or_default());
        let help = "Subjects that sweeps no longer examine, since they failed again and again";
        self.by_kind("quarantined_subjects", help, kinds, |kind| of(quarantined, kind));
        let recorded = |kind: Kind, action: Action| recoveries.get(kind.name())?.get(action.name()).copied();
        let recoveries = kinds.iter().flat_map(|kind| {
            let actions = Action::ALL.iter();
            actions.map(|action| ([kind.name(), action.name()], recorded(*kind, *action).unwrap_or_default()))
        });
        let help = "What the ledger has ever recorded: continuations, escalations, recoveries and handovers";
        self.family("recoveries_total", help, ["kind", "action"], recoveries);
        let help = "Continuations of the last 7 days where a run was live after all";
        self.value("false_rescues_last_week", help, Some(*false_rescues));
        let wait = |action: Action, kind: Kind| waiting.get(action.name())?.get(kind.name()).copied();
        let subjects = |action: Action, kind: Kind| Some(wait(action, kind).unwrap_or_default().subjects);
        let oldest = |action: Action, kind: Kind| wait(action, kind)?.oldest_at.map(seconds);
        let help = "Subjects that were escalated and that nobody has answered";
        self.by_kind("waiting_for_person_subjects", help, kinds, |kind| subjects(Action::Escalate, kind));
        let known = "Since when people have known of the oldest of them; absent: none";
        self.by_kind("waiting_for_person_oldest_timestamp_seconds", known, kinds, |kind| {
            oldest(Action::Escalate, kind)
        });
        let help = "Subjects whose agent is gone or cannot be woken for long, by what people were notified of";
        self.by_kind("abandoned_subjects", help, kinds, |kind| subjects(Action::Abandon, kind));
        self.by_kind("abandoned_oldest_timestamp_seconds", known, kinds, |kind| oldest(Action::Abandon, kind));
        let help = "Subjects that their host or a person took over in the last 7 days, after sweep had done something \
                    about them";
        self.by_kind("handed_over_last_week", help, kinds, |kind| of(handed_over, kind));
        self.stuck_wakes(stuck_wakes);
        self.outbox(outbox);
        let help = "When these were read, by the database's clock";
        self.value("metrics_read_timestamp_seconds", help, Some(seconds(*read_at)));
    }

    fn last_sweep(&mut self, sweep: &LastSweep) {
        let LastSweep { ended_at, took, exit_code, kinds: swept } = sweep;
        let kinds: &Vec<Kind> = &swept.keys().copied().collect();
        let help = "End of the latest sweep of everything, however it ended";
        self.value("last_sweep_timestamp_seconds", help, ended_at.map(seconds));
        let help = "How long it took; of one in shards, the longest of them";
        let took = took.map(|took| took.num_milliseconds() as f64 / 1000.0);
        self.value("last_sweep_duration_seconds", help, took);
        let help = "Its exit code; of one in shards, one that is no success if there is any";
        self.value("last_sweep_exit_code", help, exit_code.map(i64::from));
        let subjects = swept.iter().flat_map(|(kind, swept)| {
            let outcomes = Outcome::ALL.iter();
            outcomes.map(|outcome| ([kind.name(), outcome.name()], swept.tally.of(*outcome)))
        });
        self.family("last_sweep_subjects", "Subjects by what became of them in it", ["kind", "outcome"], subjects);
        let help = "1: the guard left this kind alone, or a part of it, since too much of it looked stranded";
        self.by_kind("last_sweep_guarded", help, kinds, |kind| Some(i64::from(swept[&kind].guarded)));
        let help = "Subjects that it left undone: deferred, busy, failed or unknown";
        self.by_kind("backlog_subjects", help, kinds, |kind| {
            Some(BACKLOG.map(|outcome| swept[&kind].tally.of(outcome)).into_iter().fold(0, u64::saturating_add))
        });
        let help = "Since when the oldest of those that it deferred has been idle; absent: none";
        self.by_kind("backlog_oldest_timestamp_seconds", help, kinds, |kind| {
            swept[&kind].oldest_deferred_at.map(seconds)
        });
    }

    fn stuck_wakes(&mut self, stuck: &StuckWakes) {
        let StuckWakes { count, oldest_at, none_is_taken } = stuck;
        let help = "Wakes that have been queued for longer than SWEEP_WAKE_STUCK_AFTER and that nobody took up";
        self.value("stuck_wakes", help, Some(*count));
        let help = "Since when the oldest of them has been queued; absent: none";
        self.value("stuck_wakes_oldest_timestamp_seconds", help, oldest_at.map(seconds));
        let help = "1: some are stuck, and no wake at all was taken up for as long";
        self.value("no_wake_taken", help, Some(i64::from(*none_is_taken)));
    }

    fn outbox(&mut self, outbox: &Outbox) {
        let Outbox { pending, dead, oldest_pending_at } = outbox;
        for (name, help, counts) in [
            ("notifications_pending", "Notifications that wait to be delivered", pending),
            ("notifications_dead", "Notifications that were given up", dead),
        ] {
            // Each destination has a value, also while nothing waits for it.
            let destinations = Destination::ALL.iter().map(|to| to.name());
            let values = destinations.map(|to| ([to], counts.get(to).copied().unwrap_or_default()));
            self.family(name, help, ["destination"], values);
        }
        let help = "Since when the oldest of those that wait has waited; absent: none";
        self.value("notifications_oldest_pending_timestamp_seconds", help, oldest_pending_at.map(seconds));
    }

    fn daemon(&mut self, daemon: &DaemonState) {
        let DaemonState { completed, failed, interrupted, next_sweep_at, databases, hung_for, run_ends } = daemon;
        let sweeps =
            [(SweepEnd::Completed, completed), (SweepEnd::Failed, failed), (SweepEnd::Interrupted, interrupted)];
        let sweeps = sweeps.map(|(ended, n)| ([ended.name()], *n));
        self.family("daemon_sweeps_total", "Sweeps of this daemon, by how they ended", ["ended"], sweeps);
        self.value("daemon_next_sweep_timestamp_seconds", "When the next sweep is due", next_sweep_at.map(seconds));
        let is_hung = Some(i64::from(hung_for.is_some()));
        self.value("daemon_hung", "1: a sweep is under way and makes no progress", is_hung);
        for DatabaseState { found, condition, is_listening } in databases {
            self.database = found.short_name.clone();
            let is_up = Some(i64::from(*condition == Condition::Up));
            self.value("daemon_database_up", "1: the database answered when it was last asked", is_up);
            self.value("daemon_listening", "1: ends of runs are heard of", Some(i64::from(*is_listening)));
        }
        self.database = None;
        self.value("daemon_run_ends_total", "Ends of runs that this daemon heard of", Some(*run_ends));
    }

    /// Adds a value without labels, if there is one.
    fn value(&mut self, name: &'static str, help: &'static str, value: Option<impl EncodeGaugeValue + 'static>) {
        self.family(name, help, [], value.map(|value| ([], value)));
    }

    /// Adds a value for each of these kinds that has one.
    fn by_kind<V: EncodeGaugeValue + 'static>(
        &mut self,
        name: &'static str,
        help: &'static str,
        kinds: &[Kind],
        value: impl Fn(Kind) -> Option<V>,
    ) {
        self.family(name, help, ["kind"], kinds.iter().filter_map(|kind| Some(([kind.name()], value(*kind)?))));
    }

    fn family<'v, const N: usize, V: EncodeGaugeValue + 'static>(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: [&'static str; N],
        values: impl IntoIterator<Item = ([&'v str; N], V)>,
    ) {
        let database: Labels = self.database.iter().map(|name| ("database", name.clone())).collect();
        let values = values.into_iter().map(|(these, value)| {
            let labelled = labels.into_iter().zip(these.map(str::to_owned));
            (database.iter().cloned().chain(labelled).collect(), MetricValue(Box::new(value)))
        });
        match self.families.iter_mut().find(|family| family.name == name) {
            Some(family) => family.values.extend(values),
            None => self.families.push(Family { name, help, values: values.collect() }),
        }
    }

    /// Every value is written as a gauge's, also a counter's: OpenMetrics would leave `_total` out of the name of its
    /// type, and the older format knows a counter only by the name of its values.
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result {
        for Family { name, help, values } in self.families.iter().filter(|family| !family.values.is_empty()) {
            let is_counter = name.rsplit('_').next() == Some("total");
            let of = if is_counter { MetricType::Counter } else { MetricType::Gauge };
            let mut family = encoder.encode_descriptor(name, help, None, of)?;
            values.iter().try_for_each(|(labels, value)| match labels.as_slice() {
                [] => family.encode_gauge(value),
                labels => family.encode_family(&labels)?.encode_gauge(value),
            })?;
        }
        Ok(())
    }
}

fn seconds(at: DateTime<Utc>) -> f64 {
    at.timestamp_millis() as f64 / 1000.0
}
