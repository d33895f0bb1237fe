//! What a sweep promises about sessions, on both databases alike.

mod changed_after_scan;
mod commands;
mod crashed;
mod every_combination;
mod poison_rows;
mod rival_sweepers;
mod session_or_issue;
mod silent_or_looping;
