//! Names in the database that begin so: read only, within a second, and without a word when that fails.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use chrono::TimeDelta;
use clap_complete::engine::CompletionCandidate;
use diesel::QueryResult;

use crate::rules::Kind;
use crate::rules::request::Request;
use crate::settings::database::find_database;
use crate::settings::file::complete;
use crate::settings::{Environment, TypedSettings};
use crate::store::Label;
use crate::store::hosts::rights::Purpose;
use crate::store::work::exemptions::Exempts;
use crate::store::work::find;
use crate::store::{Access, Timeouts};
use crate::text::redact;

/// Nobody waits longer at a TAB.
const PATIENCE: Duration = Duration::from_secs(1);

/// What an argument names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Names {
    Subjects(Kind),
    IssuesAndSteps,
    /// Subjects of the kind that stands before it: `explain issue`, `exempt add agent`.
    SubjectsOfKind,
    Plans,
    Tenants,
}

impl Names {
    /// What the argument of this name names.
    pub fn of(argument: &str) -> Option<Names> {
        Some(match argument {
            "session" => Names::Subjects(Kind::Session),
            "issue" => Names::Subjects(Kind::Issue),
            "step" => Names::Subjects(Kind::Step),
            "issue_or_step" => Names::IssuesAndSteps,
            "name" => Names::SubjectsOfKind,
            "plan" => Names::Plans,
            "tenant" => Names::Tenants,
            _ => return None,
        })
    }

    pub fn beginning(self, current: &OsStr) -> Vec<CompletionCandidate> {
        let (found, read) = channel();
        let current = current.to_string_lossy().into_owned();
        thread::spawn(move || found.send(self.read(&current, &Line::of_process()).unwrap_or_default()));
        read.recv_timeout(PATIENCE).unwrap_or_default().iter().filter_map(candidate).collect()
    }

    fn read(self, current: &str, line: &Line) -> Result<Vec<Label>> {
        let typed = TypedSettings {
            databases: Vec::from_iter(line.after("--database").or_else(|| line.after("-d"))),
            assignments: Vec::new(),
            file: line.after("--config").map(PathBuf::from),
        };
        let environment = complete(Environment::of_process(), &typed)?;
        let mut store = find_database(&environment)?.open_to(Purpose::Look)?;
        let kinds = store.kinds.clone();
        let timeouts = Timeouts { statement: TimeDelta::from_std(PATIENCE)?, ..Timeouts::default() };
        Ok(store.db.in_transaction(Access::ReadOnly, &timeouts, |db| match (self, line.exempts()) {
            (Names::Subjects(kind), _) => find::subjects_beginning(db, kind, current),
            (Names::SubjectsOfKind, Some(Exempts::Agent)) => find::agents_beginning(db, current),
            (Names::SubjectsOfKind, Some(Exempts::Tenant)) => find::tenants_beginning(db, &kinds, current),
            (Names::SubjectsOfKind, of) => {
                let kind = of.and_then(Exempts::kind);
                kind.map_or(Ok(Vec::new()), |kind| find::subjects_beginning(db, kind, current))
            }
            (Names::IssuesAndSteps, _) => {
                let provided = Request::Wake.kinds().iter().filter(|kind| kinds.contains(kind));
                let found = provided.map(|kind| find::subjects_beginning(db, *kind, current));
                Ok(found.collect::<QueryResult<Vec<_>>>()?.concat())
            }
            (Names::Plans, _) => find::plans_beginning(db, current),
            (Names::Tenants, _) => find::tenants_beginning(db, &kinds, current),
        })?)
    }
}

/// What is inserted is one plain word: shells differ in how they would quote another. The id is always right.
fn candidate(label: &Label) -> Option<CompletionCandidate> {
    let is_plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    let (name, id) = (label.name(), label.redact_id());
    if is_plain(&name) {
        return Some(CompletionCandidate::new(name));
    }
    is_plain(&id).then(|| CompletionCandidate::new(id).help(Some(redact(&name).into())))
}

/// What stands on the line that is completed.
struct Line(Vec<String>);

impl Line {
    fn of_process() -> Line {
        let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
        Line(words.map(OsString::into_string).filter_map(Result::ok).collect())
    }

    /// The value of an option.
    fn after(&self, option: &str) -> Option<String> {
        let joined = self.0.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('='));
        let apart = || self.0.iter().skip_while(|word| *word != option).nth(1).map(String::as_str);
        joined.or_else(apart).map(str::to_owned)
    }

    /// The kind that stands on it: of subject, or what else can be exempt.
    fn exempts(&self) -> Option<Exempts> {
        Exempts::ALL.iter().copied().find(|of| self.0.iter().any(|word| word == of.name()))
    }
}
