//! One subject explained: every clause of its definition, what was tried, and what a sweep would do now.

use anyhow::Result;
use chrono::{DateTime, Utc};
use owo_colors::OwoColorize;
use serde_json::{Value, json};

use super::grid::{self, CELL_MAX};
use super::page::Page;
use crate::conclusion::{some_failed, usage};
use crate::rules::display::{HumanDuration, format_utc, humanize};
use crate::rules::session::AgentState;
use crate::rules::{Assignee, Clause, Decision, Exemption, History, Kind, Policy, Verdict, Whose, decide};
use crate::store::connect::open::Url;
use crate::store::db::errors::{self, Refused};
use crate::store::hosts::links::{HostUrl, Links};
use crate::store::hosts::rights::Purpose;
use crate::store::read::overview::LeftAlone;
use crate::store::work::find::among;
use crate::store::work::ledger::{self, Past, Recovery};
use crate::store::work::quarantine::{self, FailingSubject};
use crate::store::work::supervision;
use crate::store::{Abort, Db, Label, Subject, Timeouts, for_kind, read_alone};
use crate::text::{cut, redact, shown_in};

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
    /// Why the sweeps of this database leave it as it is, whatever they would decide.
    left_alone: Option<String>,
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
            title: facts.naming().title.to_owned(),
            assignee: facts.assignee().clone(),
            verdict: decide(facts, policy),
            history: facts.history().clone(),
            agent: facts.agent_state().cloned(),
            past,
            failure,
            policy: policy.clone(),
            is_watched: false,
            left_alone: None,
        }
    }

    /// Connects, and reads of the subject of this name: the clauses, the history and the ledger of one moment. Without
    /// a kind it may be of any. Refuses a name that finds none or several, and a row that cannot be read. `policy` is
    /// asked for by the policy of the watcher that examines the session, if one does.
    pub fn read(
        url: &Url,
        (kind, name): (Option<Kind>, &str),
        policy: impl FnOnce(Option<Policy>) -> Policy + Send + 'static,
        host_url: Option<&HostUrl>,
        timeouts: &Timeouts,
    ) -> Result<Explanation> {
        let (name, host_url, its_timeouts) = (name.to_owned(), host_url.cloned(), *timeouts);
        url.ask(timeouts, move |url| {
            let mut store = url.open_to(Purpose::Explain)?;
            kind.map_or(Ok(()), |kind| store.refuse_unprovided(kind))?;
            let kinds = kind.map_or_else(|| store.kinds.clone(), |kind| vec![kind]);
            let links = store.host.links(host_url.as_ref());
            let read = store.db.in_transaction(Purpose::Explain.access(), &its_timeouts, |db| {
                let (kind, label) = among(db, &kinds, &name)?;
                let now = db.now()?;
                let watchers = match kind {
                    Kind::Session => supervision::policy_of_watcher(db, &label.id, now)?,
                    Kind::Issue | Kind::Step => None,
                };
                let is_watched = watchers.is_some();
                let policy = policy(watchers);
                let explanation = for_kind!(kind, S => read::<S>(db, label, &policy, &links))?;
                let (label, agent) = (&explanation.label, explanation.assignee.id());
                let left_alone = LeftAlone::read(db, now)?.reason(kind, label.tenant.as_deref(), agent);
                let left_alone = left_alone.filter(|_| !is_watched);
                Ok(Explanation { is_watched, left_alone, ..explanation })
            });
            read.map_err(|abort: Abort<Refused>| url.explain(abort.into()))
        })
    }

    /// The database's clock.
    pub fn observed_at(&self) -> DateTime<Utc> {
        self.history.observed_at
    }

    /// For people.
    pub fn table(&self) -> String {
        let decision = &self.verdict.decision;
        let history = self.history().into_iter().map(|(name, value)| [name.to_owned(), value]);
        let history = format!("{}\n{}{}", "History".bold(), grid::without_header(history), self.recoveries());
        let now = format!("{}:", self.decides_now());
        let announced = redact(&self.verdict.announce());
        let mut text = format!("{}\n{}\n{history}\n", self.heading(), self.clauses());
        text += &format!("{} {}.\n", now.bold(), announced.bold());
        if let Some(objection) = self.objection() {
            text += &format!("{}\n", objection.yellow());
        }
        text + &format!("What would change that: {}.\n", decision.what_would_change_it())
    }

    /// Why sweeps leave the subject as it is, whatever their decision would be.
    pub fn objection(&self) -> Option<String> {
        let quarantine = self.failure.as_ref().and_then(|failure| in_quarantine(failure, self.kind, &self.label));
        let does_nothing =
            matches!(self.verdict.decision, Decision::Leave(_) | Decision::Wait { .. } | Decision::Skip(_));
        let left_alone = self.left_alone.as_ref().filter(|_| !does_nothing);
        quarantine.or_else(|| Some(format!("But sweeps leave it, by the latest one: {}.", left_alone?)))
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
        // It does not follow that the finding is wrong: a session that waits for its nudge loops all the same.
        self.verdict.finding.map_or("Not all of it holds.".to_owned(), |finding| format!("So it is {finding}."))
    }

    /// What happened to it so far: names and values, as they may be shown.
    pub fn history(&self) -> Vec<(&'static str, String)> {
        let (history, policy) = (&self.history, &self.policy);
        let now = history.observed_at;
        let ago = |at: DateTime<Utc>| match at <= now {
            true => format!("{} ago, at {}", HumanDuration(now - at), format_utc(at)),
            false => format!("at {}, in the future", format_utc(at)),
        };
        let (attempts, escalations) = (history.attempts_last_day, history.escalations_last_day);
        let max = policy.attempts_per_day_max;
        let mut rows = vec![
            ("episode", format!("began {}", ago(history.episode_began_at))),
            ("attempts", self.render_attempts()),
            ("in 24 hours", format!("{attempts} of {max} attempts, {escalations} of {max} escalations")),
        ];
        if let Some(agent) = &self.agent {
            rows.push(("its agent", redact(&agent.describe())));
            rows.push(("known by", format!("{}, since {}", redact(&agent.evidence), ago(agent.since))));
        }
        rows.extend(history.last_attempt_at.map(|at| ("last attempt", ago(at))));
        rows.extend(history.exemption.as_ref().map(|exemption| ("exemption", self.describe_exemption(exemption))));
        rows.extend(self.failure.as_ref().map(|failure| {
            let (sweeps, reason) = (failure.sweeps, redact(&failure.reason));
            let running = if sweeps == 1 { "in 1 sweep".to_owned() } else { format!("in {sweeps} sweeps running") };
            ("failures", format!("{running}, the last {}: {reason}", ago(failure.last_at)))
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
            return "\n  No sweep has done anything about it that is still recorded.\n".to_owned();
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
            json!({ "demand": demand, "found": found, "holds": failure.is_none() })
        });
        let exemption = history.exemption.as_ref().map(|exemption| {
            let Exemption { whose, reason, until } = exemption;
            let holds = exemption.holds(history.observed_at);
            json!({ "whose": whose.name(), "reason": reason, "until": until, "holds": holds })
        });
        let attempt = match verdict.decision {
            Decision::Continue { attempt, .. } => attempt,
            _ => history.attempts,
        };
        let mut document = shown_in(json!({
            "schema": SCHEMA,
            "kind": kind,
            "id": label.id,
            "identifier": label.identifier,
            "tenant": label.tenant,
            "url": self.url,
            "title": title,
            "assignee": self.assignee.describe(),
            "defines": verdict.definition.0,
            "finding": verdict.finding,
            "clauses": clauses.collect::<Vec<_>>(),
            "decision": verdict.decision.name(),
            "reason": verdict.reason(),
            "what_would_change_it": verdict.decision.what_would_change_it(),
            "attempt": attempt,
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
            "agent": self.agent,
            "recoveries_total": past.total,
            "recoveries": past.latest,
            "failed_sweeps": failure.as_ref().map_or(0, |failure| failure.sweeps),
            "left_alone": self.left_alone,
            "quarantined": failure.as_ref().is_some_and(|failure| failure.quarantined_at.is_some()),
        }));
        // A link leads nowhere when it is redacted.
        document["url"] = json!(self.url);
        document
    }
}

/// A row that cannot be read is no failure of the database: it is named, with what is wrong and what a sweep does.
fn read<S: Subject>(db: &mut Db, label: Label, policy: &Policy, links: &Links) -> Result<Explanation, Refused> {
    let failure = quarantine::of(db, S::KIND, &label.id)?;
    let read = read_alone::<S>(db, &label.id, policy);
    let read = read.and_then(|facts| Ok((facts, ledger::history_of(db, S::KIND, &label.id)?)));
    let (kind, id) = (S::KIND, label.redact_id());
    // With its id, which the name may not show.
    let name = if label.identifier.is_some() { format!("{} ({id})", label.name()) } else { id };
    match read {
        Ok((Some(facts), past)) => Ok(Explanation::of(label, &facts, policy, links, past, failure)),
        Ok((None, _)) => Err(usage(format!("there is no {kind} {name} in this database")).into()),
        Err(error) if errors::is_undecodable(&error) => {
            const SOON: &str =
                "each sweep reports it as unreadable and leaves it, and after three of them it is in quarantine";
            let held = failure.and_then(|failure| in_quarantine(&failure, kind, &label));
            let (why, held) = (errors::of_row(kind, &error), held.unwrap_or_else(|| SOON.to_owned()));
            Err(some_failed(format!("{kind} {name} cannot be read: {why}; {held}")).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// What a sweep does with a subject in quarantine, whatever its decision would be; none: it is not there.
fn in_quarantine(failure: &FailingSubject, kind: Kind, label: &Label) -> Option<String> {
    let (since, id) = (format_utc(failure.quarantined_at?), label.redact_id());
    Some(format!(
        "But it is in quarantine since {since}, and sweeps skip it until it is released:\n  \
         sweep quarantine release {kind} {id}"
    ))
}
