//! What is set → the engine's options. Nobody else reads the environment.
//!
//! `table` has every setting, once. The command line wins over the environment, the environment over the file of
//! `--config`, and each of them over the defaults.

pub mod database;
pub mod definition;
pub mod effective;
pub mod environment;
pub mod file;
pub mod resolve;
pub mod table;

pub use database::{create_database, find_database, find_databases};
pub use definition::Assignment;
pub use environment::{Environment, TypedSettings};
pub use file::complete;
pub use resolve::{CommonFlags, PageSettings, ScopeFlags, Settings, SweepFlags, apply_policy, notify, policy};
