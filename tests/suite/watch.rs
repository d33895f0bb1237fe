//! `sweep watch`, on real processes: in a terminal, in tmux, beside sweeps, and in bad weather.

mod fence;
mod first_use;
pub mod fixture;
mod hostile;
mod logs;
mod more_panes;
pub mod panes;
mod prompts;
mod refused;
mod screens;
mod stories;
mod supervision;
mod terminal;
mod terminals;
mod weather;
