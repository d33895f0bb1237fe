//! Flags, environment and defaults → the engine's options. Nobody else reads the environment.
//!
//! `table` has every setting, once. Flags win over the environment, the environment over the defaults.

pub mod definition;
pub mod table;

pub mod flags;
mod names;

mod environment;
mod file;

mod database;
pub mod effective;
mod page;
mod resolve;

pub use environment::{Environment, Source};
pub use page::PageSettings;
pub use resolve::Settings;
