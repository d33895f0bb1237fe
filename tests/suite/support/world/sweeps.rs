//! Sweeps of a world in this process, and their settings.

use serde_json::Value;
use sweep::rules::{Guard, Id};
use sweep::store::connect::open::Url;
use sweep::sweep::plan::Plan;
use sweep::sweep::{Options, Selection};

use crate::support::in_process::{Swept, sweep_once};
use crate::support::world::World;

impl World {
    /// Settings without the guard and with wide limits, except in the tests about them; with one worker, since each
    /// further one costs the server a new process that plans every view anew.
    pub fn options(&self) -> Options {
        let database = Url::parse(&self.url).expect("a URL");
        Options { guard: None, wakes_per_agent_max: 1_000_000, connections: 1, ..Options::of(database) }
    }

    pub fn sweep(&self) -> Swept {
        self.sweep_as(&self.options())
    }

    pub fn sweep_as(&self, settings: &Options) -> Swept {
        sweep_once(settings)
    }

    pub fn dry_run(&self) -> Swept {
        self.sweep_as(&Options { dry_run: true, ..self.options() })
    }

    /// Makes an issue whose one continuation failed, and which the next sweep has escalated.
    pub fn escalated_issue(&mut self, agent: &Id) -> Id {
        let issue = self.orphan(agent);
        self.sweep();
        self.end_continuations("failed");
        self.pass(10);
        self.sweep();
        issue
    }

    /// The settings of a sweep with the default guard.
    pub fn guarded(&self) -> Options {
        self.settings_with(Guard::default())
    }

    pub fn settings_with(&self, guard: Guard) -> Options {
        Options { guard: Some(guard), ..self.options() }
    }

    pub fn sweep_guarded(&self) -> Swept {
        self.sweep_as(&Options { guard: Some(Guard::default()), ..self.options() })
    }

    pub fn settings_to_apply(&self, plan: &Value) -> Options {
        let plan = Plan::read(plan.to_string().as_bytes()).expect("a plan");
        Options { selection: Selection::Plan(Box::new(plan)), ..self.options() }
    }

    pub fn apply(&self, plan: &Value) -> Swept {
        self.sweep_as(&self.settings_to_apply(plan))
    }

    /// The settings of a sweep of one issue.
    pub fn settings_for(&self, issue: &Id) -> Options {
        let subjects = vec![(sweep::rules::Kind::Issue, issue.0.clone())];
        Options { selection: Selection::Subjects(subjects), ..self.options() }
    }
}
