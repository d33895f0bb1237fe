//! Looking ahead: the next thousand candidates are looked at while those before them are examined and reported.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SendError, SyncSender, sync_channel};
use std::thread;

use anyhow::Result;

use super::Scan;
use crate::store::Subject;
use crate::sweep::examine::look::Looked;

/// The candidates of a scan that looks ahead in a thread of its own. After an error there are no more.
pub struct Ahead {
    in_hand: VecDeque<Looked>,
    batches: Receiver<Result<VecDeque<Looked>>>,
}

impl Iterator for Ahead {
    type Item = Result<Looked>;

    fn next(&mut self) -> Option<Result<Looked>> {
        if self.in_hand.is_empty() {
            match self.batches.recv().ok()? {
                Ok(batch) => self.in_hand = batch,
                Err(error) => return Some(Err(error)),
            }
        }
        self.in_hand.pop_front().map(Ok)
    }
}

/// Gives the candidates to `take`; what it leaves is put back.
pub fn look_ahead<S: Subject, T>(scan: &mut Scan<S>, take: impl FnOnce(&mut Ahead) -> T) -> T {
    thread::scope(|scope| {
        // Nothing is buffered: one batch is in hand, and one is looked at meanwhile.
        let (sender, batches) = sync_channel(0);
        let looking = scope.spawn(move || {
            let unsent = look_on(scan, &sender);
            (scan, unsent)
        });
        let mut ahead = Ahead { in_hand: VecDeque::new(), batches };
        let value = take(&mut ahead);
        let Ahead { in_hand, batches } = ahead;
        drop(batches);
        let (scan, unsent) = looking.join().unwrap_or_else(|panic| resume_unwind(panic));
        scan.put_back(in_hand.into_iter().chain(unsent));
        value
    })
}

/// Until there are no more, or nobody takes them: then these are left.
fn look_on<S: Subject>(scan: &mut Scan<S>, sender: &SyncSender<Result<VecDeque<Looked>>>) -> VecDeque<Looked> {
    loop {
        let batch = scan.next_looked();
        let is_last = batch.as_ref().map_or(true, VecDeque::is_empty);
        scan.ended |= batch.is_err();
        match sender.send(batch) {
            Ok(()) if is_last => return VecDeque::new(),
            Ok(()) => {}
            Err(SendError(Ok(unsent))) => return unsent,
            // Nobody was notified: what is left is asked anew.
            Err(SendError(Err(_))) => {
                scan.ended = false;
                return VecDeque::new();
            }
        }
    }
}
