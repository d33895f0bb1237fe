//! One subject explained: every clause of its definition, what was tried, and what a sweep would do now.

mod read;

use chrono::{DateTime, Utc};
use owo_colors::OwoColorize;
use serde_json::{Value, json};

use super::grid::{self, CELL_MAX};
use super::page::Page;
use crate::rules::display::{HumanDuration, format_utc, humanize};
use crate::rules::session::AgentState;
use crate::rules::{Assignee, Clause, Decision, Exemption, History, Kind, Policy, Verdict, Whose, decide};
use crate::store::Label;
use crate::store::Subject;
use crate::store::hosts::links::Links;
use crate::store::work::ledger::{Past, Recovery};
use crate::store::work::quarantine::FailingSubject;
use crate::text::{cut, redact};

/// The version of the JSON document.
const SCHEMA: u32 = 1;

/// All that there is to say of one subject.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub label: Label,
    /// Its page in the host's own board.
    pub url: Option<String>,
    pub kind: Kind,
    pub title: String,
    pub assignee: Assignee,
    /// What may be wrong, and the clauses that must all hold for it.
    pub verdict: Verdict,
    history: History,
    /// What the agent of a session is doing, as far as it is known.
    agent: Option<AgentState>,
    pub past: Past,
    pub failure: Option<FailingSubject>,
    policy: Policy,
    /// Is it a session's watcher that decides by this policy?
    is_watched: bool,
}

impl Explanation {
    /// Explains a subject by the facts and the decision that a sweep with this policy would have.
    pub fn of<S: Subject>(
        label: Label,
        facts: &S,
        policy: &Policy,
        links: &Links,
        past: Past,
        failure: Option<FailingSubject>,
    ) -> Explanation {
        Explanation {
            url: links.to(&facts.page(&label.id)),
            label,
            kind: S::KIND,
            title: facts.title().to_owned(),
            assignee: facts.assignee().clone(),
            verdict: decide(facts, policy),
            history: facts.history().clone(),
            agent: facts.agent_state().cloned(),
            past,
            failure,
            policy: policy.clone(),
            is_watched: false,
        }
    }

    /// The database's clock.
    pub fn observed_at(&self) -> DateTime<Utc> {
        self.history.observed_at
    }

    /// The attempt that would be made, or how many were.
    fn attempt(&self) -> u32 {
        match self.verdict.decision {
            Decision::Continue { attempt, .. } => attempt,
            _ => self.history.attempts,
        }
    }

    /// For people.
    pub fn table(&self) -> String {
        let decision = &self.verdict.decision;
        let mut text = format!("{}\n{}\n{}\n", self.heading(), self.clauses(), self.render_history());
        text += &format!(
            "{} {}.\n",
            format!("{}:", self.decides_now()).bold(),
            redact(&decision.announce(self.verdict.attempts_max)).bold()
        );
        if let Some(failure) = self.failure.as_ref().filter(|failure| failure.quarantined_at.is_some()) {
            text += &format!("{}\n", quarantine(failure, self.kind, &self.label).yellow());
        }
        text + &format!("What would change that: {}.\n", decision.what_would_change_it())
    }

    /// The beginning of the sentence that says what a sweep, or its watcher, decides now.
    pub fn decides_now(&self) -> &'static str {
        if self.is_watched { "Its watcher would now, by its own settings" } else { "A sweep would now" }
    }

    /// `issue ACM-12  Import contacts from CSV`, and below whose it is.
    fn heading(&self) -> String {
        let (kind, name, title) = (self.kind, self.label.name(), cut(&redact(&self.title), CELL_MAX));
        let tenant = redact(self.label.tenant.as_deref().unwrap_or_default());
        let whose =
            format!("tenant {tenant}, assigned to {}, {}", redact(&self.assignee.describe()), self.label.redact_id());
        let name = Page::of(std::io::stdout()).link(&name, self.url.as_deref());
        format!("{}  {title}\n{}\n", format!("{kind} {name}").bold(), whose.dimmed())
    }

    fn clauses(&self) -> String {
        let (finding, clauses) = &self.verdict.definition;
        let rows = clauses.iter().map(|clause| {
            let mark = if clause.failure.is_none() { "✓".green().to_string() } else { "✗".red().to_string() };
            [mark, redact(&clause.demand), redact(&clause.found)]
        });
        let rows = grid::without_header(rows);
        format!("{}\n{rows}{}\n", finding.definition(), self.so())
    }

    /// What follows from the clauses.
    pub fn so(&self) -> String {
        // Not "so it is not": a session that waits for its nudge loops all the same.
        self.verdict.finding.map_or("Not all of it holds.".to_owned(), |finding| format!("So it is {finding}."))
    }

    fn render_history(&self) -> String {
        format!("{}\n{}{}", "History".bold(), grid::without_header(self.history().into_iter()), self.recoveries())
    }

    /// What happened to it so far: names and values, as they may be shown.
    pub fn history(&self) -> Vec<[String; 2]> {
        let (history, policy) = (&self.history, &self.policy);
        let now = history.observed_at;
        let ago = |at: DateTime<Utc>| match at <= now {
            true => format!("{} ago, at {}", HumanDuration(now - at), format_utc(at)),
            false => format!("at {}, in the future", format_utc(at)),
        };
        let mut rows = vec![
            ["episode".to_owned(), format!("began {}", ago(history.episode_began_at))],
            ["attempts".to_owned(), self.render_attempts()],
            [
                "in 24 hours".to_owned(),
                format!(
                    "{} of {max} attempts, {} of {max} escalations",
                    history.attempts_last_day,
                    history.escalations_last_day,
                    max = policy.attempts_per_day_max
                ),
            ],
        ];
        rows.extend(self.agent.as_ref().map(|agent| ["its agent".to_owned(), redact(&agent.describe())]));
        rows.extend(
            self.agent.as_ref().map(|agent| {
                ["known by".to_owned(), format!("{}, since {}", redact(&agent.evidence), ago(agent.since))]
            }),
        );
        rows.extend(history.last_attempt_at.map(|at| ["last attempt".to_owned(), ago(at)]));
        rows.extend(
            history.exemption.as_ref().map(|exemption| ["exemption".to_owned(), self.describe_exemption(exemption)]),
        );
        rows.extend(self.failure.as_ref().map(|failure| {
            let (sweeps, reason) = (failure.sweeps, redact(&failure.reason));
            let running = if sweeps == 1 { "in 1 sweep".to_owned() } else { format!("in {sweeps} sweeps running") };
            ["failures".to_owned(), format!("{running}, the last {}: {reason}", ago(failure.last_at))]
        }));
        rows
    }

    /// `until 2026-12-24 00:00:00 UTC: a customer's call`, or that it expired. Another's says whose it is.
    fn describe_exemption(&self, exemption: &Exemption) -> String {
        let (now, reason) = (self.history.observed_at, redact(&exemption.reason));
        let whose = match (exemption.whose, &self.assignee) {
            (Whose::Subject, _) => String::new(),
            (Whose::Agent, Assignee::Agent { name: Some(name), .. }) => {
                format!("its agent {} is exempt ", redact(name))
            }
            (Whose::Agent, _) => "its agent is exempt ".to_owned(),
            (Whose::Tenant, _) => "its tenant is exempt ".to_owned(),
        };
        match exemption.until {
            None => format!("{whose}until it is removed: {reason}"),
            Some(until) if exemption.holds(now) => format!("{whose}until {}: {reason}", format_utc(until)),
            Some(until) => format!("expired {} ago: {reason}", HumanDuration(now - until)),
        }
    }

    fn render_attempts(&self) -> String {
        let made = match (self.history.attempts, self.verdict.attempts_max) {
            (0, 0) => "none is allowed".to_owned(),
            (made, max) => format!("{made} of {max} in this episode"),
        };
        match self.history.attempts_unserved {
            0 => made,
            n => format!("{made}; {n} more never began"),
        }
    }

    fn recoveries(&self) -> String {
        let Past { total, latest } = &self.past;
        if latest.is_empty() {
            return "\n  No sweep has done anything about it.\n".to_owned();
        }
        let listed = latest.len();
        let more = if *total == listed as i64 { String::new() } else { format!("  The latest {listed} of {total}:\n") };
        let rows = latest.iter().map(|row| {
            // The reason says who asked for it.
            let Recovery { created_at, action, attempt, reason, requested_by: _, blocked_subject, settled_at } = row;
            let blocked = if *blocked_subject { "; blocked" } else { "" };
            let settled = settled_at.map_or_else(|| "open".to_owned(), format_utc);
            [format_utc(*created_at), humanize(&redact(action)), attempt.to_string(), redact(reason) + blocked, settled]
        });
        format!("\n{more}{}", grid::with_header(["when", "what", "attempt", "why", "settled"], rows, &[]))
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let Explanation { label, kind, title, verdict, history, past, failure, policy, .. } = self;
        let clauses = verdict.definition.1.iter().map(|clause| {
            let Clause { demand, found, failure, is_patience: _ } = clause;
            json!({ "demand": redact(demand), "found": redact(found), "holds": failure.is_none() })
        });
        let recoveries = past.latest.iter().map(|row| {
            let Recovery { created_at, action, attempt, reason, requested_by, blocked_subject, settled_at } = row;
            json!({
                "at": created_at, "action": redact(action), "attempt": attempt, "reason": redact(reason),
                "requested_by": requested_by.as_deref().map(redact),
                "blocked_subject": blocked_subject, "settled_at": settled_at,
            })
        });
        let exemption = history.exemption.as_ref().map(|exemption| {
            let holds = exemption.holds(history.observed_at);
            let (whose, reason) = (exemption.whose.name(), redact(&exemption.reason));
            json!({ "whose": whose, "reason": reason, "until": exemption.until, "holds": holds })
        });
        json!({
            "schema": SCHEMA,
            "kind": kind,
            "id": label.redact_id(),
            "identifier": label.identifier.as_deref().map(redact),
            "tenant": label.tenant.as_deref().map(redact),
            "url": self.url,
            "title": redact(title),
            "assignee": redact(&self.assignee.describe()),
            "defines": verdict.definition.0,
            "finding": verdict.finding,
            "clauses": clauses.collect::<Vec<_>>(),
            "decision": verdict.decision.name(),
            "reason": redact(&verdict.decision.to_string()),
            "what_would_change_it": verdict.decision.what_would_change_it(),
            "attempt": self.attempt(),
            "attempts_max": verdict.attempts_max,
            "history": {
                "observed_at": history.observed_at,
                "idle_since": history.idle_since,
                "episode_began_at": history.episode_began_at,
                "attempts": history.attempts,
                "attempts_last_day": history.attempts_last_day,
                "attempts_per_day_max": policy.attempts_per_day_max,
                "last_attempt_at": history.last_attempt_at,
                "escalated": history.escalated,
                "escalations_last_day": history.escalations_last_day,
                "exemption": exemption,
            },
            "agent": self.agent.as_ref().map(|agent| json!({
                "state": agent.activity.name(),
                "kind": agent.kind.as_deref().map(redact),
                "question": redact(&agent.question),
                "since": agent.since,
                "evidence": redact(&agent.evidence),
            })),
            "recoveries_total": past.total,
            "recoveries": recoveries.collect::<Vec<_>>(),
            "failed_sweeps": failure.as_ref().map_or(0, |failure| failure.sweeps),
            "quarantined": failure.as_ref().is_some_and(|failure| failure.quarantined_at.is_some()),
        })
    }
}

/// What a sweep does with a subject in quarantine, whatever its decision would be.
pub fn quarantine(failure: &FailingSubject, kind: Kind, label: &Label) -> String {
    let since = failure.quarantined_at.map_or_else(String::new, |at| format!(" since {}", format_utc(at)));
    format!(
        "But it is in quarantine{since}, and sweeps skip it until it is released:\n  sweep quarantine release {kind} \
            {}",
        label.redact_id()
    )
}
