//! The test suite: one binary, and each file is one promise or one part.

mod architecture;
mod candidates;
mod contract;
mod crashes;
mod databases;
mod dry_run;
mod plans;
mod races;
mod rivals;
mod world;
