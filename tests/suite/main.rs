//! The test suite: one binary, and a folder for each part. `tests/README.md` is its map.

mod attacks;
mod commands;
mod daemon;
mod hosts;
mod kinds;
mod notify;
mod page;
mod promises;
mod requests;
mod shape;
mod supervisor;
mod support;
mod sweeps;
