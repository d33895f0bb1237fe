//! Issues, plan steps and sessions: what sweeps do about each of them, and when.

mod abandoned_work;
mod attempts;
mod candidate_views;
mod evidence_of_loss;
mod handovers;
mod issues;
mod sessions;
mod signs_of_life;
mod steps;
mod stuck_wakes;
mod unheard_runs;
mod work_state_views;
