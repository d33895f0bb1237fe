//! What workers answer.

use std::thread;

use anyhow::Error;

use super::queues::Job;
use crate::store::candidates::Candidate;
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

pub type Answer<'a> = thread::Result<Done<'a>>;
