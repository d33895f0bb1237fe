//! Paperclip's running runs are sessions that take no commands: a silent one is shown to a person, once, and never
//! changed.

mod commands;
mod declared_waits;
mod every_combination;
mod fixture;
mod poison_runs;
mod rival_sweepers;
mod shown_to_people;
