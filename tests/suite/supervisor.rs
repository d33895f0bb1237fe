//! `sweep watch`, on real processes: in a terminal, in tmux, beside sweeps, and in bad weather.

mod agent_terminal;
mod crashes;
mod database_outages;
mod failing_panes;
mod first_use;
mod hostile_output;
mod imitated_composers;
mod kept_output;
mod loops;
mod names;
mod nudge_fence;
mod operator_terminal;
mod process_trees;
mod prompts;
mod refused_starts;
mod reported_states;
mod requests;
mod resized_questions;
mod shared_sessions;
mod stuck_agents;
mod tmux_marks;
mod tmux_panes;
mod vouched_prompts;
mod words_to_go_on;
mod work_trees;
