//! The test suite: one binary, and each file is one promise or one part.

mod contract;
mod databases;
mod world;
