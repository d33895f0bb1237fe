//! The test suite: one binary, and each file is one promise or one part.

mod candidates;
mod contract;
mod databases;
mod plans;
mod races;
mod world;
