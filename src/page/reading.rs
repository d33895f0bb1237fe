//! What was read of a database, or why nothing could be.

use std::sync::Arc;

use crate::conclusion::{Conclusion, conclusion_of};
use crate::report::explain::Explanation;
use crate::store::read::attention::Attention;
use crate::text::redact;

/// What was read.
#[derive(Clone, Debug)]
pub enum Read {
    Work(Arc<Attention>),
    Subject(Arc<Explanation>),
}

/// Why nothing could be read, as it may be shown.
#[derive(Clone, Debug)]
pub struct Trouble {
    pub conclusion: Conclusion,
    pub why: String,
}

pub type Reading = Result<Read, Trouble>;

impl Trouble {
    pub fn of(error: &anyhow::Error) -> Trouble {
        Trouble { conclusion: conclusion_of(error), why: redact(&format!("{error:#}")) }
    }

    /// Asked again, it may be answered.
    pub fn may_pass(&self) -> bool {
        self.is_of_the_database() || self.conclusion == Conclusion::Busy
    }

    /// Else the question was wrong, or one row is, or others were first.
    pub fn is_of_the_database(&self) -> bool {
        match self.conclusion {
            Conclusion::Usage | Conclusion::SomeFailed | Conclusion::Busy => false,
            Conclusion::Done
            | Conclusion::Changed
            | Conclusion::Guarded
            | Conclusion::Unavailable
            | Conclusion::Config
            | Conclusion::NotFound
            | Conclusion::Interrupted
            | Conclusion::Terminated => true,
        }
    }
}
