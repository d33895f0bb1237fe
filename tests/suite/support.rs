//! Shared by all tests: databases and their rows, the program, and proxies and receivers between it and others.

pub mod daemon;
pub mod databases;
pub mod folder;
pub mod in_process;
pub mod json;
pub mod mail;
pub mod mcp;
pub mod page;
pub mod plans;
pub mod planted;
pub mod poison;
pub mod pooler;
pub mod program;
pub mod proxy;
pub mod receiver;
pub mod rounds;
pub mod scratch;
pub mod server;
pub mod starts;
pub mod terminal;
pub mod tmux;
pub mod views_and_rules;
pub mod wait;
pub mod watcher;
pub mod world;
