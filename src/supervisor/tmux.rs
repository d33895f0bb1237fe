//! A tmux pane that the operator has started, watched from outside.
//!
//! Its agent has ended when the pane is dead or gone, when tmux has not answered for three seconds, or when a shell
//! that was not there at the start has been there for a second: nothing is typed into that one. A message reaches tmux
//! as one word behind `--`, and no format contains a word of the agent's: tmux runs what stands in `#(…)`.

mod client;
mod mark;
mod pane;
mod watched;

pub use pane::Pane;
pub use watched::WatchedPane;
