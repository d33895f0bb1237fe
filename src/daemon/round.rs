//! The sweeps of all databases at one time of the schedule, of which the dead-man's switch hears. A next round begins
//! after the last word about the one before; what is swept meanwhile is announced by neither.

use anyhow::Result;

use super::place::{Place, Places};
use super::work::{Task, Works};
use crate::conclusion::{Conclusion, Failure};
use crate::sweep::Summary;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SweepRound {
    /// There is none.
    Over,
    /// No sweep of it has begun.
    Due,
    Begun,
}

impl SweepRound {
    /// A round is due, unless the one before is not over yet.
    pub fn set_due(&mut self, places: &mut Places, works: &Works) {
        if *self == SweepRound::Over && !works.has(|task| task == Task::Announce) {
            *self = SweepRound::Due;
            places.0.iter_mut().for_each(|place| place.swept = None);
        }
    }

    /// Ends the round when each database was swept since it began, or is not going to be: returns how each was swept.
    /// None as well: no sweep of it has begun.
    pub fn end(&mut self, places: &mut Places, works: &Works, is_stopping: bool) -> Option<Vec<Result<Summary>>> {
        let is_open = |place: &Place| {
            let is_in_hand = works.of(&place.found.url).is_some_and(|work| work.task == Task::Sweep);
            place.swept.is_none() && !place.outage.lasts() && (place.is_due() || is_in_hand)
        };
        let is_announcing = works.has(|task| task == Task::Announce);
        if *self == SweepRound::Over || is_announcing || places.0.iter().any(is_open) {
            return None;
        }
        let (why, conclusion) = match is_stopping {
            true => ("not begun: a signal came before", Conclusion::Terminated),
            false => ("still unavailable", Conclusion::Unavailable),
        };
        let unswept = || Failure::new(conclusion, why.to_owned()).into();
        let is_begun = std::mem::replace(self, SweepRound::Over) == SweepRound::Begun;
        let swept = |place: &mut Place| place.swept.take().unwrap_or_else(|| Err(unswept()));
        is_begun.then(|| places.0.iter_mut().map(swept).collect())
    }
}
