//! P14: what people are told is committed with what it tells, and delivered at least once, with a key that stays the
//! same.

mod delivery;
mod digests;
mod lossy_deliverers;
mod outbox;
mod outbox_rows;
mod pings;
mod secrets;
mod settings;

use serde_json::Value;

fn text(told: &Value) -> &str {
    told["text"].as_str().expect("a text")
}
