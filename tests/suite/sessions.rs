//! Sessions: what a sweep promises about them, on both databases alike.

mod combinations;
mod contract;
mod crashed;
mod fixture;
mod issues;
mod races;
mod rivals;
mod rows;
