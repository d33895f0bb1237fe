//! P14: what people are told is committed with what it tells, and delivered at least once, with a key that stays the same.

mod delivery;
mod digests;
mod outbox;
mod pings;
mod queued;
pub mod receiver;
mod secrets;
mod settings;

use serde_json::Value;
use sweep::notify::Delivered;
use sweep::rules::Id;
use sweep::settings::{Environment, Settings};
use sweep::sweep::signals::Stop;

use crate::program::{Program, sweep_at};
use crate::world::World;
pub use receiver::Receiver;

const EVERYTHING: &str = "escalated,guard_stopped,quarantined,session_stuck,recovered";

/// The key of the signatures: `hunter2-hunter2` in base64.
pub const SECRET: &str = "whsec_aHVudGVyMi1odW50ZXIy";

impl World {
    /// A sweep that tells these, of everything.
    pub fn telling(&self, variables: &[(&str, &str)]) -> Settings {
        let mut all = vec![("SWEEP_NOTIFY_ON", EVERYTHING), ("SWEEP_WEBHOOK_SECRET", SECRET)];
        all.extend(variables);
        let notify = Environment::of(&all).notify().unwrap_or_else(|error| panic!("{error:#}"));
        Settings { notify, ..self.settings() }
    }

    fn telling_the_webhook(&self, receiver: &Receiver) -> Settings {
        self.telling(&[("SWEEP_WEBHOOK_URL", &receiver.url())])
    }

    fn telling_slack(&self, receiver: &Receiver) -> Settings {
        self.telling(&[("SWEEP_SLACK_URL", &receiver.url())])
    }

    /// An issue that the next sweep escalates, since its plan has no agent: nothing is tried before.
    fn escalation(&mut self) -> Id {
        let (_, step) = self.stalled_step(None);
        step
    }

    /// As if the pauses between two attempts were over.
    fn retry(&mut self) {
        let at = self.ago(1);
        self.run(&format!("update notifications set due_at = {at}"));
    }

    /// As if they had been queued earlier.
    fn queued_earlier(&mut self, minutes: i64) {
        let at = self.ago(minutes);
        self.run(&format!("update notifications set created_at = {at}"));
    }

    fn pending(&mut self) -> i64 {
        self.count("notifications where delivered_at is null and dead_at is null")
    }

    fn program_telling(&self, name: &str, receiver: &Receiver) -> Program {
        sweep_at(&self.url, []).env(name, receiver.url()).env("SWEEP_WEBHOOK_SECRET", SECRET)
    }
}

/// What a one-shot sweep does at its end, and the daemon between two sweeps.
pub fn deliver(settings: &Settings) -> Delivered {
    deliver_until(settings, &Stop::default())
}

fn deliver_until(settings: &Settings, stop: &Stop) -> Delivered {
    let Settings { database, timeouts, notify, .. } = settings;
    sweep::notify::deliver(database, timeouts, notify, || stop.is_set()).unwrap_or_else(|error| panic!("{error:#}"))
}

fn text(told: &Value) -> &str {
    told["text"].as_str().expect("a text")
}
