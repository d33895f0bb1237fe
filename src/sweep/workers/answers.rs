//! What workers answer.

use std::thread;

use anyhow::Error;

use super::queues::Job;
use crate::rules::Id;
use crate::store::work::candidates::Candidate;
use crate::sweep::outcome::Examined;

/// What became of one subject that was handed out.
pub struct Done<'a> {
    pub worker: usize,
    pub fate: Disposition<'a>,
    /// This worker could not get a connection: it takes up nothing more.
    pub retired: Option<Error>,
}

pub enum Disposition<'a> {
    Examined(Examined),
    /// Not begun, since the sweep is ending.
    Dropped(Candidate),
    /// Not begun, since this worker has no connection: another one may have.
    HandedBack(Job<'a>),
}

impl Disposition<'_> {
    /// The subject that was handed out.
    pub fn subject(&self) -> &Id {
        match self {
            Disposition::Examined(examined) => &examined.id,
            Disposition::Dropped(candidate) | Disposition::HandedBack(Job { candidate, .. }) => &candidate.id,
        }
    }
}

pub type Answer<'a> = thread::Result<Done<'a>>;
