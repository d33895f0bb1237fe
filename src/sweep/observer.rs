//! The observer of a sweep: a report that is printed, or nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;

use super::examined::Examined;
use super::heading::Heading;
use super::summary::Summary;
use crate::rules::Kind;

/// Hears of a sweep while it goes on, on the thread that runs it. `()` is one that does nothing.
pub trait Observer {
    /// The next one of several databases comes: what follows is of this one.
    fn database(&mut self, _name: &str) {}

    /// The database is over, or could not be swept.
    fn database_ends(&mut self, _swept: &Result<Summary>) {}

    /// The sweep begins. One that finds at a first look that there is nothing to do never does, and has a summary
    /// alone.
    fn begins(&mut self, _heading: &Heading) {}

    /// A kind begins to be swept: what follows is of this kind.
    fn kind(&mut self, _kind: Kind) {}

    /// Is it worth a query to know how many subjects are to be examined?
    fn wants_counts(&self) -> bool {
        false
    }

    /// Hears how many subjects of the kind are to be examined.
    fn expect(&mut self, _subjects: u64) {}

    /// A subject was examined.
    fn subject(&mut self, _examined: &Examined) {}

    /// The sweep has ended, also when it could not go on.
    fn ends(&mut self, _summary: &Summary) {}

    /// Could what it heard not be passed on? Then a person may not know of what was done.
    fn has_failed(&self) -> bool {
        false
    }

    /// What counts the sweep's steps, for those who want to know whether it hangs.
    fn progress(&self) -> Progress {
        Progress::default()
    }
}

impl Observer for () {}

/// How many steps a sweep has made: a page was read, or a subject examined. One that hangs makes none.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicUsize>);

impl Progress {
    pub fn step(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn steps(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// An observer that only counts steps.
impl Observer for Progress {
    fn progress(&self) -> Progress {
        self.clone()
    }
}
