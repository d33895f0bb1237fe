//! The tools, in the order in which they are listed: what each is good for, what it takes, and what it answers.

mod changes;
mod dry_run;
mod overview;

use std::sync::{Arc, LazyLock};

use anyhow::Result;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::arguments::{checked, schema};
use super::call::Call;
use super::schemas::whole;
use crate::rules::request::Request;

/// The function of a tool: it checks its arguments itself.
type ToolFunction = Box<dyn Fn(&Call, JsonObject) -> Result<Value> + Send + Sync>;

/// One tool, and the function that it calls.
pub struct Definition {
    pub tool: Tool,
    /// True if the tool changes something; if not, it reads one snapshot.
    pub changes: bool,
    pub call: ToolFunction,
}

/// What a tool says of itself: to the agent that has to choose, and to people.
struct Words {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// The schema of its answer.
    answer: &'static str,
}

impl Definition {
    fn of<A: JsonSchema + DeserializeOwned + 'static>(
        words: Words,
        changes: bool,
        call: fn(&Call, A) -> Result<Value>,
    ) -> Definition {
        let Words { name, title, description, answer } = words;
        // Nobody but the database is asked. What changes something keeps sweeps, and so people, away from work.
        let hints = ToolAnnotations::with_title(title).read_only(!changes);
        let hints = hints.destructive(changes).idempotent(!changes).open_world(false);
        let tool = Tool::new(name, description, schema::<A>()).with_title(title).with_annotations(hints);
        Definition {
            tool: tool.with_raw_output_schema(Arc::new(whole(answer))),
            changes,
            call: Box::new(move |its_call, arguments| call(its_call, checked(arguments)?)),
        }
    }

    fn reads<A: JsonSchema + DeserializeOwned + 'static>(
        words: Words,
        call: fn(&Call, A) -> Result<Value>,
    ) -> Definition {
        Definition::of(words, false, call)
    }

    fn changes<A: JsonSchema + DeserializeOwned + 'static>(
        words: Words,
        call: fn(&Call, A) -> Result<Value>,
    ) -> Definition {
        Definition::of(words, true, call)
    }
}

pub static TOOLS: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    vec![
        Definition::reads(
            Words {
                name: "list_attention",
                title: "What needs a person",
                description: "What needs a person now, the oldest first, page by page: work that was escalated, \
                    abandoned, stuck, blocked or held back, each with why, what was tried, and what a person can do \
                    about it. It says also whether sweeps run at all. Use it first, to find out what is wrong.",
                answer: include_str!("../../docs/schemas/attention-page.schema.json"),
            },
            overview::list_attention,
        ),
        Definition::reads(
            Words {
                name: "get_plan_status",
                title: "Status of a plan",
                description: "How far one plan is: its status as stored and as derived from its steps, whether it is \
                    stalled, its progress in percent, the current step, for how long it has been stuck, and its \
                    steps page by page. Use it when you know the plan; status names those that have a stalled step.",
                answer: include_str!("../../docs/schemas/plan-status-page.schema.json"),
            },
            overview::plan_status,
        ),
        Definition::reads(
            Words {
                name: "explain",
                title: "Explain a subject",
                description: "Why one session, issue or plan step is or is not seen as stranded: every clause of the \
                    definition with what was found, what sweeps did about it before, what a sweep would do now and \
                    what would change that. Use it before you act on a subject, or to say why an agent was woken or \
                    a person notified.",
                answer: include_str!("../../docs/schemas/explanation.schema.json"),
            },
            overview::explain,
        ),
        Definition::reads(
            Words {
                name: "status",
                title: "Status of all work",
                description: "How all work stands, in one small answer: how many sessions, issues and steps are in \
                    which state, the oldest few of what is stranded, waits for a person or was given up, what the \
                    last sweeps did, and whether sweep itself still runs. Numbers are of all; lists are the oldest \
                    few.",
                answer: include_str!("../../docs/schemas/status.schema.json"),
            },
            overview::status,
        ),
        Definition::reads(
            Words {
                name: "dry_run",
                title: "Dry run of a sweep",
                description: "What a sweep would do now, without doing it: counts of all, and page by page the \
                    subjects, first those that would be touched, then those that could not be examined, then those \
                    that would be left, healthy ones last. It examines every candidate each time, so narrow it by \
                    kind, tenant or subject if you can.",
                answer: include_str!("../../docs/schemas/dry-run-page.schema.json"),
            },
            dry_run::dry_run,
        ),
        Definition::changes(
            Words {
                name: "heartbeat",
                title: "Sign of life of a session",
                description: "Notes a sign of life of a session: an agent that has nothing to write for a while, \
                    such as one that waits for a long build, is not taken for a silent one. Use it only for a \
                    session that you know is at work, and again before the limit comes again.",
                answer: include_str!("../../docs/schemas/request.schema.json"),
            },
            |call, arguments| changes::ask(call, arguments, Request::Heartbeat),
        ),
        Definition::changes(
            Words {
                name: "pause",
                title: "Pause a session",
                description: "Has sweeps leave a session alone until resume is called: nobody is notified of it and \
                    nothing is typed into it. Use it only if a person wants that; for a time that ends by itself use \
                    exempt.",
                answer: include_str!("../../docs/schemas/request.schema.json"),
            },
            |call, arguments| changes::ask(call, arguments, Request::Pause),
        ),
        Definition::changes(
            Words {
                name: "resume",
                title: "End the pause of a session",
                description: "Ends the pause of a session: sweeps look after it again. It does nothing else, and \
                    wakes nobody. It is the counterpart of pause, and is refused for a session that is not paused.",
                answer: include_str!("../../docs/schemas/request.schema.json"),
            },
            |call, arguments| changes::ask(call, arguments, Request::Resume),
        ),
        Definition::changes(
            Words {
                name: "exempt",
                title: "Exempt a subject",
                description: "Exempts one session, issue or plan step from sweeps until a time: it is in progress on \
                    purpose, and nobody is woken or notified because of it. Again for the same subject: the new \
                    reason and end replace the old ones, unless that would end it earlier. A week is the longest. \
                    Use it only with a reason that a person would accept.",
                answer: include_str!("../../docs/schemas/exemptions.schema.json"),
            },
            changes::exempt,
        ),
    ]
});
