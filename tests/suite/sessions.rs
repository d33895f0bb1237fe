//! Sessions: what a sweep promises about them, on both databases alike.

mod contract;
mod crashed;
mod fixture;
