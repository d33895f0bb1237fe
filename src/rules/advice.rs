//! What a person can do about what needs one, in a sentence or two.

use super::Kind;
use super::issue::unblock_action;

/// What needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need<'a> {
    /// An issue that an escalation blocked, or the host itself: how its agent is made to go on.
    Blocked(&'a str),
    /// An issue that is to do, and that nothing will start.
    Unstarted,
    /// Work in progress of which people were notified.
    Escalated(Kind),
    /// A session whose process crashed.
    Crashed,
    /// Work whose agent is gone or rests for good.
    Abandoned,
    /// A wake that nobody takes up.
    StuckWake,
    /// A row that fails in each sweep.
    Quarantined,
    /// A notification that does not arrive.
    Undelivered,
    /// What the guard leaves as it is.
    HeldBack,
}

/// What a person can do about it now.
pub fn advice(need: Need) -> String {
    match need {
        Need::Blocked(resume_advice) => return unblock_action(resume_advice),
        Need::Unstarted => "Wake its agent, give it to somebody else, or close it.",
        Need::Escalated(Kind::Issue) => "Wake its agent, give it to somebody else, say what it waits for, or close it.",
        Need::Escalated(Kind::Step) => {
            "Finish, skip or restart the step. Its plan stays stalled until none of its steps is."
        }
        Need::Escalated(Kind::Session) => {
            "Look at what its agent shows or asks. Then answer it, start it again, or end it."
        }
        Need::Crashed => {
            "Start it again with sweep watch, by its name. Or pause it: then it needs nobody until it is started again."
        }
        Need::Abandoned => "Give it to an agent that works, let its agent work again, or close it.",
        Need::StuckWake => {
            "See whether whatever runs the agents still runs, and why it leaves this wake. Or cancel the wake."
        }
        Need::Quarantined => "Mend the row, then release it: the next sweep examines it again.",
        Need::Undelivered => "See why its destination refused it, and send a test message.",
        Need::HeldBack => {
            "See with a dry run whether that many are stranded. If it is true, sweep once without the guard."
        }
    }
    .to_owned()
}
