//! The test suite: one binary, and each file is one promise or one part.

mod architecture;
mod bad_databases;
mod bad_input;
mod candidates;
mod clock;
mod contract;
mod crashes;
mod databases;
mod dry_run;
mod histories;
mod indexes;
mod lost_commits;
mod migrations;
mod paperclip;
mod plans;
mod poison;
mod program;
mod races;
mod report;
mod rivals;
mod scratch;
mod secrets;
mod servers;
mod swept;
mod time;
mod world;
