//! Notifications: delivers what waits in the outbox, at least once, each message with a key that stays the same.
//!
//! A sweep only queues (`store::work::outbox`), in the transaction of the change that it reports, so that only what was
//! committed is delivered. What fails is tried again by the next run, for a day. Nothing here makes a sweep fail.

mod address_scope;
mod client;
mod config;
mod deliver;
mod slack;
pub mod trial;
mod webhook;

pub use client::{HttpClient, HttpMessage, SendError, Target};
pub use config::{Notify, Ping};
pub use deliver::{Delivered, deliver};
pub use webhook::Secret;
