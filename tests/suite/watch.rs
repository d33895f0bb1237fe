//! `sweep watch`, on real processes: in a terminal, in tmux, beside sweeps, and in bad weather.

mod fixture;
mod hostile;
mod panes;
mod refused;
mod stories;
mod supervision;
mod terminal;
mod terminals;
mod weather;
