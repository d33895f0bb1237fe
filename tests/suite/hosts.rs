//! The databases that are swept: their schemas, what is Paperclip's own, and those that cannot be swept.

mod bad_databases;
mod broken_schema;
mod encodings;
mod growth;
pub mod guest_files;
mod guest_journals;
mod guest_run_ends;
mod host_folders;
mod id_types;
mod invented_schemas;
mod managed_servers;
mod migrations;
mod null_facts;
mod old_sqlite;
mod paperclip;
mod paperclip_sessions;
mod partitions;
mod server_setups;
mod skeletons;
mod upgrades;
mod verification;
