//! Tests beside the real Paperclip server.

mod advice;
mod api;
mod cancels;
mod clock;
mod crashes;
mod doubles;
mod gates;
mod inbox;
mod leases;
mod runs;
mod sampler;
mod server;
mod soak;
mod soak_table;
mod swept;
mod wakes;
