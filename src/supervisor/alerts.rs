//! Delivers the notifications that the watcher itself queues, so that no other process is needed for them.
//!
//! Whatever else waits in the outbox is delivered as well. A delivery that fails does not stop the watch.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use tracing::warn;

use crate::text::redact;

/// The pause before a failed delivery is tried again; the outbox decides what is due by then.
const RETRY_EVERY: Duration = Duration::from_secs(60);

/// Calls of the thread that delivers, which makes one delivery after the other; None: no destination is configured.
#[derive(Clone)]
pub struct Alerts(Option<Sender<DeliveryCall>>);

enum DeliveryCall {
    Deliver,
    /// The thread is to end, and to drop this sender then.
    Finish(Sender<()>),
}

impl Alerts {
    /// Starts the thread that delivers. `deliver` delivers what is due, and returns how many messages failed.
    pub fn start(deliver: Option<impl Fn() -> Result<u64> + Send + 'static>) -> Alerts {
        Alerts(deliver.map(|deliver| {
            let (calls, called) = channel();
            thread::spawn(move || answer(&called, deliver));
            calls
        }))
    }

    /// Notifications may have been queued, and are to be delivered now.
    pub fn queued(&self) {
        if let Some(calls) = &self.0 {
            let _ = calls.send(DeliveryCall::Deliver);
        }
    }

    /// Waits until what is due was delivered, which delays the end of a watch by a minute at most.
    pub fn finish(&self) {
        let Some(calls) = &self.0 else { return };
        let (done, is_done) = channel();
        let _ = calls.send(DeliveryCall::Finish(done));
        let _ = is_done.recv();
    }
}

/// Delivers as often as it is called, and a failed delivery once more after a pause.
fn answer(calls: &Receiver<DeliveryCall>, deliver: impl Fn() -> Result<u64>) {
    let mut has_failed = false;
    loop {
        match calls.recv_timeout(RETRY_EVERY) {
            Ok(DeliveryCall::Finish(done)) => return drop(done),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) if !has_failed => continue,
            Ok(DeliveryCall::Deliver) | Err(RecvTimeoutError::Timeout) => {}
        }
        let failed = deliver();
        if let Err(error) = &failed {
            warn!("{}", redact(&format!("{error:#}")));
        }
        has_failed = !matches!(failed, Ok(0));
    }
}
