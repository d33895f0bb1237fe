//! The test suite: one binary, and each file is one promise or one part.

mod architecture;
mod candidates;
mod contract;
mod crashes;
mod databases;
mod dry_run;
mod lost_commits;
mod paperclip;
mod plans;
mod poison;
mod races;
mod report;
mod rivals;
mod swept;
mod time;
mod world;
