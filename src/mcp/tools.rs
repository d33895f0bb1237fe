//! The tools, in the order in which they are listed: what each is good for, what it takes, and what it answers.

mod attention;
mod dry_run;
mod exempt;
mod explain;
mod plan;
mod request;
mod status;

use std::sync::Arc;

use anyhow::Result;
use rmcp::model::{JsonObject, ToolAnnotations};
use serde_json::Value;

use super::arguments::schema;
use super::call::Call;
use super::schemas::whole;

/// One tool.
pub struct Definition {
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// For the agent that has to choose.
    pub description: &'static str,
    /// The schema of its arguments.
    pub arguments: fn() -> Arc<JsonObject>,
    /// The schema of its answer.
    pub answer: fn() -> JsonObject,
    /// Does it change something? If not, it reads one snapshot.
    pub changes: bool,
    pub call: fn(&Call, JsonObject) -> Result<Value>,
}

impl Definition {
    /// Nobody but the database is asked. What changes something keeps sweeps, and so people, away from work.
    pub fn hints(&self) -> ToolAnnotations {
        let hints = ToolAnnotations::with_title(self.title).read_only(!self.changes);
        hints.destructive(self.changes).idempotent(!self.changes).open_world(false)
    }
}

pub const TOOLS: &[Definition] = &[
    Definition {
        name: "list_attention",
        title: "What needs a person",
        description: "What needs a person now, the oldest first, page by page: work that was escalated, abandoned, \
            stuck, blocked or held back, each with why, what was tried, and what a person can do about it. It says \
            also whether sweeps run at all. Use it first, to find out what is wrong.",
        arguments: || Arc::new(schema::<attention::Arguments>()),
        answer: || whole(include_str!("../../docs/schemas/attention-page.schema.json")),
        changes: false,
        call: attention::call,
    },
    Definition {
        name: "get_plan_status",
        title: "Status of a plan",
        description: "How far one plan is: its status as stored and as derived from its steps, whether it is stalled, \
            its progress in percent, the current step, for how long it has been stuck, and its steps page by page. \
            Use it when you know the plan; status names those that have a stalled step.",
        arguments: || Arc::new(schema::<plan::Arguments>()),
        answer: || whole(include_str!("../../docs/schemas/plan-status-page.schema.json")),
        changes: false,
        call: plan::call,
    },
    Definition {
        name: "explain",
        title: "Explain a subject",
        description: "Why one session, issue or plan step is or is not seen as stranded: every clause of the \
            definition with what was found, what sweeps did about it before, what a sweep would do now and what would \
            change that. Use it before you act on a subject, or to say why an agent was woken or a person notified.",
        arguments: || Arc::new(schema::<explain::Arguments>()),
        answer: || whole(include_str!("../../docs/schemas/explanation.schema.json")),
        changes: false,
        call: explain::call,
    },
    Definition {
        name: "status",
        title: "Status of all work",
        description: "How all work stands, in one small answer: how many sessions, issues and steps are in which \
            state, the oldest few of what is stranded, waits for a person or was given up, what the last sweeps did, \
            and whether sweep itself still runs. Numbers are of all; lists are the oldest few.",
        arguments: || Arc::new(schema::<status::Arguments>()),
        answer: || whole(include_str!("../../docs/schemas/status.schema.json")),
        changes: false,
        call: status::call,
    },
    Definition {
        name: "dry_run",
        title: "Dry run of a sweep",
        description: "What a sweep would do now, without doing it: counts of all, and page by page the subjects, \
            first those that would be touched, then those that could not be examined, then those that would be left, \
            healthy ones last. It examines every candidate each time, so narrow it by kind, tenant or subject if you \
            can.",
        arguments: || Arc::new(schema::<dry_run::Arguments>()),
        answer: || whole(include_str!("../../docs/schemas/dry-run-page.schema.json")),
        changes: false,
        call: dry_run::call,
    },
    Definition {
        name: "heartbeat",
        title: "Sign of life of a session",
        description: "Notes a sign of life of a session: an agent that has nothing to write for a while, such as one \
            that waits for a long build, is not taken for a silent one. Use it only for a session that you know is at \
            work, and again before the limit comes again.",
        arguments: || Arc::new(schema::<request::Arguments>()),
        answer: || whole(include_str!("../../docs/schemas/request.schema.json")),
        changes: true,
        call: request::heartbeat,
    },
    Definition {
        name: "pause",
        title: "Pause a session",
        description: "Has sweeps leave a session alone until resume is called: nobody is notified of it and nothing is \
            typed into it. Use it only if a person wants that; for a time that ends by itself use exempt.",
        arguments: || Arc::new(schema::<request::Arguments>()),
        answer: || whole(include_str!("../../docs/schemas/request.schema.json")),
        changes: true,
        call: request::pause,
    },
    Definition {
        name: "resume",
        title: "End the pause of a session",
        description: "Ends the pause of a session: sweeps look after it again. It does nothing else, and wakes nobody. \
            It is the counterpart of pause, and is refused for a session that is not paused.",
        arguments: || Arc::new(schema::<request::Arguments>()),
        answer: || whole(include_str!("../../docs/schemas/request.schema.json")),
        changes: true,
        call: request::resume,
    },
    Definition {
        name: "exempt",
        title: "Exempt a subject",
        description: "Exempts one session, issue or plan step from sweeps until a time: it is in progress on purpose, \
            and nobody is woken or notified because of it. Again for the same subject: the new reason and end replace \
            the old ones, unless that would end it earlier. A week is the longest. Use it only with a reason that a \
            person would accept.",
        arguments: || Arc::new(schema::<exempt::Arguments>()),
        answer: || whole(include_str!("../../docs/schemas/exemptions.schema.json")),
        changes: true,
        call: exempt::call,
    },
];
