//! Every setting, once. Its name, type, unit, parser and meaning stand here; its default stands in the engine.
//!
//! From this table come the flags and their help, the variables that are read, the names that are known, what `sweep
//! config` shows, and the tables of docs/settings.md.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::Result;
use chrono::TimeDelta;
use chrono_tz::Tz;
use clap::builder::PathBufValueParser;

use super::definition::{Group, Known, Written, heading, paragraphs, plain, read, settings};
use crate::cycle::CycleOptions;
use crate::daemon::DaemonOptions;
use crate::notify::Notify;
use crate::parse::{
    self, Addresses, DURABLE, ESCALATION, EVENTS, Entry, FORMAT, HostNames, Http, KIND_MODE, KINDS, LOG_FORMAT, List,
    LogFormat, STATEMENT_CACHE, SWITCH,
};
use crate::report::Format;
use crate::rules::{After, Escalation, Kind, Policy};
use crate::schedule::CronPattern;
use crate::store::connect::open::{StatementCache, Url};
use crate::store::hosts::links::HostUrl;
use crate::store::work::candidates::Shard;
use crate::store::work::outbox::Event;
use crate::store::{Durable, Timeouts};
use crate::supervisor::keeper::KeeperOptions;
use crate::sweep::{KindMode, Options};

pub const WHAT_TO_SWEEP: &str = "What to sweep";
pub const LIMITS: &str = "Limits";
pub const HOW_IT_RUNS: &str = "How it runs";
pub const THE_PAGE: &str = "The page";

/// Behind the options that are a command's own.
pub const LAST: usize = 900;

/// What is logged where nobody reads a report.
pub const LOG: &str = "info";

settings! {
    options {
        SelectionFlags, heading WHAT_TO_SWEEP {
            /// Only these kinds: sessions, issues, steps; -steps: all but these
            #[arg(value_delimiter = ',')]
            only: Vec<Entry<Kind>>, "KINDS", List(KINDS), or Kind::ALL;
            /// Only what belongs to this tenant (Paperclip: the company's id)
            #[arg(allow_hyphen_values = false)]
            tenant: String, "TENANT", parse::non_empty;
            /// Only this part, such as 0/4: the work of one agent in four, so that four machines share a sweep
            shard: Shard, "I/N", parse::shard, or Shard::WHOLE;
        }
        StrandedFlags, heading "When work is stranded" {
            let policy: Policy = Policy::default();
            /// An issue is orphaned when idle for longer
            orphan_grace: TimeDelta, "DURATION", parse::duration => policy.orphan_grace;
            /// A plan step is stalled when in progress for longer
            ///
            /// A step's or plan's own threshold overrides it.
            step_stalled_after: TimeDelta, "DURATION", parse::positive_duration => policy.step_stalled_after;
            /// A session is silent when without a sign of life for longer; at least 1s
            session_silent_after: TimeDelta, "DURATION", parse::at_least_a_second => policy.session_silent_after;
            /// A session that takes no commands, such as one of Paperclip's runs, is silent when without a sign of life
            /// for longer; at least 1s
            ///
            /// Under `sweep watch` children that compute are progress for so long.
            run_silent_after: TimeDelta, "DURATION", parse::at_least_a_second => policy.run_silent_after;
            /// A session waits for a person when its agent has asked for longer: what is answered sooner is no news
            session_waiting_after: TimeDelta, "DURATION", parse::duration => policy.session_waiting_after;
            /// A session is without progress when it moves and does nothing new for longer; at least 1s
            session_no_progress_after: TimeDelta, "DURATION", parse::at_least_a_second
                => policy.session_no_progress_after;
            /// A wake is reported as stuck when queued for longer; at least 1m
            ///
            /// The wake itself is left alone. People are notified when no runner takes it up, and when that is over.
            wake_stuck_after: TimeDelta, "DURATION", parse::at_least_a_minute => policy.wake_stuck_after;
            /// Notify people of work whose agent is terminated or gone when idle for longer, or off
            ///
            /// They are notified once, and the work is not touched.
            abandoned_after: After, "DURATION", parse::after => policy.abandoned_after;
            /// Notify people of work whose agent is paused or waits for an approval when idle for longer, such as 1d,
            /// or off
            paused_after: After, "DURATION", parse::after => policy.paused_after;
        }
        RecoveryFlags, heading "What a sweep does about it" {
            let policy: Policy = Policy::default();
            /// Continuations in one episode before an escalation
            attempts_max: u32, "N", parse::number => policy.attempts_max;
            /// Continuations of one subject in 24 hours, and escalations, however often the episode restarts
            attempts_per_day_max: u32, "N", parse::number => policy.attempts_per_day_max;
            /// Least time between two attempts, and between the end of the last one and an escalation
            retry_delay: TimeDelta, "DURATION", parse::duration => policy.retry_delay;
            /// What an escalation does to an issue: comment_and_block, comment_only
            escalation: Escalation, "HOW", ESCALATION => policy.escalation;
            /// Nudges of a session that is silent or loops, in one episode before an escalation
            nudges_max: u32, "N", parse::number => policy.nudges_max;
            /// Least time between two commands to one session; at least 1s
            ///
            /// A command that nobody takes for longer is escalated.
            nudge_delay: TimeDelta, "DURATION", parse::at_least_a_second => policy.nudge_delay;
            /// What a nudge types into the session
            nudge_message: String, "TEXT", parse::message => policy.nudge_message;
            /// Relaunch crashed sessions: on, off
            auto_relaunch: bool, "SWITCH", SWITCH => policy.auto_relaunch;
            /// Relaunches of a crashed session in one episode before an escalation
            relaunches_max: u32, "N", parse::number => policy.relaunches_max;
        }
        LimitFlags, heading LIMITS {
            let options: Options = Options::of(no_database());
            /// Sessions: on, shadow (decided and reported, never written), off
            sessions: KindMode, "MODE", KIND_MODE => *options.modes.entry(Kind::Session).or_default();
            /// Issues: on, shadow (decided and reported, never written), off
            issues: KindMode, "MODE", KIND_MODE => *options.modes.entry(Kind::Issue).or_default();
            /// Plan steps: on, shadow (decided and reported, never written), off
            steps: KindMode, "MODE", KIND_MODE => *options.modes.entry(Kind::Step).or_default();
            /// Continue, escalate or report as abandoned at most this many subjects, the oldest first
            limit: u32, "N", parse::positive => options.limit;
            /// Begin nothing more after this time; what is in hand is finished
            deadline: TimeDelta, "DURATION", parse::positive_duration => options.deadline;
            /// Wake or nudge one agent at most this many times in one sweep
            wakes_per_agent_max: u32, "N", parse::positive => options.wakes_per_agent_max;
            /// Leave a kind alone when more than this share of its subjects in progress look stranded
            ///
            /// It takes more than SWEEP_GUARD_MIN of them as well.
            guard_share: f64, "SHARE", parse::share => options.guard.get_or_insert_default().share;
            /// Leave a kind alone only when more than this number of its subjects in progress look stranded
            guard_min: u32, "N", parse::number => options.guard.get_or_insert_default().min;
        }
        /// `DATABASE_URL`, or the file that `DATABASE_URL_FILE` names, says
        /// [which database](#the-databases-url) to sweep.
        CacheFlag, heading HOW_IT_RUNS {
            /// Prepare statements: on, or off behind a pooler that does not know them, such as PgBouncer before 1.21
            statement_cache: StatementCache, "CACHE", STATEMENT_CACHE, or StatementCache::default();
        }
        LinkFlag, heading HOW_IT_RUNS {
            /// Where the host's own pages are, such as https://board.example: with it, subjects are links to their
            /// pages. One for all databases
            #[arg(allow_hyphen_values = false)]
            host_url: HostUrl, "URL", HostUrl::parse;
        }
        TimeoutFlags, heading HOW_IT_RUNS {
            let timeouts: Timeouts = Timeouts::default();
            /// How long a foreign-key check may wait for a lock, below 1s (PostgreSQL)
            lock_timeout: TimeDelta, "DURATION", parse::lock_timeout => timeouts.lock;
            /// How long a statement may take
            statement_timeout: TimeDelta, "DURATION", parse::statement_timeout => timeouts.statement;
        }
        MachineFlags, heading HOW_IT_RUNS {
            let options: Options = Options::of(no_database());
            /// Work on this many subjects at once, each on a connection of its own
            connections: u32, "N", parse::connections => options.connections;
            /// Have the disk waited for by several subjects together, or by each (PostgreSQL): together, each
            ///
            /// Nothing is reported before it is on disk. What a crash of the server loses, the next sweep does again.
            #[arg(hide_short_help = true)]
            durable: Durable, "HOW", DURABLE => options.durable;
            /// Write metrics here after the sweep, for node_exporter's textfile collector
            #[arg(allow_hyphen_values = false)]
            metrics_file: PathBuf, "FILE", PathBufValueParser::new();
        }
        IntervalFlag, heading HOW_IT_RUNS {
            /// How often `sweep watch` looks at its agent and writes what changed; at least 100ms
            #[arg(long = "interval")]
            watch_interval: TimeDelta, "DURATION", parse::watch_interval, or KeeperOptions::INTERVAL;
        }
        ConfigFlag, plain HOW_IT_RUNS {
            /// Read settings from this file, lines of NAME=VALUE
            ///
            /// Each value as it stands: no quotes, no $. Options and the environment win. Without the option it is
            /// the file that SWEEP_CONFIG names.
            #[arg(global = true, display_order = LAST, allow_hyphen_values = false, hide_short_help = true)]
            config: PathBuf, "FILE", PathBufValueParser::new();
        }
        OutputFlag, plain "Reports and logs" {
            /// How to print it: table, json, ndjson
            ///
            /// In ndjson the report of a sweep has a line for each subject.
            #[arg(short)]
            output: Format, "FORMAT", FORMAT, or Format::default();
        }
        /// [The daemon](daemon.md) alone reads these.
        ScheduleFlags, plain "The daemon" {
            let daemon: DaemonOptions = DaemonOptions::of(CycleOptions::of(Options::of(no_database())));
            /// When to sweep, as in a crontab, or such as @hourly
            ///
            /// Minute, hour, day of the month, month, day of the week; with six fields the second comes first.
            schedule: CronPattern, "PATTERN", CronPattern::parse => daemon.schedule.pattern;
            /// The zone of the schedule, such as Europe/Berlin
            timezone: Tz, "ZONE", parse::timezone => daemon.schedule.zone;
            /// Sweep later than scheduled by a random time below this
            ///
            /// Never as late as the next time of the schedule: so many daemons do not begin at once.
            jitter: TimeDelta, "DURATION", parse::duration => daemon.jitter;
            /// Sweep at the start as well: on, off
            at_start: bool, "SWITCH", SWITCH => daemon.at_start;
            /// Listen for runs that end, and sweep their issues at once (PostgreSQL): on, off
            listen: bool, "SWITCH", SWITCH => daemon.listen;
            /// Sweep an issue so long after its run has ended
            ///
            /// By default as long as its host needs to queue what follows: 500ms, on Paperclip 15s. Less is refused.
            listen_grace: Duration, "DURATION", parse::std_duration => daemon.listen_grace;
            /// A sweep hangs when it makes no progress for longer; at least 1s
            ///
            /// Then /healthz fails, and systemd's watchdog is not fed. One statement is one step, so this must be
            /// longer than SWEEP_STATEMENT_TIMEOUT.
            hung_after: Duration, "DURATION", parse::std_at_least_a_second => daemon.hung_after;
        }
        HttpFlag, plain "The daemon" {
            let daemon: DaemonOptions = DaemonOptions::of(CycleOptions::of(Options::of(no_database())));
            /// Serve /healthz, /readyz and /metrics here, or off; and the page
            http: Http, "ADDRESS", parse::http => daemon.http;
        }
        /// [The page](page.md) shows what needs a person to a browser. Where it is served, `SWEEP_HTTP` says.
        PageFlag, plain THE_PAGE {
            let daemon: DaemonOptions = DaemonOptions::of(CycleOptions::of(Options::of(no_database())));
            /// Serve the page as well: on, off
            page: bool, "SWITCH", SWITCH => daemon.page;
        }
        PageAccessFlags, heading THE_PAGE {
            /// Names under which the page may be asked for, besides addresses and localhost, such as board.example
            #[arg(allow_hyphen_values = false)]
            page_host: HostNames, "NAMES", parse::host_names;
            /// The page is for those whom one of these proxies names in X-Forwarded-User: their addresses
            #[arg(allow_hyphen_values = false)]
            page_proxy: Addresses, "ADDRESSES", parse::addresses;
        }
    }
    variables {
        HOW_IT_RUNS {
            /// The folder of a host that is not built in: a SQLite file whose host it is cannot be used without it
            ///
            /// SQL that stands in a file is not run: it must also stand in this folder.
            host_dir: PathBuf, PathBufValueParser::new();
        }
        "Reports and logs" {
            /// What is logged: a filter such as warn or `sweep=debug`
            ///
            /// At a terminal, and where stdout and stderr are one stream (`2>&1`), only errors are logged, and what is
            /// wrong with the settings. -q and -v override it.
            log: String, parse::non_empty, or LOG;
            /// How logs are written: text, json
            ///
            /// In systemd's journal a line has a priority and no time of its own.
            log_format: LogFormat, LOG_FORMAT, or LogFormat::default();
        }
        "Notifications" {
            /// Of which events people are notified
            ///
            /// There are also recovered and host_blocked. `+recovered` adds to the default, `-abandoned` takes from it.
            notify_on: Vec<Entry<Event>>, List(EVENTS), or Notify::USUAL_EVENTS;
            /// Whether destinations may have addresses in private networks: on, off
            notify_private: bool, SWITCH, or bool::default();
        }
    }
    secrets {
        "The host" {
            /// A key for the host's API, with which sweep wake makes the host's own call (Paperclip: a board's key)
            host_key;
        }
        "The daemon" {
            /// The URL of the sweeps' database past its transaction pooler, for the one connection that listens
            listen_url;
        }
        "The page" {
            /// The page is for those who have this, at least 16 characters: any user's password, or a bearer token
            page_token;
        }
        /// [Who is notified, and of what](notifications.md). These settings have no options.
        "Notifications" {
            /// Notify people in Slack, by an incoming webhook
            slack_url;
            /// Post each notification here, as JSON
            webhook_url;
            /// What the posts are signed with: whsec_ and base64, or any text
            ///
            /// SWEEP_WEBHOOK_URL needs it.
            webhook_secret;
            /// Ping this dead-man's switch, so that it notices when sweeps fail or stop
            ping_url;
        }
    }
}

/// The options of a sweep whose defaults are shown.
fn no_database() -> Url {
    Url::Sqlite(PathBuf::new())
}

pub fn all() -> impl Iterator<Item = &'static Known> {
    GROUPS.iter().flat_map(|group| &group.settings)
}

fn known(name: &str) -> &'static Known {
    all().find(|known| known.name == name).expect("a row of the table")
}
