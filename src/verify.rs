//! Plays the contract of a host on throw-away copies of its database: what is promised of sweep on every host is tried
//! on this one, with the work that its fixtures make.

mod certificate;
mod checks;
mod fixtures;
pub mod nominated;
mod trial;

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;

pub use certificate::{Certificate, Check, Finding, Verdict};
pub use checks::rivals::Subprocess;
use checks::{candidates, cost, footprint, patience, rivals, story};
use fixtures::Fixtures;
use trial::Trial;

use crate::conclusion::Failure;
use crate::rules::Kind;
use crate::store::hosts::Host;
use crate::store::open::Url;
use crate::store::sandbox::Sandbox;
use crate::sweep::Cancel;

/// What to verify, and where.
pub struct Options {
    pub host: Arc<Host>,
    /// A database with the host's tables. It is copied, and stays as it is.
    pub database: Url,
    /// How much finished work the views are measured beside.
    pub rows: u32,
    pub program: Subprocess,
}

/// Tries every promise. An error says why it could not begin, or that a signal came; what is wrong with the host stands
/// in the certificate. `progress` is called with the name of each check before it begins.
pub fn verify(options: &Options, cancel: &Cancel, progress: &mut dyn FnMut(&str)) -> Result<Certificate> {
    let Options { host, database, rows, program } = options;
    let is_sqlite = matches!(database, Url::Sqlite(_));
    let fixtures = Fixtures::of(host, is_sqlite)?;
    let copy = Sandbox::of(database, host)?;
    let version = copy.connect(host)?.version()?;
    let installed = copy.copy()?;
    let mut verification =
        Verification { host, fixtures: &fixtures, installed: &installed, checks: Vec::new(), cancel, progress };
    verification.check(INSTALLATION, || footprint::installation(&installed, host));
    // Without its views there is nothing to try.
    if verification.holds() {
        verification.play(*rows, program);
        verification.check(REMOVAL, || footprint::removal(&mut Trial::new(&installed, host, &fixtures)?, &copy));
    }
    if let Some(conclusion) = cancel.conclusion() {
        return Err(Failure::new(conclusion, "a signal came: there is no certificate".to_owned()).into());
    }
    Ok(Certificate {
        schema: 1,
        host: host.name().to_owned(),
        title: host.title().to_owned(),
        digest: host.digest(),
        version: env!("CARGO_PKG_VERSION"),
        database: version,
        holds: verification.holds(),
        checks: verification.checks,
    })
}

/// Its name, and in a sentence what is promised.
type Promise = (&'static str, &'static str);

const INSTALLATION: Promise = ("installation", "it fits the reference; nothing of the host's changes");
const CONTINUATION: Promise = ("continuation", "stranded work gets one wake; a second sweep does nothing");
const RECOVERY: Promise = ("recovery", "work that goes on or is finished is left alone");
const ESCALATION: Promise = ("escalation", "when no wake helped, people see it, once");
const PATIENCE: Promise = ("patience", "what is at work, waits or must not be woken is left alone");
const CANDIDATES: Promise = ("candidates", "all that the rules would touch is nominated");
const RIVALS: Promise = ("rivals", "several sweeps at once do everything once");
const LOCKS: Promise = ("locks", "sweep and the host never have the same work in hand");
const KILLS: Promise = ("kills", "a sweep that is killed leaves nothing half done");
const FOOTPRINT: Promise = ("footprint", "a dry run writes nothing, a sweep only what it must");
const COST: Promise = ("cost", "nomination, and the facts of one, beside finished work");
const REMOVAL: Promise = ("removal", "uninstalling leaves the schema as it was");

struct Verification<'a> {
    host: &'a Host,
    fixtures: &'a Fixtures,
    installed: &'a Sandbox,
    checks: Vec<Check>,
    cancel: &'a Cancel,
    progress: &'a mut dyn FnMut(&str),
}

impl Verification<'_> {
    /// Each with work of its own.
    fn play(&mut self, rows: u32, program: &Subprocess) {
        self.of_each_kind(CONTINUATION, story::continuation);
        self.of_each_kind(RECOVERY, story::recovery);
        self.of_each_kind(ESCALATION, story::escalation);
        self.of_each_kind(PATIENCE, patience::patience);
        self.of_each_kind(CANDIDATES, candidates::candidates);
        self.of_each_kind(RIVALS, rivals::rivals);
        self.of_each_kind(LOCKS, rivals::locks);
        self.of_each_kind(KILLS, |trial, kind| rivals::kills(trial, kind, program));
        self.of_each_kind(FOOTPRINT, footprint::footprint);
        self.of_each_kind(COST, |trial, kind| cost::cost(trial, kind, rows));
    }

    fn of_each_kind(&mut self, promise: Promise, body: impl Fn(&mut Trial, Kind) -> Result<Finding>) {
        let (host, fixtures, installed) = (self.host, self.fixtures, self.installed);
        let of_kind = |kind: Kind| {
            let mut trial = Trial::new(installed, host, fixtures)?;
            body(&mut trial, kind)
        };
        self.check(promise, || Ok(Finding::all(host.kinds().into_iter().map(of_kind).collect::<Result<_>>()?)));
    }

    /// What fails is broken, whatever was promised. After a signal nothing more is tried, and the copies are dropped.
    fn check(&mut self, (name, promise): Promise, body: impl FnOnce() -> Result<Finding>) {
        if self.cancel.is_set() {
            return;
        }
        (self.progress)(name);
        let began = Instant::now();
        let finding = body().unwrap_or_else(|error| Finding::Broken(vec![format!("{error:#}")]));
        self.checks.push(finding.into_check(name, promise, began.elapsed()));
    }

    fn holds(&self) -> bool {
        self.checks.iter().all(|check| check.verdict != Verdict::Broken)
    }
}
