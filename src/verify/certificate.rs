//! What a verification came to.

use std::time::Duration;

use serde::Serialize;

use super::Promise;
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
    /// Is every promise kept that could be tried? Unknown if nothing is broken, but some were left out.
    pub holds: Option<bool>,
    /// The promises that nobody asked for: with any of these it is no certificate.
    pub left_out: Vec<&'static str>,
    pub checks: Vec<Check>,
}

/// One promise, and what became of it.
#[derive(Debug, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub promise: &'static str,
    pub verdict: Verdict,
    /// What was tried and seen, or why it was not tried.
    pub seen: String,
    /// Of one that is broken: how that showed.
    pub evidence: Vec<String>,
    pub duration_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Verdict {
    Kept,
    Broken,
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
    NotTried(String),
}

impl Finding {
    /// Kept if nothing speaks against it.
    pub fn of(seen: impl Into<String>, evidence: Vec<String>) -> Finding {
        if evidence.is_empty() { Finding::Kept(seen.into()) } else { Finding::Broken(evidence) }
    }

    /// Of several kinds of work: broken if it is for one of them.
    pub fn all(findings: Vec<Finding>) -> Finding {
        let (mut seen, mut evidence, mut untried) = (Vec::new(), Vec::new(), Vec::new());
        for finding in findings {
            match finding {
                Finding::Kept(what) => seen.push(what),
                Finding::Broken(why) => evidence.extend(why),
                Finding::NotTried(why) => untried.push(why),
            }
        }
        if evidence.is_empty() && seen.is_empty() {
            return Finding::NotTried(untried.join("; "));
        }
        Finding::of([seen, untried].concat().join("; "), evidence)
    }

    pub(super) fn into_check(self, promise: Promise, took: Duration) -> Check {
        let (verdict, seen, evidence) = match self {
            Finding::Kept(seen) => (Verdict::Kept, seen, Vec::new()),
            Finding::Broken(evidence) => {
                let further = evidence.len().saturating_sub(EVIDENCE_MAX);
                let seen = if further == 0 { String::new() } else { format!("and {further} more") };
                let shown = evidence.into_iter().take(EVIDENCE_MAX).map(|why| cut(&redact(&why), LENGTH_MAX));
                (Verdict::Broken, seen, shown.collect())
            }
            Finding::NotTried(why) => (Verdict::NotTried, why, Vec::new()),
        };
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        Check { name: promise.name(), promise: promise.sentence(), verdict, seen, evidence, duration_ms }
    }
}
