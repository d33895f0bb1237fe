//! `sweep watch`, on real processes: in a terminal, in tmux, beside sweeps, and in bad weather.

mod fixture;
mod hostile;
mod logs;
mod more_panes;
mod panes;
mod refused;
mod stories;
mod supervision;
mod terminal;
mod terminals;
mod weather;
