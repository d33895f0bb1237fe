//! Attacks: what a hostile role, row, file or neighbour may try against the sweeper, and what it must not achieve.
//! SECURITY.md names who is trusted with what.

mod content;
mod embedded_files;
mod forged_notifications;
mod hostile_files;
mod hostile_receivers;
mod http_clients;
mod image_digests;
mod noisy_tenants;
mod nul_characters;
mod owners_of_files;
mod passwords;
mod pooled_sessions;
mod privileges;
mod quoting;
mod search_path;
mod server_notices;
mod setting_files;
mod urls;
mod watched_environment;
