//! What is promised of a host, and what a verification of it came to.

use std::time::Duration;

use diesel::result::Error;
use serde::Serialize;
use strum::EnumMessage;

use crate::conclusion::{Conclusion, Failure};
use crate::store::db::errors;
use crate::text::{cut, redact};

/// More of the same says nothing new.
const EVIDENCE_MAX: usize = 5;
/// Characters of one piece of it.
const LENGTH_MAX: usize = 1000;

/// What is promised of a host. Each promise has a check of the same name, which tries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumMessage, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Promise {
    #[strum(message = "it fits the reference; nothing of the host's changes")]
    Installation,
    #[strum(message = "stranded work gets one wake; a second sweep does nothing")]
    Continuation,
    #[strum(message = "work that goes on or is finished is left alone")]
    Recovery,
    #[strum(message = "when no wake helped, people see it, once")]
    Escalation,
    #[strum(message = "what is at work, waits or must not be woken is left alone")]
    Patience,
    #[strum(message = "all that the rules would touch is nominated")]
    Candidates,
    #[strum(message = "several sweeps at once do everything once")]
    Rivals,
    #[strum(message = "sweep and the host never have the same work in hand")]
    Locks,
    #[strum(message = "a sweep that is killed leaves nothing half done")]
    Kills,
    #[strum(message = "a dry run writes nothing, a sweep only what it must")]
    Footprint,
    #[strum(message = "nomination, and the facts of one, beside finished work")]
    Cost,
    #[strum(message = "the fixtures make each state that the tables allow")]
    Coverage,
    #[strum(message = "uninstalling leaves the schema as it was")]
    Removal,
}

impl Promise {
    /// All promises, in the order in which they are tried.
    pub const ALL: &[Promise] = <Promise as strum::VariantArray>::VARIANTS;

    /// The name of its check.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What is promised, in words.
    pub fn sentence(self) -> &'static str {
        self.get_message().expect("a promise in words")
    }
}

/// What a verification came to. The fields are those of the JSON.
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
            _ if is_any(CheckVerdict::NotDecided) => Conclusion::Busy,
            _ => Conclusion::Done,
        }
    }
}

/// One promise, and what became of it.
#[derive(Debug, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub promise: &'static str,
    pub verdict: CheckVerdict,
    /// What was tried and seen, or why it was not tried.
    pub seen: String,
    /// How a broken promise showed, what stood in the way of one that is not decided, or all that was not tried of one.
    pub evidence: Vec<String>,
    pub duration_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CheckVerdict {
    Kept,
    Broken,
    /// The database did not do all that was asked for: its locks were held, or it took too long.
    NotDecided,
    /// What it needs is not there.
    NotTried,
}

impl CheckVerdict {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a check found.
#[derive(Debug)]
pub struct Ruling {
    verdict: CheckVerdict,
    /// What was tried and seen, or why it was not tried.
    seen: String,
    evidence: Vec<String>,
}

impl Ruling {
    /// Kept if nothing speaks against it.
    pub fn by_evidence(seen: impl Into<String>, evidence: Vec<String>) -> Ruling {
        match evidence.is_empty() {
            true => Ruling { verdict: CheckVerdict::Kept, seen: seen.into(), evidence },
            false => Ruling { verdict: CheckVerdict::Broken, seen: String::new(), evidence },
        }
    }

    /// Why nothing, or not all, was tried, and what exactly.
    pub fn not_tried(seen: impl Into<String>, evidence: Vec<String>) -> Ruling {
        Ruling { verdict: CheckVerdict::NotTried, seen: seen.into(), evidence }
    }

    fn not_decided(evidence: Vec<String>) -> Ruling {
        Ruling { verdict: CheckVerdict::NotDecided, seen: String::new(), evidence }
    }

    /// An error in the middle of a check: it decides nothing if it may pass, and else is evidence.
    pub fn by_error(error: &anyhow::Error) -> Ruling {
        let passes = |error: &Error| errors::is_outage(error) || errors::may_pass(&error.to_string());
        let is_away = |failure: &Failure| matches!(failure.conclusion, Conclusion::Busy | Conclusion::Unavailable);
        let may_pass = error
            .chain()
            .any(|cause| cause.downcast_ref().is_some_and(passes) || cause.downcast_ref().is_some_and(is_away));
        let words = vec![format!("{error:#}")];
        if may_pass { Ruling::not_decided(words) } else { Ruling::by_evidence("", words) }
    }

    /// What seems broken is not decided where the database did not do all that was asked for.
    pub fn unless_hindered(self, hindrances: Vec<String>) -> Ruling {
        let is_hindered = self.verdict == CheckVerdict::Broken && !hindrances.is_empty();
        if is_hindered { Ruling::not_decided(hindrances) } else { self }
    }

    /// What was found about several kinds of work together: broken if it is for one of them.
    pub fn together(rulings: Vec<Ruling>) -> Ruling {
        let (mut seen, mut evidence, mut undecided, mut untried) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for ruling in rulings {
            match ruling.verdict {
                CheckVerdict::Kept => seen.push(ruling.seen),
                CheckVerdict::Broken => evidence.extend(ruling.evidence),
                CheckVerdict::NotDecided => undecided.extend(ruling.evidence),
                CheckVerdict::NotTried => untried.push(ruling.seen),
            }
        }
        if evidence.is_empty() && !undecided.is_empty() {
            return Ruling::not_decided(undecided);
        }
        if evidence.is_empty() && seen.is_empty() {
            return Ruling::not_tried(untried.join("; "), Vec::new());
        }
        Ruling::by_evidence([seen, untried].concat().join("; "), evidence)
    }

    pub(super) fn into_check(self, promise: Promise, took: Duration) -> Check {
        let Ruling { verdict, seen, evidence } = self;
        let most = if verdict == CheckVerdict::NotTried { usize::MAX } else { EVIDENCE_MAX };
        let seen = match evidence.len().saturating_sub(most) {
            0 => seen,
            further => format!("and {further} more"),
        };
        let evidence = evidence.iter().take(most).map(|why| cut(&redact(why), LENGTH_MAX)).collect();
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        Check { name: promise.name(), promise: promise.sentence(), verdict, seen, evidence, duration_ms }
    }
}
