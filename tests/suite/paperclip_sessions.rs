//! Paperclip's running runs are sessions that take no commands: a silent one is shown to a person, once, and never changed.

mod contract;
mod every;
mod fixture;
mod poison;
mod programs;
mod rivals;
mod waits;
