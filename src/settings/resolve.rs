//! What each command goes by, from its flags and the environment.

use std::io::{IsTerminal, stdout};
use std::path::{Path, PathBuf};
use std::sync::Once;

use anyhow::Result;
use chrono::TimeDelta;
use chrono_tz::Tz;
use secrecy::{ExposeSecret, SecretString};
use tracing::warn;

use super::database::LISTEN_URL;
use super::environment::Environment;
use super::flags::{DaemonFlags, IntervalFlag, LinkFlag, PolicyFlags, SweepFlags};
use super::table::Variables;
use crate::conclusion::{config, usage};
use crate::cycle::CycleOptions;
use crate::daemon::DaemonOptions;
use crate::notify::{Notify, Secret, Target};
use crate::parse::{Entry, LogFormat, listed};
use crate::report::Format;
use crate::rules::{Kind, Policy};
use crate::screen::report::VARIABLE;
use crate::store::Timeouts;
use crate::store::connect::databases::{Databases, Found};
use crate::store::connect::open::Url;
use crate::store::hosts::links::HostUrl;
use crate::store::work::candidates::Shard;
use crate::supervisor::keeper::KeeperOptions;
use crate::sweep::plan::Plan;
use crate::sweep::{KindMode, Options, Selection};
use crate::text::redact;
use crate::{files, metrics};

/// A subject takes about 400 bytes: room for 40,000 of them.
const PLAN_BYTES_MAX: u64 = 16 << 20;

const WEBHOOK_SECRET: &str = "SWEEP_WEBHOOK_SECRET";

/// What a sweep by hand goes by, and how its report is printed.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What is swept.
    pub databases: Databases,
    /// How, with the first of them; the others differ in their database alone.
    pub cycle: CycleOptions,
    pub output: Format,
}

impl Settings {
    pub fn resolve(flags: SweepFlags, environment: &Environment) -> Result<Settings> {
        let variables = environment.variables()?;
        let scope = flags.scope;
        let (policy, timeouts) = scope.policy.resolve(&variables)?;
        let databases = environment.databases(&scope.database)?;
        let first = databases.find().swap_remove(0).url;
        let mut options = Options { policy, timeouts, ..Options::of(first) };

        let subjects = flags.subjects.named();
        if databases.only().is_none() && (flags.apply.is_some() || !subjects.is_empty()) {
            let what = "--apply, --session, --issue and --step are about one database";
            return Err(usage(format!("{what}: name it by --database, without a pattern")).into());
        }
        if scope.selection.only.is_some() && !subjects.is_empty() {
            return Err(usage(
                "--only names kinds, --session, --issue and --step name subjects: give one or the other",
            )
            .into());
        }
        let only_option = if scope.selection.only.is_some() { "--only" } else { "SWEEP_ONLY" };
        let selection = scope.selection.or(&variables)?;
        options.tenant = selection.tenant;
        options.shard = selection.shard.filter(Shard::is_part);
        let is_restricted = options.tenant.is_some() || selection.only.is_some() || options.shard.is_some();
        if flags.apply.is_some() && is_restricted {
            return Err(
                usage("--apply: a plan names its subjects: unset SWEEP_TENANT, SWEEP_ONLY and SWEEP_SHARD").into()
            );
        }
        options.selection = match (flags.apply, subjects.is_empty(), selection.only) {
            (Some(path), ..) => Selection::Plan(Box::new(read_plan(&path)?)),
            (None, false, _) => Selection::Subjects(subjects),
            (None, true, Some(only)) => {
                let mut kinds = some_of(only_option, &only, Kind::ALL)?;
                kinds.sort();
                Selection::Kinds(kinds)
            }
            (None, true, None) => options.selection,
        };

        scope.limits.or(&variables)?.apply(&mut options);
        options.modes.retain(|_, mode| *mode != KindMode::On);
        if scope.no_guard {
            options.guard = None;
        }

        let metrics_option = if scope.machine.metrics_file.is_some() { "--metrics-file" } else { "SWEEP_METRICS_FILE" };
        let machine = scope.machine.or(&variables)?;
        let metrics_file = machine.metrics_file.clone();
        // That its directory is missing is said before the sweep: afterwards it would be a warning that nobody reads.
        if let Some(path) = &metrics_file {
            metrics::refuse_path(path).map_err(|why| config(format!("{metrics_option}: {why}")))?;
        }
        machine.apply(&mut options);

        options.host_url = environment.host_url(scope.links)?;
        let notify = environment.notify()?;
        options.subscriptions = notify.subscriptions();
        options.dry_run = flags.dry_run;
        options.concludes_changed = flags.detailed_exitcode;
        let output = flags.output.or(&variables)?.output.unwrap_or_default();
        let cycle = CycleOptions { notify, metrics_file, ..CycleOptions::of(options) };
        Ok(Settings { databases, cycle, output })
    }
}

/// The plan in a file; `-` is stdin.
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

impl DaemonOptions {
    pub fn resolve(flags: DaemonFlags, environment: &Environment) -> Result<DaemonOptions> {
        let sweep = SweepFlags { scope: flags.scope, ..SweepFlags::default() };
        let Settings { databases, cycle, output: _ } = Settings::resolve(sweep, environment)?;
        let mut options = DaemonOptions { databases, ..DaemonOptions::of(cycle) };
        let variables = environment.variables()?;
        flags.schedule.or(&variables)?.apply(&mut options);
        flags.http.or(&variables)?.apply(&mut options);
        flags.page.or(&variables)?.apply(&mut options);
        options.page_options = environment.page(flags.page_access)?;
        if options.page && options.http.is_none() {
            return Err(config("SWEEP_PAGE is on and SWEEP_HTTP is off: the page needs an address").into());
        }
        options.listen_url = environment.listen_url()?;
        let sweep = &options.cycle.sweep;
        let is_sqlite = |found: &Found| matches!(found.url, Url::Sqlite(_));
        if options.listen && options.databases.find().iter().all(is_sqlite) {
            return Err(config("--listen: only PostgreSQL can notify of runs that end, this database is SQLite").into());
        }
        if options.listen_url.is_some() && options.databases.only().is_none() {
            return Err(config(format!("{LISTEN_URL} is of one database, and several are named: unset it")).into());
        }
        options.listen &= sweep.selection.kinds().contains(&Kind::Issue) && sweep.mode(Kind::Issue) != KindMode::Off;
        let swept = || options.databases.find().into_iter().map(|found| found.url).collect();
        let listens_at: Vec<Url> = options.listen_url.clone().map_or_else(swept, |url| vec![url]);
        let pooler = listens_at.iter().find_map(|url| environment.pooler(url));
        pooler.iter().filter(|_| options.listen).for_each(|pooler| warn_of_silence(pooler));
        Ok(options)
    }
}

/// The values of a list that was set, of which one at least must be left.
fn some_of<T: Copy + PartialEq>(name: &str, entries: &[Entry<T>], default: &[T]) -> Result<Vec<T>> {
    listed(entries, default)
        .ok_or_else(|| config(format!("{name}: nothing is left of it, expected one at least")).into())
}

/// Once: a daemon reads its settings again and again.
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

impl PolicyFlags {
    fn resolve(self, variables: &Variables) -> Result<(Policy, Timeouts)> {
        let (mut policy, mut timeouts) = (Policy::default(), Timeouts::default());
        self.stranded.or(variables)?.apply(&mut policy);
        self.recovery.or(variables)?.apply(&mut policy);
        self.timeouts.or(variables)?.apply(&mut timeouts);
        Ok((policy, timeouts))
    }

    /// This policy, but for the limits that flags give.
    pub fn over(&self, mut policy: Policy) -> Policy {
        self.stranded.clone().apply(&mut policy);
        self.recovery.clone().apply(&mut policy);
        policy
    }
}

impl Environment {
    /// What a sweep with these flags would go by.
    pub fn policy(&self, flags: PolicyFlags) -> Result<(Policy, Timeouts)> {
        flags.resolve(&self.variables()?)
    }

    /// None when it is not set: then the latest sweep's says more than the default does.
    pub fn step_stalled_after(&self) -> Result<Option<TimeDelta>> {
        self.variables()?.step_stalled_after()
    }

    /// The log filter, if it is set, and how logs are written.
    pub fn log(&self) -> Result<(Option<String>, LogFormat)> {
        let variables = self.variables()?;
        Ok((variables.log()?, variables.log_format()?.unwrap_or_default()))
    }

    /// The device and the inode of systemd's journal, when that is where a service's output goes.
    pub fn journal_stream(&self) -> Option<&str> {
        self.get("JOURNAL_STREAM")
    }

    /// Who is notified of what.
    pub fn notify(&self) -> Result<Notify> {
        let variables = self.variables()?;
        let private = variables.notify_private()?.unwrap_or_default();
        let events = variables.notify_on()?.unwrap_or_default();
        let target = |name: &str| -> Result<Option<Target>> {
            let Some(url) = self.secret(name)? else { return Ok(None) };
            let target = Target::parse(url.expose_secret(), private);
            target.map(Some).map_err(|why| config(format!("{}: {why}", self.origin(name))).into())
        };
        let webhook = match (target("SWEEP_WEBHOOK_URL")?, self.secret(WEBHOOK_SECRET)?) {
            (None, _) => None,
            (Some(_), None) => {
                let why = "what is not signed could come from anybody";
                return Err(config(format!("SWEEP_WEBHOOK_URL needs {WEBHOOK_SECRET} as well: {why}")).into());
            }
            (Some(target), Some(secret)) => Some((target, self.webhook_secret(&secret)?)),
        };
        Ok(Notify {
            slack: target("SWEEP_SLACK_URL")?,
            webhook,
            ping: target("SWEEP_PING_URL")?,
            events: some_of("SWEEP_NOTIFY_ON", &events, &Notify::USUAL_EVENTS)?,
        })
    }

    fn webhook_secret(&self, secret: &SecretString) -> Result<Secret> {
        let secret = Secret::parse(secret.expose_secret());
        // Not behind a colon: there a secret would not be shown.
        secret.map_err(|why| config(format!("what {} holds is refused: {why}", self.origin(WEBHOOK_SECRET))).into())
    }

    /// How often a watcher looks, and the tenant of a session that it begins.
    pub fn watch(&self, interval: IntervalFlag, tenant: Option<String>) -> Result<(TimeDelta, Option<String>)> {
        let variables = self.variables()?;
        let IntervalFlag { watch_interval } = interval.or(&variables)?;
        let tenant = if tenant.is_some() { tenant } else { variables.tenant()? };
        Ok((watch_interval.unwrap_or(KeeperOptions::INTERVAL), tenant))
    }

    /// Where the host's own pages are.
    pub fn host_url(&self, flag: LinkFlag) -> Result<Option<HostUrl>> {
        Ok(flag.or(&self.variables()?)?.host_url)
    }

    /// What the host's API asks for.
    pub fn host_key(&self) -> Result<Option<SecretString>> {
        self.secret("SWEEP_HOST_KEY")
    }

    /// The zone of this machine, for times that name none.
    pub fn zone(&self) -> Tz {
        let name = self.get("TZ").map(|name| name.trim_start_matches(':').to_owned());
        let name = name.or_else(|| iana_time_zone::get_timezone().ok());
        name.and_then(|name| name.parse().ok()).unwrap_or(Tz::UTC)
    }

    /// Does the operator's terminal know titles and notifications? The console of Linux prints some of them.
    pub fn shows_sequences(&self) -> bool {
        stdout().is_terminal() && !matches!(self.get("TERM"), None | Some("dumb" | "linux"))
    }

    /// Where the watcher listens that started this process, if one did.
    pub fn watcher(&self) -> Option<PathBuf> {
        self.get(VARIABLE).map(PathBuf::from)
    }
}
