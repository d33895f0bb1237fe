//! What each command goes by, from its flags and what is set. The flags of a sweep, by hand or by the daemon, are given
//! each time; the rest are settings.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Once;

use anyhow::Result;
use clap::{ArgAction, Args};
use secrecy::ExposeSecret;
use tracing::warn;

use super::database::{LISTEN_URL, find_databases, listen_url, pooler_at};
use super::definition::variable;
use super::environment::{Environment, SetIn};
use super::table;
use crate::conclusion::{config, usage};
use crate::cycle::CycleOptions;
use crate::daemon::{DaemonOptions, REACTED_TO};
use crate::notify::{Notify, NotifyRoute, Secret, Target};
use crate::page::{PageOptions, Viewed};
use crate::parse::{self, KINDS, List, ListEntry, LogFormat, listed};
use crate::rules::{Kind, Policy};
use crate::store::Timeouts;
use crate::store::connect::databases::Databases;
use crate::store::connect::listen::ListenMode;
use crate::store::connect::open::Url;
use crate::store::work::candidates::Shard;
use crate::store::work::outbox::Destination;
use crate::sweep::plan::Plan;
use crate::sweep::{KindMode, Options, Selection};
use crate::text::redact;
use crate::{files, metrics};

/// A subject takes about 400 bytes: room for 40,000 of them.
const PLAN_BYTES_MAX: u64 = 16 << 20;

pub const WEBHOOK_SECRET: &str = "SWEEP_WEBHOOK_SECRET";
const PAGE_TOKEN: &str = "SWEEP_PAGE_TOKEN";

/// What a sweep by hand goes by.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What is swept.
    pub databases: Databases,
    /// How, with the first of them; the others differ in their database alone.
    pub cycle: CycleOptions,
}

impl Settings {
    pub fn resolve(flags: SweepFlags, environment: &Environment) -> Result<Settings> {
        let ScopeFlags { only, tenant, no_guard } = flags.scope;
        let (policy, timeouts) = policy(environment)?;
        let databases = find_databases(environment)?;
        let first = databases.find().swap_remove(0).url;
        let mut options = Options { policy, timeouts, tenant, ..Options::of(first) };

        let subjects = flags.subjects.named();
        if databases.only().is_none() && (flags.apply.is_some() || !subjects.is_empty()) {
            let what = "--apply, --session, --issue and --step are about one database";
            return Err(usage(format!("{what}: name it by --database, without a pattern")).into());
        }
        if only.is_some() && !subjects.is_empty() {
            return Err(usage(
                "--only names kinds, --session, --issue and --step name subjects: give one or the other",
            )
            .into());
        }
        table::apply_selection(environment, &mut options)?;
        options.shard = options.shard.filter(Shard::is_part);
        if flags.apply.is_some() && options.shard.is_some() {
            return Err(usage("--apply: a plan names its subjects: unset SWEEP_SHARD").into());
        }
        options.selection = match (flags.apply, subjects.is_empty(), only) {
            (Some(path), ..) => Selection::Plan(Box::new(read_plan(&path)?)),
            (None, false, _) => Selection::Subjects(subjects),
            (None, true, Some(only)) => {
                let left = listed(&only, Kind::ALL);
                let mut kinds = left.ok_or_else(|| usage(format!("--only: {NOTHING_IS_LEFT}")))?;
                kinds.sort();
                Selection::Kinds(kinds)
            }
            (None, true, None) => options.selection,
        };

        table::apply_limits(environment, &mut options)?;
        options.modes.retain(|_, mode| *mode != KindMode::On);
        if no_guard {
            options.guard = None;
        }
        table::apply_machine(environment, &mut options)?;
        let metrics_file = table::metrics_file(environment)?;
        // That its directory is missing is said before the sweep: afterwards it would be a warning that nobody reads.
        if let Some(path) = &metrics_file {
            let is_typed = environment.source("SWEEP_METRICS_FILE") == Some(&SetIn::CommandLine);
            let name = if is_typed { "--set metrics_file" } else { "SWEEP_METRICS_FILE" };
            metrics::refuse_path(path).map_err(|why| config(format!("{name}: {why}")))?;
        }

        options.host_url = table::host_url(environment)?;
        let notify = notify(environment)?;
        options.subscriptions = notify.subscriptions();
        options.dry_run = flags.dry_run;
        options.concludes_changed = flags.detailed_exitcode;
        let cycle = CycleOptions { notify, metrics_file, ..CycleOptions::of(options) };
        Ok(Settings { databases, cycle })
    }
}

/// Reads the plan in a file; `-` is stdin.
fn read_plan(path: &Path) -> Result<Plan> {
    let shown = path.display();
    let refuse = |why: String| usage(format!("--apply {shown}: {why}"));
    let bytes = if path == Path::new("-") {
        files::read_at_most(std::io::stdin(), PLAN_BYTES_MAX)
    } else {
        files::read(path, PLAN_BYTES_MAX).map(|found| found.bytes)
    };
    Ok(bytes.and_then(|bytes| Plan::read(&bytes[..])).map_err(refuse)?)
}

/// What a daemon goes by.
pub fn daemon(scope: ScopeFlags, environment: &Environment) -> Result<DaemonOptions> {
    let sweep = SweepFlags { scope, ..SweepFlags::default() };
    let Settings { databases, cycle } = Settings::resolve(sweep, environment)?;
    let mut options = DaemonOptions { databases, ..DaemonOptions::of(cycle) };
    table::apply_daemon(environment, &mut options)?;
    table::apply_http(environment, &mut options)?;
    table::apply_page(environment, &mut options)?;
    options.page_options = page_access(environment)?;
    if options.page && options.http.is_none() {
        return Err(config("SWEEP_PAGE is on and SWEEP_HTTP is off: the page needs an address").into());
    }
    options.listen_url = listen_url(environment)?;
    let sweep = &options.cycle.sweep;
    if options.listen_url.is_some() && options.databases.only().is_none() {
        return Err(config(format!("{LISTEN_URL} is of one database, and several are named: unset it")).into());
    }
    if !sweep.selection.kinds().iter().any(|kind| REACTED_TO.contains(kind) && sweep.mode(*kind) != KindMode::Off) {
        options.listen = ListenMode::Off;
    }
    let swept = || options.databases.find().into_iter().map(|found| found.url).collect();
    let listens_at: Vec<Url> = options.listen_url.clone().map_or_else(swept, |url| vec![url]);
    let pooler = listens_at.iter().find_map(|url| pooler_at(url, environment));
    let is_relied_on = options.listen == ListenMode::On;
    pooler.iter().filter(|_| is_relied_on).for_each(|pooler| warn_of_silence(pooler));
    Ok(options)
}

/// Warns once: a daemon reads its settings again and again.
fn warn_of_silence(pooler: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        warn!(
            "{} is a transaction pooler, through which no notification arrives: set {LISTEN_URL} to the URL of the \
             server itself",
            redact(pooler)
        );
    });
}

/// What `sweep page` goes by.
pub struct PageSettings {
    pub databases: Databases,
    /// With the databases that there are now.
    pub viewed: Viewed,
    pub http: SocketAddr,
    pub options: PageOptions,
}

impl PageSettings {
    pub fn resolve(environment: &Environment) -> Result<PageSettings> {
        let (policy, timeouts) = policy(environment)?;
        let host_url = table::host_url(environment)?;
        let databases = find_databases(environment)?;
        let found = databases.find();
        let first = found.first().map(|found| found.url.clone());
        let mut daemon =
            DaemonOptions::of(CycleOptions::of(first.map(Options::of).ok_or_else(|| config("no database"))?));
        table::apply_http(environment, &mut daemon)?;
        let http = daemon.http.ok_or_else(|| config("SWEEP_HTTP is off: the page needs an address"))?;
        let viewed = Viewed { databases: found, policy, timeouts, host_url };
        Ok(PageSettings { databases, viewed, http, options: page_access(environment)? })
    }
}

/// Reads who may see the page.
fn page_access(environment: &Environment) -> Result<PageOptions> {
    let token = environment.secret(PAGE_TOKEN)?;
    let min = PageOptions::TOKEN_MIN;
    if token.as_ref().is_some_and(|token| token.expose_secret().chars().count() < min) {
        let holder = environment.origin(PAGE_TOKEN);
        return Err(config(format!("what {holder} holds is refused: expected at least {min} characters")).into());
    }
    let hosts = table::page_host(environment)?.unwrap_or_default();
    let proxies = table::page_proxy(environment)?.unwrap_or_default();
    Ok(PageOptions { hosts, proxies, token })
}

/// The rules of a sweep, and how long its statements may take.
pub fn policy(environment: &Environment) -> Result<(Policy, Timeouts)> {
    let (mut policy, mut timeouts) = (Policy::default(), Timeouts::default());
    apply_policy(environment, &mut policy)?;
    table::apply_timeouts(environment, &mut timeouts)?;
    Ok((policy, timeouts))
}

/// Puts into a policy what is set of it.
pub fn apply_policy(environment: &Environment, policy: &mut Policy) -> Result<()> {
    table::apply_thresholds(environment, policy)?;
    table::apply_recovery(environment, policy)
}

/// The log filter, if it is set, and how logs are written.
pub fn log(environment: &Environment) -> Result<(Option<String>, LogFormat)> {
    Ok((table::log(environment)?, table::log_format(environment)?.unwrap_or_default()))
}

/// Reads who is notified of what.
pub fn notify(environment: &Environment) -> Result<Notify> {
    let events = table::notify_on(environment)?.unwrap_or_default();
    let events = listed(&events, &Notify::USUAL_EVENTS);
    let routes = Destination::ALL.iter().map(|destination| route(environment, *destination));
    Ok(Notify {
        routes: routes.filter_map(Result::transpose).collect::<Result<_>>()?,
        ping: ping(environment)?,
        events: events.ok_or_else(|| config(format!("SWEEP_NOTIFY_ON: {NOTHING_IS_LEFT}")))?,
    })
}

/// The setting that says where a destination is.
pub fn url_of(destination: Destination) -> String {
    variable(&format!("{}_url", destination.name()))
}

/// The receivers that are set, but for those that cannot be used.
pub fn usable_receivers(environment: &Environment) -> Notify {
    let routes = Destination::ALL.iter().filter_map(|destination| route(environment, *destination).ok().flatten());
    Notify { routes: routes.collect(), ping: ping(environment).ok().flatten(), ..Notify::default() }
}

fn ping(environment: &Environment) -> Result<Option<Target>> {
    at(environment, "SWEEP_PING_URL", Target::parse)
}

fn route(environment: &Environment, destination: Destination) -> Result<Option<NotifyRoute>> {
    let name = url_of(destination);
    let is_signed = destination == Destination::Webhook && environment.secret(&name)?.is_some();
    let key = if is_signed { Some(webhook_key(environment)?) } else { None };
    at(environment, &name, |url, private| NotifyRoute::parse(destination, url, private, key))
}

fn webhook_key(environment: &Environment) -> Result<Secret> {
    let secret = environment.secret(WEBHOOK_SECRET)?.ok_or_else(|| {
        let why = "what is not signed could come from anybody";
        config(format!("SWEEP_WEBHOOK_URL needs {WEBHOOK_SECRET} as well: {why}"))
    })?;
    // The reason stands behind no colon: there a secret would not be shown.
    let holder = environment.origin(WEBHOOK_SECRET);
    let refuse = |why| config(format!("what {holder} holds is refused: {why}"));
    Ok(Secret::parse(secret.expose_secret()).map_err(refuse)?)
}

/// What is at the URL that a secret holds; the second of the arguments says whether that may be in a private network.
fn at<T>(
    environment: &Environment,
    name: &str,
    parse: impl FnOnce(&str, bool) -> Result<T, String>,
) -> Result<Option<T>> {
    let private = table::notify_private(environment)?.unwrap_or_default();
    let Some(url) = environment.secret(name)? else { return Ok(None) };
    let parsed = parse(url.expose_secret(), private);
    parsed.map(Some).map_err(|why| config(format!("{}: {why}", environment.origin(name))).into())
}

const NOTHING_IS_LEFT: &str = "nothing is left of it, expected one at least";

/// Behind the options that are a command's own.
pub const LAST: usize = 900;

pub const WHAT_TO_SWEEP: &str = "What to sweep";
pub const HOW_IT_RUNS: &str = "How it runs";

/// What every command has, before its name or after it.
#[derive(Clone, Debug, Default, Args)]
pub struct CommonFlags {
    /// Read settings from this file, lines of NAME=VALUE
    #[arg(long, value_name = "FILE", global = true, display_order = LAST, hide_short_help = true)]
    pub config: Option<PathBuf>,
    /// Print the summary of a sweep alone, and log errors only
    #[arg(short, long, global = true, display_order = LAST, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log more, on stderr; -vv: more yet
    #[arg(short, long, global = true, display_order = LAST, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Default, Args)]
pub struct SweepFlags {
    /// Show what would be done and write nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Do not ask before writing, as at a terminal
    #[arg(short, long)]
    pub yes: bool,
    /// Do what this plan says, the output of `sweep -n -o json`; - is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "session", "issue", "step", "tenant", "shard"])]
    pub apply: Option<PathBuf>,
    #[command(flatten)]
    pub subjects: SubjectFlags,
    /// Exit with 2 if something was (in a dry run: would be) done
    #[arg(long, help_heading = HOW_IT_RUNS)]
    pub detailed_exitcode: bool,
    #[command(flatten)]
    pub scope: ScopeFlags,
}

/// Only these subjects.
#[derive(Debug, Default, Args)]
pub struct SubjectFlags {
    /// Only this session: its id, or what people call it
    #[arg(long, value_name = "SESSION", value_parser = parse::non_empty, help_heading = WHAT_TO_SWEEP)]
    pub session: Option<String>,
    /// Only this issue: its id, or what people call it, such as ACM-12
    #[arg(long, value_name = "ISSUE", value_parser = parse::non_empty, help_heading = WHAT_TO_SWEEP)]
    pub issue: Option<String>,
    /// Only this plan step: its id, or as in "Release 2.4 #2"
    #[arg(long, value_name = "STEP", value_parser = parse::non_empty, help_heading = WHAT_TO_SWEEP)]
    pub step: Option<String>,
}

impl SubjectFlags {
    pub fn named(self) -> Vec<(Kind, String)> {
        let named = [(Kind::Session, self.session), (Kind::Issue, self.issue), (Kind::Step, self.step)];
        named.into_iter().filter_map(|(kind, name)| Some((kind, name?))).collect()
    }
}

/// What any sweep looks at, started by hand or by the daemon.
#[derive(Clone, Debug, Default, Args)]
pub struct ScopeFlags {
    /// Only these kinds: sessions, issues, steps; -steps: all but these
    #[arg(long, value_name = "KINDS", value_parser = List(KINDS), value_delimiter = ',', allow_hyphen_values = true,
          hide_possible_values = true, help_heading = WHAT_TO_SWEEP)]
    pub only: Option<Vec<ListEntry<Kind>>>,
    /// Only what belongs to this tenant (Paperclip: the company's id)
    #[arg(long, value_name = "TENANT", value_parser = parse::non_empty, help_heading = WHAT_TO_SWEEP)]
    pub tenant: Option<String>,
    /// Go on although most of the work looks stranded
    #[arg(long, help_heading = HOW_IT_RUNS)]
    pub no_guard: bool,
}
