//! The commands that people type, one file for each, and how each is wrong.

mod apply;
mod attention;
mod bad_input;
mod completions;
mod config;
mod confirmation;
mod confirmations;
mod demo;
mod doctor;
mod error_messages;
mod exempt;
mod explain;
mod help;
mod host;
mod init;
mod init_again;
mod man_pages;
mod mcp;
mod quarantine;
mod reads;
mod roles;
mod runs;
mod status;
