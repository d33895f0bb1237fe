//! Every setting, once: its name, type, parser and meaning stand here, and its default stands in the engine.
//!
//! From this table come what is read of the environment, what `--set` takes, the options of the same names with their
//! help, what `sweep config` shows, and the tables of docs/settings.md.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::LazyLock;

use anyhow::Result;
use chrono::TimeDelta;
use chrono_tz::Tz;

use super::definition::{Group, KnownSetting, Parser, Written, paragraphs, settings};
use super::environment::Environment;
use crate::cycle::CycleOptions;
use crate::daemon::DaemonOptions;
use crate::notify::Notify;
use crate::parse::{self, ESCALATION, EVENTS, KIND_MODE, LISTENING, LOG_FORMAT, List, ListEntry, LogFormat, SWITCH};
use crate::rules::{After, Escalation, Kind, Policy};
use crate::schedule::CronPattern;
use crate::store::Timeouts;
use crate::store::connect::listen::ListenMode;
use crate::store::connect::open::Url;
use crate::store::hosts::links::HostUrl;
use crate::store::work::candidates::Shard;
use crate::store::work::outbox::Event;
use crate::sweep::{KindMode, Options};

/// What is logged where nobody reads a report.
pub const LOG: &str = "info";

settings! {
    engine {
        "What to sweep", apply_selection(options: Options = Options::of(no_database())) {
            /// Only this part, such as 0/4, so that four machines share a sweep
            shard: Shard, parse::shard => options.shard;
        }
        "When work is stranded", apply_thresholds(policy: Policy = Policy::default()) {
            /// An issue is orphaned when idle for longer
            orphan_grace: TimeDelta, parse::duration => policy.orphan_grace;
            /// A plan step is stalled when in progress for longer
            ///
            /// A step's or plan's own threshold overrides it.
            step_stalled_after: TimeDelta, parse::positive_duration => policy.step_stalled_after;
            /// A session is silent when without a sign of life for longer; at least 1s
            session_silent_after: TimeDelta, parse::at_least_a_second => policy.session_silent_after;
            /// A run that holds no lease is lost, and a session that takes no commands is silent, when without a sign
            /// of life for longer; at least 1s
            ///
            /// People are shown a run that has never shown one. Under `sweep watch` children that compute are progress
            /// for so long.
            run_silent_after: TimeDelta, parse::at_least_a_second => policy.run_silent_after;
            /// A session waits for a person when its agent has asked for longer: what is answered sooner is no news
            session_waiting_after: TimeDelta, parse::duration => policy.session_waiting_after;
            /// A session is without progress when it moves and does nothing new for longer; at least 1s
            session_no_progress_after: TimeDelta, parse::at_least_a_second
                => policy.session_no_progress_after;
            /// A wake is reported as stuck when queued for longer; at least 1m
            ///
            /// The wake itself is left alone. People are notified when no runner takes it up, and when that is over.
            wake_stuck_after: TimeDelta, parse::at_least_a_minute => policy.wake_stuck_after;
            /// Notify people of work whose agent is terminated or gone when idle for longer, or off
            ///
            /// They are notified once for each such agent, also by a comment on the issue, whose row is not touched.
            abandoned_after: After, parse::after => policy.abandoned_after;
            /// Notify people of work whose agent is paused, waits for an approval or cannot be woken when idle for
            /// longer, or off
            ///
            /// They are notified again each week.
            paused_after: After, parse::after => policy.paused_after;
        }
        "What a sweep does about it", apply_recovery(policy: Policy = Policy::default()) {
            /// Continuations in one episode before an escalation
            attempts_max: u32, parse::number => policy.attempts_max;
            /// Continuations of one subject in 24 hours, and escalations, however often the episode restarts
            attempts_per_day_max: u32, parse::number => policy.attempts_per_day_max;
            /// Least time between two attempts, and between the end of the last one and an escalation
            retry_delay: TimeDelta, parse::duration => policy.retry_delay;
            /// What an escalation does to an issue: comment_and_block, comment_only
            escalation: Escalation, ESCALATION => policy.escalation;
            /// Nudges of a session that is silent or loops, in one episode before an escalation
            nudges_max: u32, parse::number => policy.nudges_max;
            /// Least time between two commands to one session; at least 1s
            ///
            /// A command that nobody takes for longer is escalated.
            nudge_delay: TimeDelta, parse::at_least_a_second => policy.nudge_delay;
            /// What a nudge types into the session
            nudge_message: String, parse::message => policy.nudge_message;
            /// Relaunch crashed sessions: on, off
            auto_relaunch: bool, SWITCH => policy.auto_relaunch;
        }
        "Limits", apply_limits(options: Options = Options::of(no_database())) {
            /// Sessions: on, shadow (decided and reported, never written), off
            sessions: KindMode, KIND_MODE => *options.modes.entry(Kind::Session).or_default();
            /// Issues: on, shadow (decided and reported, never written), off
            issues: KindMode, KIND_MODE => *options.modes.entry(Kind::Issue).or_default();
            /// Plan steps: on, shadow (decided and reported, never written), off
            steps: KindMode, KIND_MODE => *options.modes.entry(Kind::Step).or_default();
            /// At most this many continued, escalated or reported, by tenants in turn
            limit: u32, parse::positive => options.limit;
            /// Begin nothing more after this time; what is in hand is finished
            deadline: TimeDelta, parse::positive_duration => options.deadline;
            /// Wake or nudge one agent at most this many times in one sweep
            wakes_per_agent_max: u32, parse::positive => options.wakes_per_agent_max;
            /// Leave a kind alone when more than this share of its subjects in progress look stranded
            ///
            /// It takes more than twenty of them as well.
            guard_share: f64, parse::share => options.guard.get_or_insert_default().share;
        }
        /// `DATABASE_URL`, or the file that `DATABASE_URL_FILE` names, says
        /// [which database](#the-databases-url) to sweep.
        "How it runs", apply_timeouts(timeouts: Timeouts = Timeouts::default()) {
            /// How long a statement may take
            statement_timeout: TimeDelta, parse::statement_timeout => timeouts.statement;
        }
        "How it runs", apply_machine(options: Options = Options::of(no_database())) {
            /// Work on this many subjects at once, each on a connection of its own
            connections: u32, parse::connections => options.connections;
            /// Remove rows of sweep's own that have been over for longer, or off; at least 7d
            ///
            /// Each sweep removes a part. Sums by day are kept.
            keep: After, parse::keep => options.keep;
        }
        /// [The daemon](daemon.md) alone reads these.
        "The daemon", apply_daemon(daemon: DaemonOptions = no_daemon()) {
            /// When to sweep, as in a crontab, or such as @hourly
            ///
            /// Minute, hour, day of the month, month, day of the week; with six fields the second comes first.
            schedule: CronPattern, CronPattern::parse => daemon.schedule.pattern;
            /// The zone of the schedule, such as Europe/Berlin
            timezone: Tz, parse::timezone => daemon.schedule.zone;
            /// Sweep later than scheduled by a random time below this
            ///
            /// Never as late as the next time of the schedule: so many daemons do not begin at once.
            jitter: TimeDelta, parse::duration => daemon.jitter;
            /// Sweep at the start as well: on, off
            at_start: bool, SWITCH => daemon.at_start;
            /// Listen for runs that end, and sweep what they worked on at once: auto, on, off
            ///
            /// auto: wherever the host tells of them. on: the daemon refuses to start where nothing tells of them.
            listen: ListenMode, LISTENING => daemon.listen;
        }
        "The daemon", apply_http(daemon: DaemonOptions = no_daemon()) {
            /// Serve /healthz, /readyz and /metrics here, or off; and the page
            http: Option<SocketAddr>, parse::http => daemon.http;
        }
        /// [The page](page.md) shows what needs a person to a browser. Where it is served, `SWEEP_HTTP` says.
        "The page", apply_page(daemon: DaemonOptions = no_daemon()) {
            /// Serve the page as well: on, off
            page: bool, SWITCH => daemon.page;
        }
    }
    by_hand {
        "How it runs" {
            /// Write metrics here after the sweep, for node_exporter's textfile collector
            metrics_file: PathBuf, parse::path;
            /// Where the host's own pages are, such as https://board.example: with it, subjects are links to their
            /// pages. One for all databases
            host_url: HostUrl, HostUrl::parse;
            /// Read settings from this file, lines of NAME=VALUE
            ///
            /// Each value as it stands: no quotes, no $. Options and the environment win. Without the option it is
            /// the file that SWEEP_CONFIG names.
            config: PathBuf, parse::path;
            /// The folder of a host that is not built in: a SQLite file whose host it is cannot be used without it
            ///
            /// SQL that stands in a file is not run: it must also stand in this folder.
            host_dir: PathBuf, parse::path;
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
        "The page" {
            /// Names under which the page may be asked for, besides addresses and localhost, such as board.example
            page_host: Vec<String>, parse::host_names;
            /// The page is for those whom one of these proxies names in X-Forwarded-User: their addresses
            page_proxy: Vec<IpAddr>, parse::addresses;
        }
        "Notifications" {
            /// The events of which people are notified
            ///
            /// There are also recovered and host_blocked. `+recovered` adds to the default, `-abandoned` takes from it.
            notify_on: Vec<ListEntry<Event>>, List(EVENTS), or Notify::USUAL_EVENTS;
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
        /// [Who is notified, and of what](notifications.md).
        "Notifications" {
            /// Notify people in Slack, Mattermost or Discord, by an incoming webhook
            slack_url;
            /// Notify people in Microsoft Teams, by a workflow's webhook
            teams_url;
            /// Notify people by e-mail: smtps://HOST/?from=ADDRESS&to=ADDRESS, with USER:PASSWORD@ before HOST
            email_url;
            /// Open and resolve incidents in PagerDuty: https://ROUTING_KEY@events.pagerduty.com/v2/enqueue
            pagerduty_url;
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

/// The options of a daemon whose defaults are shown.
fn no_daemon() -> DaemonOptions {
    DaemonOptions::of(CycleOptions::of(Options::of(no_database())))
}

pub fn all() -> impl Iterator<Item = &'static KnownSetting> {
    GROUPS.iter().flat_map(|group| &group.settings)
}

/// The setting of this name, as in `sweep config` or in lower case without its prefix.
pub fn find(name: &str) -> Option<&'static KnownSetting> {
    all().find(|known| known.name == name || known.variable() == name)
}
