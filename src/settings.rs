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

pub use definition::Assignment;
pub use environment::{Environment, TypedSettings};
pub use resolve::{PageSettings, Settings};
