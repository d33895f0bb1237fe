//! A run of Paperclip's, and what its server writes about it.

use sweep::rules::Id;

use crate::support::world::{On, World};

/// All that may change when a run shows a sign of life.
pub const SIGNS: [&str; 3] = ["last_output_at", "started_at", "updated_at"];

/// Every status in which a run has ended.
pub const ENDS: [&str; 5] = ["succeeded", "failed", "cancelled", "timed_out", "interrupted"];

/// A world with one agent, one issue in progress, and its run that has been silent for two hours: `(world, issue,
/// run)`.
pub fn with_a_silent_run() -> (World, Id, Id) {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("running");
    let issue = world.orphan(&agent);
    let run = world.silent_run(&agent, Some(&issue));
    (world, issue, run)
}

/// One more issue of an agent's, and its run that has been silent for two hours: `(issue, run)`.
pub fn another_silent_run(world: &mut World, agent: &Id) -> (Id, Id) {
    let issue = world.orphan(agent);
    let run = world.silent_run(agent, Some(&issue));
    (issue, run)
}

/// An agent, an issue and its silent run, in a company of their own: `(company, issue, run)`.
pub fn silent_run_of_another_company(world: &mut World) -> (Id, Id, Id) {
    let company = world.begin_another_company();
    let agent = world.agent("running");
    let (issue, run) = another_silent_run(world, &agent);
    (company, issue, run)
}
