//! What a verification came to.

use std::time::Duration;

use serde::Serialize;

use diesel::result::Error;

use super::Promise;
use crate::conclusion::{Conclusion, Failure};
use crate::store::db::errors;
use crate::text::{cut, redact};

/// More of the same says nothing new.
const EVIDENCE_MAX: usize = 5;
/// Characters of one piece of it.
const LENGTH_MAX: usize = 1000;

/// The fields are those of the JSON.
#[derive(Debug, Serialize)]
pub struct Certificate {
    pub schema: u32,
    pub host: String,
    pub title: String,
    /// SHA-256 of the host's files.
    pub digest: String,
    /// The version of sweep.
    pub version: &'static str,
    /// The server or the library that it was verified on.
    pub database: String,
    /// Is every promise kept that could be tried? Unknown if nothing is broken, but some were left out or not decided.
    pub holds: Option<bool>,
    /// The promises that nobody asked for: with any of these it is no certificate.
    pub left_out: Vec<&'static str>,
    pub checks: Vec<Check>,
}

impl Certificate {
    /// A broken promise is not mended by trying again; one that is not decided may be.
    pub fn conclusion(&self) -> Conclusion {
        let is_any = |verdict| self.checks.iter().any(|check| check.verdict == verdict);
        match self.holds {
            Some(false) => Conclusion::SomeFailed,
            _ if is_any(Verdict::NotDecided) => Conclusion::Busy,
            _ => Conclusion::Done,
        }
    }
}

/// One promise, and what became of it.
#[derive(Debug, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub promise: &'static str,
    pub verdict: Verdict,
    /// What was tried and seen, or why it was not tried.
    pub seen: String,
    /// How a broken promise showed, what stood in the way of one that is not decided, or all that was not tried of one.
    pub evidence: Vec<String>,
    pub duration_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Verdict {
    Kept,
    Broken,
    /// The database did not do all that was asked for: its locks were held, or it took too long.
    NotDecided,
    /// What it needs is not there.
    NotTried,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a check found.
#[derive(Debug)]
pub enum Finding {
    Kept(String),
    Broken(Vec<String>),
    NotDecided(Vec<String>),
    /// Why, and what exactly.
    NotTried(String, Vec<String>),
}

impl Finding {
    /// Kept if nothing speaks against it.
    pub fn of(seen: impl Into<String>, evidence: Vec<String>) -> Finding {
        if evidence.is_empty() { Finding::Kept(seen.into()) } else { Finding::Broken(evidence) }
    }

    /// An error in the middle of a check: it decides nothing if it may pass, and else is evidence.
    pub fn of_error(error: &anyhow::Error) -> Finding {
        let passes = |error: &Error| errors::is_outage(error) || errors::may_pass(&error.to_string());
        let is_away = |failure: &Failure| matches!(failure.conclusion, Conclusion::Busy | Conclusion::Unavailable);
        let may_pass = error
            .chain()
            .any(|cause| cause.downcast_ref().is_some_and(passes) || cause.downcast_ref().is_some_and(is_away));
        let words = vec![format!("{error:#}")];
        if may_pass { Finding::NotDecided(words) } else { Finding::Broken(words) }
    }

    /// What seems broken is not decided where the database did not do all that was asked for.
    pub fn unless_hindered(self, hindrances: Vec<String>) -> Finding {
        match self {
            Finding::Broken(_) if !hindrances.is_empty() => Finding::NotDecided(hindrances),
            finding => finding,
        }
    }

    /// Of several kinds of work: broken if it is for one of them.
    pub fn all(findings: Vec<Finding>) -> Finding {
        let (mut seen, mut evidence, mut undecided, mut untried) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for finding in findings {
            match finding {
                Finding::Kept(what) => seen.push(what),
                Finding::Broken(why) => evidence.extend(why),
                Finding::NotDecided(why) => undecided.extend(why),
                Finding::NotTried(why, _) => untried.push(why),
            }
        }
        if evidence.is_empty() && !undecided.is_empty() {
            return Finding::NotDecided(undecided);
        }
        if evidence.is_empty() && seen.is_empty() {
            return Finding::NotTried(untried.join("; "), Vec::new());
        }
        Finding::of([seen, untried].concat().join("; "), evidence)
    }

    pub(super) fn into_check(self, promise: Promise, took: Duration) -> Check {
        let (verdict, seen, evidence) = match self {
            Finding::Kept(seen) => (Verdict::Kept, seen, Vec::new()),
            Finding::Broken(evidence) => (Verdict::Broken, further(&evidence), evidence),
            Finding::NotDecided(evidence) => (Verdict::NotDecided, further(&evidence), evidence),
            Finding::NotTried(why, what) => (Verdict::NotTried, why, what),
        };
        let most = if verdict == Verdict::NotTried { usize::MAX } else { EVIDENCE_MAX };
        let evidence = evidence.iter().take(most).map(|why| cut(&redact(why), LENGTH_MAX)).collect();
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        Check { name: promise.name(), promise: promise.sentence(), verdict, seen, evidence, duration_ms }
    }
}

/// How much evidence there is beside what is shown.
fn further(evidence: &[String]) -> String {
    match evidence.len().saturating_sub(EVIDENCE_MAX) {
        0 => String::new(),
        further => format!("and {further} more"),
    }
}
