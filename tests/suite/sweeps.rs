//! A sweep as a whole: what it takes up and what it leaves, and what it reports, logs and measures.

mod after_run_ends;
mod clock_differences;
mod databases_alike;
mod file_patterns;
mod guard;
mod history;
mod journald;
mod keep;
mod limits;
mod log_lines;
mod metrics;
mod repeated_failures;
mod report;
mod several_databases;
mod shadow;
mod shards;
mod tenants;
mod terminal_widths;
