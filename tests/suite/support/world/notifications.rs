//! Sweeps that notify people, and the messages in the outbox.

use sweep::cycle::CycleOptions;
use sweep::notify::Delivered;
use sweep::rules::Id;
use sweep::settings::Environment;
use sweep::settings::resolve::notify;
use sweep::sweep::{Cancel, Options};

use crate::support::program::{Program, sweep_at};
use crate::support::receiver::Receiver;
use crate::support::world::World;

const EVERYTHING: &str = "escalated,guard_stopped,quarantined,session_stuck,recovered,run_unheard";

/// The key that signs messages: `hunter2-hunter2` in base64.
pub const SECRET: &str = "whsec_aHVudGVyMi1odW50ZXIy";

/// Delivers as a single sweep does at its end, and the daemon between two sweeps.
pub fn deliver(options: &CycleOptions) -> Delivered {
    deliver_until(options, &Cancel::default())
}

pub fn deliver_until(options: &CycleOptions, cancel: &Cancel) -> Delivered {
    let CycleOptions { sweep: Options { database, timeouts, .. }, notify, .. } = options;
    let cancel = cancel.clone();
    sweep::notify::deliver(database, timeouts, notify, move || cancel.is_set())
        .unwrap_or_else(|error| panic!("{error:#}"))
}

impl World {
    /// The options of a sweep with these destinations, which notifies of everything.
    pub fn notifying(&self, variables: &[(&str, &str)]) -> CycleOptions {
        let mut all = vec![("SWEEP_NOTIFY_ON", EVERYTHING), ("SWEEP_WEBHOOK_SECRET", SECRET)];
        all.extend(variables);
        let notify = notify(&Environment::of(&all)).unwrap_or_else(|error| panic!("{error:#}"));
        let sweep = Options { subscriptions: notify.subscriptions(), ..self.options() };
        CycleOptions { notify, ..CycleOptions::of(sweep) }
    }

    pub fn notifying_the_webhook(&self, receiver: &Receiver) -> CycleOptions {
        self.notifying(&[("SWEEP_WEBHOOK_URL", &receiver.url())])
    }

    pub fn notifying_slack(&self, receiver: &Receiver) -> CycleOptions {
        self.notifying(&[("SWEEP_SLACK_URL", &receiver.url())])
    }

    pub fn program_notifying(&self, name: &str, receiver: &Receiver) -> Program {
        sweep_at(&self.url, []).env(name, receiver.url()).env("SWEEP_WEBHOOK_SECRET", SECRET)
    }

    /// Makes an issue that the next sweep escalates at once, since its plan has no agent.
    pub fn escalation(&mut self) -> Id {
        let (_, step) = self.stalled_step(None);
        step
    }

    /// Ends the pauses between two attempts to deliver.
    pub fn retry(&mut self) {
        let at = self.ago(1);
        self.run(&format!("update notifications set due_at = {at}"));
    }

    /// Dates the queued messages back.
    pub fn queued_earlier(&mut self, minutes: i64) {
        let at = self.ago(minutes);
        self.run(&format!("update notifications set created_at = {at}"));
    }

    pub fn pending(&mut self) -> i64 {
        self.count("notifications where delivered_at is null and dead_at is null")
    }
}
