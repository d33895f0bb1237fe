//! From an address to an open database: which one it is, whether it is migrated, and throw-away copies of it.

pub mod databases;
pub mod listen;
pub mod open;
pub mod sandbox;
pub mod settle;
pub mod snapshot;
