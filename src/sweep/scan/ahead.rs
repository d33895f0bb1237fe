//! Looking ahead: the next candidates are looked at while those before them are examined and reported.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SendError, SyncSender, sync_channel};
use std::thread;

use anyhow::Result;

use super::Scan;
use crate::store::Subject;
use crate::sweep::context::ExamineContext;
use crate::sweep::examine::look::{Looked, Sight};

/// The candidates of a scan that looks ahead in a thread of its own. After an error there are no more.
pub struct Ahead<'a, S> {
    context: &'a ExamineContext<'a>,
    in_hand: Sight<S>,
    sights: Receiver<Result<Sight<S>>>,
}

impl<S: Subject> Iterator for Ahead<'_, S> {
    type Item = Result<Looked>;

    fn next(&mut self) -> Option<Result<Looked>> {
        if self.in_hand.is_empty() {
            match self.sights.recv().ok()? {
                Ok(sight) => self.in_hand = sight,
                Err(error) => return Some(Err(error)),
            }
        }
        self.in_hand.next(self.context).map(Ok)
    }
}

/// Gives the candidates to `take`; what it leaves is put back.
pub fn look_ahead<S: Subject, T>(scan: &mut Scan<S>, take: impl FnOnce(&mut Ahead<S>) -> T) -> T {
    let context = scan.context;
    thread::scope(|scope| {
        // Nothing is buffered: those of one sight are in hand, and the next ones are looked at meanwhile.
        let (sender, sights) = sync_channel(0);
        let looking = scope.spawn(move || {
            let unsent = look_on(scan, &sender);
            (scan, unsent)
        });
        let mut ahead = Ahead { context, in_hand: Sight::none(), sights };
        let value = take(&mut ahead);
        let Ahead { in_hand, sights, .. } = ahead;
        drop(sights);
        let (scan, unsent) = looking.join().unwrap_or_else(|panic| resume_unwind(panic));
        let mut left = in_hand.into_candidates();
        left.append(&mut unsent.into_candidates());
        scan.put_back(left);
        value
    })
}

/// Until there are no more, or nobody takes them: then these are left.
fn look_on<S: Subject>(scan: &mut Scan<S>, sender: &SyncSender<Result<Sight<S>>>) -> Sight<S> {
    loop {
        let sight = scan.next_sight();
        let is_last = sight.as_ref().map_or(true, Sight::is_empty);
        scan.ended |= sight.is_err();
        match sender.send(sight) {
            Ok(()) if is_last => return Sight::none(),
            Ok(()) => {}
            Err(SendError(Ok(unsent))) => return unsent,
            // Nobody was notified: what is left is asked anew.
            Err(SendError(Err(_))) => {
                scan.ended = false;
                return Sight::none();
            }
        }
    }
}
