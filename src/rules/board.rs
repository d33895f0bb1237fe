//! A subject's state in one word, as boards and `sweep status` show it, and what the views `…_reasons` need to know
//! of the rules to find it without calling them.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use serde::Serialize;

use super::assignee::WAKEABLE;
use super::reason::STUCK_WAKE;
use super::session::{Activity, Ended, FINISHED};
use super::{ContinueBy, Decision, Finding, Kind, Reason, Unavailable, Whose};

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

    /// People were notified of it.
    pub const WAITING_FOR_PEOPLE: &[BoardState] = &[BoardState::Escalated, BoardState::Abandoned];

    /// The next sweep decides what becomes of it.
    pub const STRANDED: &[BoardState] =
        &[BoardState::Orphaned, BoardState::Stalled, BoardState::Silent, BoardState::Crashed];

    /// The state of a subject that is left for this reason; none when it is not in progress, or an agent's, at all.
    pub fn of(reason: &Reason) -> Option<BoardState> {
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

    /// Can a subject of this kind be in it?
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

/// Why a session is escalated whose process has ended, as the views name it: whatever people were notified of, a crash
/// is what they find.
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
    /// By the names that the views give to reasons.
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
        let reasons = left().into_iter().chain(skipped()).chain(stranded());
        Vocabulary {
            wakeable: &WAKEABLE,
            finished: &FINISHED,
            needs_person: needs_person.collect(),
            reasons: reasons.map(|(name, state, text)| (name, BoardReason { state, text })).collect(),
        }
    }
}

type Named = (&'static str, BoardState, String);

/// Where somebody else said why, in a text of his own, the views show that text alone.
fn left() -> Vec<Named> {
    let own = String::new;
    let stuck = Reason::StuckWake(TimeDelta::zero());
    let reasons = [
        ("live_run", Reason::LiveRun),
        ("host_plan", Reason::HostPlans(own())),
        ("recent", Reason::Recent),
        ("pending_wake", Reason::PendingWake),
        ("stuck_wake", stuck),
        ("pending_command", Reason::PendingCommand),
        ("declared_wait", Reason::DeclaredWait(own())),
        ("exempt", Reason::Exempt(Whose::Subject, own())),
        ("escalated", Reason::Escalated),
    ];
    let named = reasons.into_iter().filter_map(|(name, reason)| {
        let text = if name == "stuck_wake" { STUCK_WAKE.to_owned() } else { reason.to_string() };
        Some((name, BoardState::of(&reason)?, text))
    });
    named.collect()
}

fn skipped() -> Vec<Named> {
    let unavailable = Unavailable::Status { name: "{agent}".to_owned(), status: "{status}".to_owned() };
    [
        ("no_such_agent", Unavailable::NoSuchAgent),
        ("unavailable", unavailable),
        ("obstacle", Unavailable::Obstacle(String::new())),
    ]
    .map(|(name, why)| (name, BoardState::Skipped, why.to_string()))
    .into()
}

fn stranded() -> Vec<Named> {
    let unattended = Decision::Continue { attempt: 1, remedy: ContinueBy::Wake }.to_string();
    let (coded, unseen) = (Ended::crash(&Ended::with_exit_code("{exit_code}")), Ended::crash(Ended::UNSEEN));
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
