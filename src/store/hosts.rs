//! The hosts: which control planes sweep knows, what their folders hold, and how their views are made and checked.

pub(super) mod boards;
pub(super) mod catalog;
pub mod contract;
pub mod folders;
pub mod guest;
pub mod links;
pub mod migrate;
pub mod rights;
