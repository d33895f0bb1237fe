//! A subject's state in one word, as boards and `sweep status` show it; what a person can do about what needs one; and
//! what the views `…_reasons` need to know of the rules to find a state without calling them.

use std::collections::BTreeMap;

use serde::Serialize;
use strum::IntoEnumIterator;

use super::decision::STUCK_WAKE;
use super::issue::{ADVICE_ON_A_LOSS, unblock_action};
use super::session::FINISHED;
use super::subject::{Activity, Ended, WAKEABLE};
use super::{Cause, ContinueBy, Decision, Finding, Kind, Reason, Unavailable};

/// The state of one subject, in the order of urgency.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema), schemars(inline))]
pub enum BoardState {
    /// An issue that nobody is working on.
    Orphaned,
    /// A plan step that has been in progress for too long, and nothing is on its way.
    Stalled,
    /// A session without a sign of life, and nothing is on its way.
    Silent,
    /// A session whose process ended before its work.
    Crashed,
    /// A person was notified and has not answered.
    Escalated,
    /// Its agent cannot be woken, and people were notified of it.
    Abandoned,
    /// Its agent cannot be woken.
    Skipped,
    /// A wake is pending.
    Queued,
    /// It declares a wait.
    Waiting,
    /// In progress on purpose.
    Exempt,
    /// A run is live, or there was a sign of life a moment ago.
    Active,
}

impl BoardState {
    pub const ALL: &[BoardState] = <BoardState as strum::VariantArray>::VARIANTS;

    /// The states of which people were notified.
    pub const WAITING_FOR_PEOPLE: &[BoardState] = &[BoardState::Escalated, BoardState::Abandoned];

    /// The states of which the next sweep decides what follows.
    pub const STRANDED: &[BoardState] =
        &[BoardState::Orphaned, BoardState::Stalled, BoardState::Silent, BoardState::Crashed];

    /// The state of a subject that is left for this reason; none when it is not in progress, or an agent's, at all.
    pub fn for_reason(reason: &Reason) -> Option<BoardState> {
        match reason {
            Reason::NotInProgress(_)
            | Reason::PlanNotOpen(_)
            | Reason::IssueFinished(_)
            | Reason::EndedWell
            | Reason::NoAgentAssigned
            | Reason::AssignedToUser
            | Reason::PlanStillStalled => None,
            Reason::LiveRun | Reason::HostPlans(_) | Reason::Recent => Some(BoardState::Active),
            Reason::PendingWake | Reason::StuckWake(_) | Reason::PendingCommand => Some(BoardState::Queued),
            Reason::DeclaredWait(_) => Some(BoardState::Waiting),
            Reason::Exempt(..) => Some(BoardState::Exempt),
            Reason::Escalated => Some(BoardState::Escalated),
        }
    }

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True if a subject of this kind can be in this state.
    pub fn is_of(self, kind: Kind) -> bool {
        match self {
            BoardState::Orphaned => kind == Kind::Issue,
            BoardState::Stalled => kind == Kind::Step,
            BoardState::Silent | BoardState::Crashed => kind == Kind::Session,
            BoardState::Waiting => kind != Kind::Step,
            BoardState::Escalated
            | BoardState::Abandoned
            | BoardState::Skipped
            | BoardState::Queued
            | BoardState::Exempt
            | BoardState::Active => true,
        }
    }

    pub fn parse(name: &str) -> Option<BoardState> {
        name.parse().ok()
    }
}

/// The views' names of the reasons for which a session is escalated whose process has ended: whatever people were
/// notified of, a crash is what they find.
pub const ESCALATED_CRASHES: [&str; 2] = ["escalated_crash", "escalated_crash_unseen"];

/// What the views take from the rules, besides the limits of `Policy`.
#[derive(Debug, Serialize)]
pub struct Vocabulary {
    /// The statuses in which an agent can be woken.
    wakeable: &'static [&'static str],
    /// The statuses of an issue whose sessions are of no interest any more.
    finished: &'static [&'static str],
    /// What an agent does when it cannot go on without a person.
    needs_person: Vec<&'static str>,
    /// The states and texts of the reasons, with the names that the views give to reasons.
    reasons: BTreeMap<&'static str, BoardReason>,
}

#[derive(Debug, Serialize)]
struct BoardReason {
    state: BoardState,
    /// `{agent}`, `{status}` and `{exit_code}` stand for those of the subject.
    text: String,
}

impl Vocabulary {
    pub fn of_the_rules() -> Vocabulary {
        let needs_person = Activity::ALL.iter().copied().filter(|activity| activity.needs_person()).map(Activity::name);
        let reasons = left().chain(skipped()).chain(stranded());
        Vocabulary {
            wakeable: &WAKEABLE,
            finished: &FINISHED,
            needs_person: needs_person.collect(),
            reasons: reasons.map(|(name, state, text)| (name, BoardReason { state, text })).collect(),
        }
    }
}

/// A reason's name in the views, its state, and its text.
type NamedReason = (&'static str, BoardState, String);

/// The reasons for which a subject is left. Where somebody else said why, the views show that text alone.
fn left() -> impl Iterator<Item = NamedReason> {
    Reason::iter().filter_map(|reason| {
        let state = BoardState::for_reason(&reason)?;
        let text = if let Reason::StuckWake(_) = reason { STUCK_WAKE.to_owned() } else { reason.to_string() };
        Some((reason.into(), state, text))
    })
}

/// The reasons for which a subject is skipped.
fn skipped() -> Vec<NamedReason> {
    let unavailable = Unavailable::Status { name: "{agent}".to_owned(), status: "{status}".to_owned() };
    [
        ("no_such_agent", Unavailable::NoSuchAgent),
        ("unavailable", unavailable),
        ("obstacle", Unavailable::Obstacle(String::new())),
    ]
    .map(|(name, why)| (name, BoardState::Skipped, why.to_string()))
    .into()
}

/// What may be wrong with a subject.
fn stranded() -> Vec<NamedReason> {
    let unattended = Decision::Continue { attempt: 1, remedy: ContinueBy::Wake }.to_string();
    let crash = |how: String| Cause::Crashed(how).to_string();
    let (coded, unseen) = (crash(Ended::with_exit_code("{exit_code}")), crash(Ended::UNSEEN.to_owned()));
    vec![
        (Finding::Orphaned.name(), BoardState::Orphaned, unattended.clone()),
        (Finding::Stalled.name(), BoardState::Stalled, unattended),
        (Finding::Silent.name(), BoardState::Silent, "it shows no sign of life".to_owned()),
        (Finding::Crashed.name(), BoardState::Crashed, coded.clone()),
        ("crashed_unseen", BoardState::Crashed, unseen.clone()),
        (ESCALATED_CRASHES[0], BoardState::Escalated, coded),
        (ESCALATED_CRASHES[1], BoardState::Escalated, unseen),
    ]
}

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
    /// A run that has never shown a sign of life, and has been at work for long: in sweep's own tables.
    UnheardRun,
    /// Such a run in a host's tables.
    UnheardRunOfHost,
    /// A wake that nobody takes up.
    StuckWake,
    /// A row that fails in each sweep.
    Quarantined,
    /// A notification that does not arrive.
    Undelivered,
    /// What the guard leaves as it is.
    HeldBack,
}

/// What a person can do now about what needs one, in a sentence or two.
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
        Need::Abandoned => ADVICE_ON_A_LOSS,
        Need::UnheardRun => "See whether its process still works. If it does not, end the run.",
        Need::UnheardRunOfHost => "See whether its process still works. If it does not, end the run in its host.",
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
