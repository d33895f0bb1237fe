//! Issues, plan steps and sessions: what is done about each of them, and when.

mod abandoned_work;
mod attempts;
mod candidate_views;
mod handovers;
mod issues;
mod sessions;
mod steps;
mod stuck_wakes;
mod work_state_views;
