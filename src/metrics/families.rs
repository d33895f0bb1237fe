//! Each metric: its name, what it means, its labels and its values.

use std::fmt::Result;
use std::time::Duration;

use chrono::{DateTime, Utc};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::exposition::{Exposition, seconds};
use crate::rules::Kind;
use crate::store::connect::databases::Found;
use crate::store::read::metrics::{LastSweep, Outbox, Reading, Swept};
use crate::store::work::ledger::{Action, Ended};
use crate::store::work::outbox::Destination;
use crate::store::work::surroundings::StuckWakes;
use crate::sweep::Outcome;

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
pub struct Families {
    /// What was read of each database; if there are several, with its name.
    pub readings: Vec<(Option<String>, Reading)>,
    pub daemon: Option<DaemonState>,
}

/// Left undone, and to do for the next sweep.
const BACKLOG: [Outcome; 4] = [Outcome::Deferred, Outcome::Busy, Outcome::Failed, Outcome::Unknown];

/// The label of a metric by kind.
const KIND: [&str; 1] = ["kind"];

impl Collector for Families {
    fn encode(&self, encoder: DescriptorEncoder) -> Result {
        let mut page = Exposition::default();
        let version = [([env!("CARGO_PKG_VERSION")], 1_i64)];
        page.gauge("build_info", "The version of this sweep; the value is 1", ["version"], version);
        for (name, reading) in &self.readings {
            page.database = name.clone();
            page.reading(reading);
        }
        page.database = None;
        self.daemon.iter().for_each(|daemon| page.daemon(daemon));
        page.encode(encoder)
    }
}

impl Exposition {
    fn reading(&mut self, reading: &Reading) {
        // Destructured so that nothing that was read can be forgotten.
        let Reading {
            read_at,
            kinds,
            last_success_at,
            last_sweep,
            quarantined,
            recoveries,
            false_rescues,
            waiting,
            handed_over,
            stuck_wakes,
            outbox,
        } = reading;
        self.time(
            "last_success_timestamp_seconds",
            "End of the latest sweep of everything that did all it had to, all its shards included; absent: never",
            *last_success_at,
        );
        if let Some(last_sweep) = last_sweep {
            self.last_sweep(last_sweep);
        }
        self.gauge(
            "quarantined_subjects",
            "Subjects that sweeps no longer examine, since they failed again and again",
            KIND,
            kinds.iter().map(|kind| ([kind.name()], quarantined.get(kind.name()).copied().unwrap_or(0))),
        );
        let recorded =
            |kind: &str, action: &str| recoveries.get(kind).and_then(|of| of.get(action)).copied().unwrap_or(0);
        self.counter(
            "recoveries_total",
            "What the ledger has ever recorded: continuations, escalations, recoveries and handovers",
            ["kind", "action"],
            kinds.iter().flat_map(|kind| {
                Action::ALL.iter().map(|action| ([kind.name(), action.name()], recorded(kind.name(), action.name())))
            }),
        );
        self.gauge(
            "false_rescues_last_week",
            "Continuations of the last 7 days where a run was live after all",
            [],
            [([], *false_rescues)],
        );
        let of = |action: Action, kind: &Kind| waiting.get(action.name()).and_then(|kinds| kinds.get(kind.name()));
        for (action, subjects, oldest, help) in [
            (
                Action::Escalate,
                "waiting_for_person_subjects",
                "waiting_for_person_oldest_timestamp_seconds",
                "Subjects that were escalated and that nobody has answered",
            ),
            (
                Action::Abandon,
                "abandoned_subjects",
                "abandoned_oldest_timestamp_seconds",
                "Subjects whose agent is gone, terminated or paused for long, by what people were notified of",
            ),
        ] {
            self.gauge(
                subjects,
                help,
                KIND,
                kinds.iter().map(|kind| ([kind.name()], of(action, kind).map_or(0, |waiting| waiting.subjects))),
            );
            self.gauge(
                oldest,
                "Since when people have known of the oldest of them; absent: none",
                KIND,
                kinds.iter().filter_map(|kind| Some(([kind.name()], seconds(of(action, kind)?.oldest_at?)))),
            );
        }
        self.gauge(
            "handed_over_last_week",
            "Subjects that their host or a person took over in the last 7 days, after sweep had done something about \
                them",
            KIND,
            kinds.iter().map(|kind| ([kind.name()], handed_over.get(kind.name()).copied().unwrap_or(0))),
        );
        self.stuck_wakes(stuck_wakes);
        self.outbox(outbox);
        self.time("metrics_read_timestamp_seconds", "When these were read, by the database's clock", Some(*read_at));
    }

    fn last_sweep(&mut self, sweep: &LastSweep) {
        let LastSweep { ended_at, took, exit_code, kinds } = sweep;
        self.time("last_sweep_timestamp_seconds", "End of the latest sweep of everything, however it ended", *ended_at);
        self.gauge(
            "last_sweep_duration_seconds",
            "How long it took; of one in shards, the longest of them",
            [],
            took.map(|took| ([], took.num_milliseconds() as f64 / 1000.0)),
        );
        self.gauge(
            "last_sweep_exit_code",
            "Its exit code; of one in shards, one that is no success if there is any",
            [],
            exit_code.map(|code| ([], i64::from(code))),
        );
        let counted = |kind: &Swept, outcome: Outcome| kind.tally.of(outcome);
        self.gauge(
            "last_sweep_subjects",
            "Subjects by what became of them in it",
            ["kind", "outcome"],
            kinds.iter().flat_map(|(kind, swept)| {
                Outcome::ALL.iter().map(|outcome| ([kind.name(), outcome.name()], counted(swept, *outcome)))
            }),
        );
        self.gauge(
            "last_sweep_guarded",
            "1: the guard left this kind alone, or a part of it, since too much of it looked stranded",
            KIND,
            kinds.iter().map(|(kind, swept)| ([kind.name()], i64::from(swept.guarded))),
        );
        self.gauge(
            "backlog_subjects",
            "Subjects that it left undone: deferred, busy, failed or unknown",
            KIND,
            kinds.iter().map(|(kind, swept)| {
                let left = BACKLOG.map(|outcome| counted(swept, outcome));
                ([kind.name()], left.into_iter().fold(0, u64::saturating_add))
            }),
        );
        self.gauge(
            "backlog_oldest_timestamp_seconds",
            "Since when the oldest of those that it deferred has been idle; absent: none",
            KIND,
            kinds.iter().filter_map(|(kind, swept)| Some(([kind.name()], seconds(swept.oldest_deferred_at?)))),
        );
    }

    fn stuck_wakes(&mut self, stuck: &StuckWakes) {
        let StuckWakes { count, oldest_at, none_is_taken } = stuck;
        let help = "Wakes that have been queued for longer than SWEEP_WAKE_STUCK_AFTER and that nobody took up";
        self.gauge("stuck_wakes", help, [], [([], *count)]);
        let help = "Since when the oldest of them has been queued; absent: none";
        self.time("stuck_wakes_oldest_timestamp_seconds", help, *oldest_at);
        let help = "1: some are stuck, and no wake at all was taken up for as long";
        self.gauge("no_wake_taken", help, [], [([], i64::from(*none_is_taken))]);
    }

    fn outbox(&mut self, outbox: &Outbox) {
        let Outbox { pending, dead, oldest_pending_at } = outbox;
        for (name, help, counts) in [
            ("notifications_pending", "Notifications that wait to be delivered", pending),
            ("notifications_dead", "Notifications that were given up", dead),
        ] {
            // Each destination has a value, also while nothing waits for it.
            let values =
                Destination::ALL.iter().map(|to| to.name()).map(|to| ([to], counts.get(to).copied().unwrap_or(0)));
            self.gauge(name, help, ["destination"], values);
        }
        self.time(
            "notifications_oldest_pending_timestamp_seconds",
            "Since when the oldest of those that wait has waited; absent: none",
            *oldest_pending_at,
        );
    }

    fn daemon(&mut self, daemon: &DaemonState) {
        let DaemonState { completed, failed, interrupted, next_sweep_at, databases, hung_for, run_ends } = daemon;
        self.counter(
            "daemon_sweeps_total",
            "Sweeps of this daemon, by how they ended",
            ["ended"],
            [(Ended::Completed, completed), (Ended::Failed, failed), (Ended::Interrupted, interrupted)]
                .map(|(ended, n)| ([ended.name()], *n)),
        );
        self.time("daemon_next_sweep_timestamp_seconds", "When the next sweep is due", *next_sweep_at);
        self.gauge(
            "daemon_hung",
            "1: a sweep is under way and makes no progress",
            [],
            [([], i64::from(hung_for.is_some()))],
        );
        for DatabaseState { found, condition, is_listening } in databases {
            self.database = found.short_name.clone();
            let help = "1: the database answered when it was last asked";
            self.gauge("daemon_database_up", help, [], [([], i64::from(*condition == Condition::Up))]);
            self.gauge("daemon_listening", "1: ends of runs are heard of", [], [([], i64::from(*is_listening))]);
        }
        self.database = None;
        self.counter("daemon_run_ends_total", "Ends of runs that this daemon heard of", [], [([], *run_ends)]);
    }
}
