//! Plays the contract of a host on throw-away copies of its database: what is promised of sweep on every host is tried
//! on this one, with the work that its fixtures make.

mod certificate;
mod checks {
    pub mod cost;
    pub mod coverage;
    pub mod growth;
    pub mod rivals;
    pub mod story;
}
mod fixtures;
pub mod nominated;
mod trial;

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;

pub(crate) use certificate::Ruling;
pub use certificate::{Certificate, Check, CheckVerdict, Promise};
pub use checks::rivals::Subprocess;
use checks::{cost, coverage, rivals, story};
pub(crate) use fixtures::{Act, Block, Fixtures, Made, Values, WORDS};
pub(crate) use trial::{AN_HOUR, DAYS_AGO, JUST_NOW, LONG_AGO, SweptSubjects, Trial, block_error, name};

use crate::conclusion::Failure;
use crate::rules::Kind;
use crate::store::connect::open::Url;
use crate::store::connect::sandbox::Sandbox;
use crate::store::hosts::folders::Host;
use crate::sweep::Cancel;

/// What to verify, and where.
pub struct VerifyOptions {
    pub host: Arc<Host>,
    /// A database with the host's tables. It is copied, and stays as it is.
    pub database: Url,
    /// How much finished work the views are measured beside.
    pub rows: u32,
    pub program: Subprocess,
    /// The promises to try, and installation in any case; none: all of them, for a certificate.
    pub only: Vec<Promise>,
}

impl VerifyOptions {
    /// Without an installation there is nothing to try.
    fn includes(&self, promise: Promise) -> bool {
        self.only.is_empty() || promise == Promise::Installation || self.only.contains(&promise)
    }
}

/// Tries every promise, or those of `options.only`. An error says why it could not begin, or that a signal came; what
/// is wrong with the host stands in the certificate. `progress` is called with the name of each check before it begins.
pub fn verify(options: &VerifyOptions, cancel: &Cancel, progress: &mut dyn FnMut(&str)) -> Result<Certificate> {
    let VerifyOptions { host, database, rows, program, .. } = options;
    let fixtures = Fixtures::of_host(host, database.dialect())?;
    let copy = Sandbox::copy_of(database, host)?;
    let version = copy.connect(host)?.version()?;
    let installed = copy.copy()?;
    let mut verification =
        Verification { options, fixtures: &fixtures, installed: &installed, checks: Vec::new(), cancel, progress };
    verification.check(Promise::Installation, || rivals::installation(&installed, host));
    if !verification.has(CheckVerdict::Broken) && !verification.has(CheckVerdict::NotDecided) {
        verification.play(*rows, program);
        verification.check(Promise::Removal, || rivals::removal(&mut Trial::new(&installed, host, &fixtures)?, &copy));
    }
    if let Some(conclusion) = cancel.conclusion() {
        return Err(Failure::new(conclusion, "a signal came: there is no certificate".to_owned()).into());
    }
    let left_out: Vec<Promise> = Promise::ALL.iter().copied().filter(|promise| !options.includes(*promise)).collect();
    Ok(Certificate {
        schema: 1,
        host: host.name().to_owned(),
        title: host.title().to_owned(),
        digest: host.digest(),
        version: env!("CARGO_PKG_VERSION"),
        database: version,
        holds: match verification.has(CheckVerdict::Broken) {
            true => Some(false),
            false => (left_out.is_empty() && !verification.has(CheckVerdict::NotDecided)).then_some(true),
        },
        left_out: left_out.into_iter().map(Promise::name).collect(),
        checks: verification.checks,
    })
}

struct Verification<'a> {
    options: &'a VerifyOptions,
    fixtures: &'a Fixtures,
    installed: &'a Sandbox,
    checks: Vec<Check>,
    cancel: &'a Cancel,
    progress: &'a mut dyn FnMut(&str),
}

impl Verification<'_> {
    /// Tries the promises but those of installation and removal, each with work of its own.
    fn play(&mut self, rows: u32, program: &Subprocess) {
        self.of_each_kind(Promise::Continuation, story::continuation);
        self.of_each_kind(Promise::Recovery, story::recovery);
        self.of_each_kind(Promise::Escalation, story::escalation);
        self.of_each_kind(Promise::Patience, story::patience);
        self.of_each_kind(Promise::Candidates, nominated::candidates);
        self.of_each_kind(Promise::Rivals, rivals::rivals);
        self.of_each_kind(Promise::Locks, rivals::locks);
        self.of_each_kind(Promise::Kills, |trial, kind| rivals::kills(trial, kind, program));
        self.of_each_kind(Promise::Footprint, rivals::footprint);
        self.of_each_kind(Promise::Cost, |trial, kind| cost::cost(trial, kind, rows));
        let (host, fixtures, installed) = (&self.options.host, self.fixtures, self.installed);
        self.check(Promise::Coverage, || coverage::coverage(&mut Trial::new(installed, host, fixtures)?));
    }

    fn of_each_kind(&mut self, promise: Promise, body: impl Fn(&mut Trial, Kind) -> Result<Ruling>) {
        let (host, fixtures, installed) = (&self.options.host, self.fixtures, self.installed);
        let of_kind = |kind: Kind| {
            let mut trial = Trial::new(installed, host, fixtures)?;
            let ruling = body(&mut trial, kind).unwrap_or_else(|error| Ruling::by_error(&error));
            Ok(ruling.unless_hindered(trial.hindrances))
        };
        self.check(promise, || Ok(Ruling::together(host.kinds().into_iter().map(of_kind).collect::<Result<_>>()?)));
    }

    /// What fails is broken, whatever was promised, unless it may pass. After a signal nothing more is tried, and the
    /// copies are dropped.
    fn check(&mut self, promise: Promise, body: impl FnOnce() -> Result<Ruling>) {
        if self.cancel.is_set() || !self.options.includes(promise) {
            return;
        }
        (self.progress)(promise.name());
        let began = Instant::now();
        let ruling = body().unwrap_or_else(|error| Ruling::by_error(&error));
        self.checks.push(ruling.into_check(promise, began.elapsed()));
    }

    fn has(&self, verdict: CheckVerdict) -> bool {
        self.checks.iter().any(|check| check.verdict == verdict)
    }
}
