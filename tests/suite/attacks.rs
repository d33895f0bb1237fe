//! Attacks: what a hostile role, row, file or neighbour may try against the sweeper, and what it must not achieve.
//! SECURITY.md names who is trusted with what.

mod content;
mod embedded_files;
mod guard;
mod http;
mod images;
mod listening;
mod passwords;
mod privileges;
mod quoting;
mod receivers;
mod search_path;
mod setting_files;
mod urls;
mod watched_environment;
