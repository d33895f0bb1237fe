//! P14: what people are notified of is committed with its notification, and delivered at least once, with a key that
//! stays the same.

mod chats;
mod delivery;
mod digests;
mod email;
mod incidents;
mod lossy_deliverers;
mod outbox;
mod outbox_rows;
mod pings;
mod secrets;
mod settings;

use serde_json::Value;

fn text(reported: &Value) -> &str {
    reported["text"].as_str().expect("a text")
}
