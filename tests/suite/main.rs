//! The test suite: one binary, and each file is one promise or one part.

mod bad_databases;
mod bad_input;
mod contract;
mod databases;
mod migrations;
mod program;
mod scratch;
mod servers;
mod world;
