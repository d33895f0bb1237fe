//! Issues, plan steps and sessions: what sweeps do about each of them, and when.

mod abandoned_work;
mod attempts;
mod candidate_views;
mod handovers;
mod issues;
mod sessions;
mod signs_of_life;
mod steps;
mod stuck_wakes;
mod work_state_views;
