//! A model of a host with one issue, and what happens to the issue between two sweeps. It computes the facts as the
//! view `issue_facts` does; the comments name its parts.

use chrono::{DateTime, TimeDelta, Utc};

use crate::rules::issue::IssueFacts;
use crate::rules::*;

/// What happens to an issue between two sweeps.
#[derive(Clone, Debug)]
pub enum Event {
    Sweep,
    /// A run that nobody's wake started.
    OwnRun,
    /// The host resumes the issue by itself: with the reason of a continuation, or as a retry of another kind.
    HostRun(&'static str),
    HostWake {
        is_continuation: bool,
    },
    /// The oldest pending wake becomes a run, or is dropped.
    WakeServed {
        runs: bool,
    },
    RunsEnd,
    /// A sign of life of all runs.
    Heartbeat,
    /// From now on all runs are lost when they are silent for so many seconds.
    Lease(i64),
    /// The program that runs the agents starts again: nobody goes on with the runs that it left.
    WorkerStart,
    /// A person, or the host.
    Status(&'static str),
    /// Set to work anew.
    Restart,
    Edit,
    Assign(Assigned),
    AgentStatus(&'static str),
    /// It waits for so many minutes; for none: no more.
    Wait(i64),
    /// The host forgets the runs that have ended, and the wakes that are done.
    Prune,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Assigned {
    Agent(usize),
    User,
    Nobody,
}

struct Run {
    wake: Option<usize>,
    retry_reason: Option<&'static str>,
    created_at: DateTime<Utc>,
    finished_at: Option<DateTime<Utc>>,
    heartbeat_at: Option<DateTime<Utc>>,
    lease: Option<TimeDelta>,
    is_left: bool,
}

impl Run {
    fn last_sign_at(&self) -> DateTime<Utc> {
        self.finished_at.or(self.heartbeat_at).unwrap_or(self.created_at)
    }

    /// Whether somebody is at work on it, as far as that can be known.
    fn lives(&self, now: DateTime<Utc>, policy: &Policy) -> bool {
        let silence = match (self.lease, self.heartbeat_at) {
            (Some(lease), _) => lease,
            (None, Some(_)) => policy.run_silent_after,
            (None, None) => TimeDelta::MAX,
        };
        self.finished_at.is_none() && !self.is_left && now - self.last_sign_at() <= silence
    }
}

struct Wake {
    is_continuation: bool,
    is_ours: bool,
    created_at: DateTime<Utc>,
    pending: bool,
    /// Before any run.
    dropped: bool,
}

/// A row of `recoveries`.
pub struct Recovery {
    pub action: &'static str,
    created_at: DateTime<Utc>,
    episode_began_at: DateTime<Utc>,
    attempt: u32,
    wake: Option<usize>,
    blocked_subject: bool,
    /// The agent that it says is terminated.
    lost_agent: Option<Id>,
    settled: bool,
}

/// One issue and what belongs to it.
pub struct Host {
    pub now: DateTime<Utc>,
    status: &'static str,
    assigned: Assigned,
    agent_status: &'static str,
    waits_until: Option<DateTime<Utc>>,
    started_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    runs: Vec<Run>,
    wakes: Vec<Wake>,
    pub ledger: Vec<Recovery>,
    /// How many runs a sweep has closed.
    pub lost_runs: usize,
    /// The wakes of sweep's continuations, as far as they were not dropped, since the issue last showed progress by
    /// itself or a person was notified.
    continued_in_a_row: Vec<usize>,
}

pub type Decide = fn(&IssueFacts, &Policy) -> Verdict;

impl Host {
    pub fn new() -> Host {
        let now = DateTime::from_timestamp(1_800_000_000, 0).expect("a time");
        Host {
            now,
            status: "in_progress",
            assigned: Assigned::Agent(0),
            agent_status: "idle",
            waits_until: None,
            started_at: now,
            updated_at: now,
            runs: Vec::new(),
            wakes: Vec::new(),
            ledger: Vec::new(),
            lost_runs: 0,
            continued_in_a_row: Vec::new(),
        }
    }

    fn start(&mut self, wake: Option<usize>, retry_reason: Option<&'static str>) {
        let (created_at, finished_at, heartbeat_at) = (self.now, None, None);
        self.runs.push(Run { wake, retry_reason, created_at, finished_at, heartbeat_at, lease: None, is_left: false });
    }

    pub fn play(&mut self, event: &Event, policy: &Policy, decide: Decide) -> Result<(), String> {
        match *event {
            Event::Sweep => return self.sweep(policy, decide),
            Event::OwnRun => {
                self.start(None, None);
                self.continued_in_a_row.clear();
            }
            Event::HostRun(reason) => self.start(None, Some(reason)),
            Event::HostWake { is_continuation } => self.wakes.push(Wake {
                is_continuation,
                is_ours: false,
                created_at: self.now,
                pending: true,
                dropped: false,
            }),
            Event::WakeServed { runs } => self.serve_a_wake(runs),
            Event::RunsEnd => {
                let now = self.now;
                self.unended().for_each(|run| run.finished_at = Some(now));
            }
            Event::Heartbeat => {
                let now = self.now;
                self.unended().for_each(|run| run.heartbeat_at = Some(now));
            }
            Event::Lease(seconds) => self.unended().for_each(|run| run.lease = Some(TimeDelta::seconds(seconds))),
            Event::WorkerStart => self.unended().for_each(|run| run.is_left = true),
            Event::Status(status) => (self.status, self.updated_at) = (status, self.now),
            Event::Restart => {
                (self.status, self.started_at, self.updated_at) = ("in_progress", self.now, self.now);
                self.continued_in_a_row.clear();
            }
            Event::Edit => self.updated_at = self.now,
            Event::Assign(assigned) => (self.assigned, self.updated_at) = (assigned, self.now),
            Event::AgentStatus(status) => self.agent_status = status,
            Event::Wait(minutes) => self.waits_until = (minutes != 0).then(|| self.now + TimeDelta::minutes(minutes)),
            // Wakes stay: the others are known by their place.
            Event::Prune => self.runs.retain(|run| run.finished_at.is_none()),
        }
        Ok(())
    }

    fn unended(&mut self) -> impl Iterator<Item = &mut Run> {
        self.runs.iter_mut().filter(|run| run.finished_at.is_none())
    }

    /// The view `observed_runs`.
    fn is_lost(&self, run: &Run) -> bool {
        let is_over = |lease| lease < self.now - run.last_sign_at();
        run.finished_at.is_none() && (run.is_left || run.lease.is_some_and(is_over))
    }

    fn unended_runs(&self) -> UnendedRuns {
        let unended = || self.runs.iter().filter(|run| run.finished_at.is_none());
        let is_live = |run: &Run| !self.is_lost(run) && (run.heartbeat_at.is_none() || run.lease.is_some());
        let heard = |run: &Run| run.heartbeat_at.filter(|_| run.lease.is_none() && !self.is_lost(run));
        UnendedRuns {
            has_live_run: unended().any(is_live),
            heard_of_at: unended().filter_map(heard).max(),
            lost: unended().any(|run| self.is_lost(run)).then(|| "a run".to_owned()),
        }
    }

    /// The trigger `close_lost_runs`.
    fn close_lost_runs(&mut self, policy: &Policy) {
        let (now, mut closed) = (self.now, 0);
        for run in self.unended().filter(|run| !run.lives(now, policy)) {
            (run.finished_at, closed) = (Some(now), closed + 1);
        }
        self.lost_runs += closed;
    }

    fn serve_a_wake(&mut self, runs: bool) {
        let Some(n) = self.wakes.iter().position(|wake| wake.pending) else { return };
        (self.wakes[n].pending, self.wakes[n].dropped) = (false, !runs);
        self.continued_in_a_row.retain(|wake| runs || *wake != n);
        if runs {
            self.start(Some(n), None);
            if !self.wakes[n].is_ours && !self.wakes[n].is_continuation {
                self.continued_in_a_row.clear();
            }
        }
    }

    /// The view `issue_runs`.
    fn is_continuation(&self, run: &Run) -> bool {
        run.retry_reason == Some("issue_continuation_needed")
            || run.wake.is_some_and(|wake| self.wakes[wake].is_continuation)
    }

    /// The continuations of the view `issue_facts`: the ledger's rows, and the runs that are in none of them.
    fn continuations(&self) -> Vec<(DateTime<Utc>, Option<u32>)> {
        let ours = self.ledger.iter().filter(|row| row.action == "continue");
        let ours = ours.map(|row| (row.created_at, Some(row.attempt)));
        let is_in_ledger = |run: &&Run| self.ledger.iter().any(|row| row.wake.is_some() && row.wake == run.wake);
        let hosts = self.runs.iter().filter(|run| self.is_continuation(run) && !is_in_ledger(run));
        ours.chain(hosts.map(|run| (run.created_at, None))).collect()
    }

    fn assignee(&self) -> Assignee {
        match self.assigned {
            Assigned::Agent(n) => Assignee::Agent {
                id: Id(n.to_string()),
                name: Some("Ada".to_owned()),
                status: Some(self.agent_status.to_owned()),
                obstacle: None,
            },
            Assigned::User | Assigned::Nobody => Assignee::Nobody,
        }
    }

    /// The view `issue_facts`.
    fn facts(&self) -> IssueFacts {
        let a_day_ago = self.now - TimeDelta::hours(24);
        let is_ours = |run: &Run| run.wake.is_some_and(|wake| self.wakes[wake].is_ours);
        // run.last_own_at, escalation.last_at
        let is_own = |run: &&Run| run.retry_reason.is_none() && !self.is_continuation(run) && !is_ours(run);
        let last_own_at = self.runs.iter().filter(is_own).map(|run| run.created_at).max();
        let escalations = || self.ledger.iter().filter(|row| row.action == "escalate").map(|row| row.created_at);
        // episode.began_at
        let began_at = [last_own_at, escalations().max()].into_iter().flatten().fold(self.started_at, DateTime::max);
        // run.last_sign_at
        let last_sign_at = self.runs.iter().map(Run::last_sign_at).max();
        // continuation.since_episode, last_day, last_at
        let continuations = self.continuations();
        let in_episode = || continuations.iter().filter(|(at, _)| began_at <= *at);
        let recorded = in_episode().filter_map(|(_, attempt)| *attempt).max().unwrap_or(0);
        let recorded = recorded.max(in_episode().count() as u32);
        // unserved.since_episode
        let is_unserved = |row: &&Recovery| row.wake.is_some_and(|wake| self.wakes[wake].dropped);
        let unserved = self.ledger.iter().filter(|row| began_at <= row.created_at).filter(is_unserved).count() as u32;
        let continuation_ends = self.runs.iter().filter(|run| self.is_continuation(run) || is_ours(run));
        let ended_at = |run: &Run| run.finished_at.or_else(|| self.is_lost(run).then(|| run.last_sign_at()));
        // The join of `recoveries o`.
        let is_open = |row: &&Recovery| !(row.settled || row.blocked_subject && self.status == "blocked");
        let open = self.ledger.iter().enumerate().find(|(_, row)| is_open(row));
        let escalated = |row: &Recovery| row.action == "escalate" && !row.blocked_subject && began_at <= row.created_at;
        IssueFacts {
            id: Id("i".to_owned()),
            tenant: "acme".to_owned(),
            identifier: None,
            title: "Mend the fence".to_owned(),
            status: self.status.to_owned(),
            assignee: self.assignee(),
            assigned_to_user: self.assigned == Assigned::User,
            runs: self.unended_runs(),
            pending_wake_since: self.wakes.iter().filter(|wake| wake.pending).map(|wake| wake.created_at).min(),
            pending_wake: None,
            declared_wait: self.waits_until.filter(|until| self.now < *until).map(|_| "approval".to_owned()),
            last_run_id: None,
            last_run_ended_at: self.runs.iter().filter_map(|run| run.finished_at).max(),
            last_run_end: None,
            host_plan: None,
            unreachable: None,
            run_end_grace: TimeDelta::milliseconds(500),
            unstarted: None,
            resume_advice: "set it to todo".to_owned(),
            resume_commands: None,
            history: History {
                exemption: None,
                observed_at: self.now,
                idle_since: last_sign_at.into_iter().fold(self.updated_at, DateTime::max),
                episode_began_at: began_at,
                attempts: recorded - unserved,
                attempts_unserved: unserved,
                attempts_last_day: continuations.iter().filter(|(at, _)| a_day_ago < *at).count() as u32,
                last_attempt_at: continuations.iter().map(|(at, _)| *at).max(),
                last_attempt_ended_at: continuation_ends.filter_map(ended_at).max(),
                escalated: open.is_some_and(|(_, row)| escalated(row)),
                abandoned: open.is_some_and(|(_, row)| row.action == "abandon"),
                lost_agent: open.and_then(|(_, row)| row.lost_agent.clone()),
                escalations_last_day: escalations().filter(|at| a_day_ago < *at).count() as u32,
                open: open.map(|(n, row)| OpenRecovery { id: Id(n.to_string()), since: row.created_at }),
            },
        }
    }

    fn sweep(&mut self, policy: &Policy, decide: Decide) -> Result<(), String> {
        let facts = self.facts();
        let last = self.ledger.iter().filter(|row| row.action == "continue").map(|row| row.created_at).max();
        let decision = decide(&facts, policy).decision;
        if let Decision::Continue { .. } | Decision::Escalate(_) = decision {
            let lives = self.runs.iter().any(|run| run.lives(self.now, policy));
            ensure(!lives, "a run that lives is taken")?;
            self.close_lost_runs(policy);
            ensure(self.unended().next().is_none(), "a run that is lost stays as it is")?;
        }
        match decision {
            Decision::Leave(_) | Decision::Skip(_) | Decision::Wait { .. } => return Ok(()),
            Decision::Continue { .. } => {
                ensure(facts.pending_wake_since.is_none(), "somebody is on it")?;
                ensure(
                    matches!(self.assigned, Assigned::Agent(_)) && self.agent_status == "idle",
                    "its agent cannot work",
                )?;
                ensure(last.is_none_or(|at| policy.retry_delay <= self.now - at), "it was just continued")?;
                self.wakes.push(Wake {
                    is_continuation: true,
                    is_ours: true,
                    created_at: self.now,
                    pending: true,
                    dropped: false,
                });
                self.record("continue", facts.history.attempts_recorded() + 1, &facts)?;
                self.continued_in_a_row.push(self.wakes.len() - 1);
            }
            Decision::Escalate(_) => {
                self.record("escalate", facts.history.attempts, &facts)?;
                self.continued_in_a_row.clear();
            }
            Decision::Recovered(_) => self.record("recover", facts.history.attempts, &facts)?,
            Decision::HandedOver(_) => self.record("hand_over", facts.history.attempts, &facts)?,
            Decision::Abandon(_) => {
                ensure(self.agent_status != "idle", "its agent can work")?;
                let told = facts.history.open.as_ref().filter(|_| facts.history.abandoned);
                let knows = told.is_some_and(|told| match self.agent_status {
                    "terminated" => facts.history.lost_agent.as_ref() == facts.assignee.id(),
                    _ => self.now - told.since < TimeDelta::days(7),
                });
                ensure(!knows && !facts.history.escalated, "people know of it already")?;
                self.record("abandon", facts.history.attempts, &facts)?;
            }
        }
        if let (Some(row), Escalation::CommentAndBlock) = (self.ledger.last_mut(), policy.escalation)
            && row.action == "escalate"
        {
            row.blocked_subject = true;
            (self.status, self.updated_at) = ("blocked", self.now);
        }
        self.check(policy)?;
        let again = crate::rules::decide(&self.facts(), policy).decision;
        let leaves = matches!(again, Decision::Leave(_) | Decision::Skip(_) | Decision::Wait { .. });
        ensure(leaves, &format!("a second sweep would do more: {again:?}"))
    }

    fn record(&mut self, action: &'static str, attempt: u32, facts: &IssueFacts) -> Result<(), String> {
        // The unique index `recoveries_once`.
        let began = facts.history.episode_began_at;
        let same = |row: &Recovery| (row.action, row.episode_began_at, row.attempt) == (action, began, attempt);
        let is_the_end = ["recover", "hand_over"].contains(&action);
        ensure(is_the_end || action == "abandon" || !self.ledger.iter().any(same), "an attempt was taken twice")?;
        if let Some(open) = &facts.history.open {
            let open: usize = open.id.0.parse().map_err(|_| "a place in the ledger")?;
            self.ledger[open].settled = true;
        }
        ensure(self.ledger.iter().all(|row| row.settled), "two rows are open")?;
        self.ledger.push(Recovery {
            action,
            created_at: self.now,
            episode_began_at: began,
            attempt,
            wake: (action == "continue").then(|| self.wakes.len() - 1),
            blocked_subject: false,
            lost_agent: facts
                .assignee
                .id()
                .filter(|_| action == "abandon" && self.agent_status == "terminated")
                .cloned(),
            settled: is_the_end,
        });
        Ok(())
    }

    /// What is promised. A window of 24 hours is fullest when it ends with something that was done.
    fn check(&self, policy: &Policy) -> Result<(), String> {
        let a_day_ago = self.now - TimeDelta::hours(24);
        let today =
            |action| self.ledger.iter().filter(|row| row.action == action && a_day_ago < row.created_at).count();
        let per_day = policy.attempts_per_day_max as usize;
        ensure(self.continued_in_a_row.len() <= policy.attempts_max as usize, "too many continuations in an episode")?;
        ensure(today("continue") <= per_day, "too many continuations in 24 hours")?;
        ensure(today("escalate") <= per_day.max(1), "too many escalations in 24 hours")
    }
}

fn ensure(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}
