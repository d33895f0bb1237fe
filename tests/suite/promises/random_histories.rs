//! The bounds on what sweep does about an issue hold in random histories: 200 events over about 30 days, played on the
//! real views. `rules/random_histories` plays many more of them on a model.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use sweep::rules::{Escalation, Id, Policy};
use sweep::sweep::Options;

use crate::support::rounds::rounds;
use crate::support::world::{On, World, on_each_database};

const EVENTS: usize = 200;

/// Random numbers that are alike in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len() as u64) as usize].clone()
    }

    /// The minutes to the next event: bursts, working days and nights; three hours on average.
    fn minutes(&mut self) -> i64 {
        let minutes = match self.roll(20) {
            0..=9 => self.roll(4),
            10..=14 => self.roll(30),
            15..=17 => self.roll(480),
            _ => 480 + self.roll(1800),
        };
        minutes as i64
    }
}

/// A history under way: issues whose agents share a world, and the bounds that it must keep.
struct Play<'a> {
    world: &'a mut World,
    dice: Dice,
    issues: Vec<Id>,
    agents: Vec<Id>,
    /// Sweep's continuations since an issue last showed progress by itself or a person was notified.
    continued_in_a_row: BTreeMap<Id, u32>,
    allowed: Policy,
    /// How many runs sweeps have closed.
    lost_runs: usize,
}

fn policy(dice: &mut Dice) -> Policy {
    Policy {
        attempts_max: dice.roll(4) as u32,
        attempts_per_day_max: 1 + dice.roll(3) as u32,
        retry_delay: TimeDelta::minutes(dice.roll(60) as i64),
        orphan_grace: TimeDelta::minutes(dice.roll(10) as i64),
        escalation: dice.pick(&[Escalation::CommentAndBlock, Escalation::CommentOnly]),
        // Signs of life come at whole minutes: no run is just about to be lost.
        run_silent_after: TimeDelta::seconds(30 + 60 * (10 + dice.roll(110) as i64)),
        ..Policy::default()
    }
}

/// Plays one history, and ends with the first bound that is broken, or with the number of lost runs.
fn play(world: &mut World, seed: u64, spoil: impl Fn(Policy) -> Policy) -> Result<usize, String> {
    let mut dice = Dice(seed);
    let allowed = policy(&mut dice);
    let settings = Options { policy: spoil(allowed.clone()), connections: 1, ..world.options() };
    let agents = vec![world.agent("idle"), world.agent("idle")];
    let issues: Vec<Id> = (0..3).map(|_| world.orphan(&agents[0])).collect();
    let mut play = Play { world, dice, issues, agents, continued_in_a_row: BTreeMap::new(), allowed, lost_runs: 0 };
    start_worker(play.world);
    for _ in 0..EVENTS {
        let minutes = play.dice.minutes();
        play.world.run("begin");
        play.world.pass(minutes);
        play.happen();
        if play.dice.roll(3) == 0 {
            play.show_life();
        }
        play.world.run("commit");
        if play.dice.roll(4) == 0 {
            play.sweep(&settings)?;
        }
    }
    Ok(play.lost_runs)
}

impl Play<'_> {
    /// Plays something that the host, an agent or a person does.
    fn happen(&mut self) {
        let (issue, agent) = (self.dice.pick(&self.issues), self.agents[0].clone());
        let (now, world) = (self.world.ago(0), &mut *self.world);
        let of_issue = format!("issue_id = '{issue}'");
        match self.dice.roll(50) {
            0..=12 => serve_a_wake(world, &issue, self.dice.roll(2) == 0, &mut self.continued_in_a_row),
            13..=18 => start_worker(world),
            19..=24 => {
                let status = self.dice.pick(&["succeeded", "failed", "timed_out"]);
                let ended = format!("status = '{status}', finished_at = {now}");
                world.run(&format!("update runs set {ended} where status = 'running'"));
            }
            25..=35 => world.run(&format!("update issues set status = 'in_progress', updated_at = {now}")),
            36 => {
                let status = self.dice.pick(&["blocked", "done", "todo"]);
                world.set("issues", &issue, &format!("status = '{status}', updated_at = {now}"));
            }
            37 => {
                let anew = format!("status = 'in_progress', started_at = {now}, updated_at = {now}");
                world.set("issues", &issue, &anew);
                self.continued_in_a_row.remove(&issue);
            }
            38 | 39 => {
                world.issue_run(&issue, &agent, "running", 0);
                self.continued_in_a_row.remove(&issue);
            }
            40 => {
                let run = world.issue_run(&issue, &agent, "running", 0);
                let reason = self.dice.pick(&["issue_continuation_needed", "process_lost"]);
                world.set("runs", &run, &format!("retry_reason = '{reason}'"));
            }
            41 => {
                let wake = world.issue_wake(&issue, &agent, "queued", 0);
                let reason = self.dice.pick(&["issue_continuation_needed", "assigned"]);
                world.set("wakes", &wake, &format!("reason = '{reason}'"));
            }
            42 => {
                let other = self.dice.pick(&self.agents);
                world.set("issues", &issue, &format!("assignee_agent_id = '{other}', updated_at = {now}"));
            }
            43 => {
                let status = self.dice.pick(&["paused", "terminated"]);
                world.set("agents", &agent, &format!("status = '{status}'"));
            }
            44..=46 => world.set("agents", &agent, "status = 'idle'"),
            47 => world.set("issues", &issue, "waiting_for = 'approval'"),
            48 => world.run("update issues set waiting_for = null"),
            _ => world.run(&format!("delete from runs where finished_at is not null and {of_issue}")),
        }
    }

    /// Plays that all runs show a sign of life or get another lease, or that the worker goes on with those of an issue.
    fn show_life(&mut self) {
        let (now, of) = (self.world.ago(0), self.dice.pick(&self.issues));
        let (change, of) = match self.dice.roll(5) {
            0..=2 => (format!("heartbeat_at = {now}"), String::new()),
            3 => (format!("lease_seconds = {}", self.dice.pick(&["null", "3630"])), String::new()),
            _ => (format!("lost = null, worker_id = {WORKER}"), format!(" and issue_id = '{of}'")),
        };
        self.world.run(&format!("update runs set {change} where status = 'running'{of}"));
    }

    fn sweep(&mut self, settings: &Options) -> Result<(), String> {
        let (living, unended) = (self.living_runs(), self.unended_runs("1 = 1").len());
        let swept = self.world.sweep_as(settings);
        let running = self.unended_runs("1 = 1");
        self.lost_runs += unended - running.len();
        ensure(living.iter().all(|(run, _)| running.contains_key(run)), "a run that lives was closed")?;
        for issue in self.issues.clone() {
            if ["continued", "escalated"].contains(&swept.outcome(&issue)) {
                ensure(living.values().all(|of| *of != issue), "somebody is at work")?;
                ensure(running.values().all(|of| *of != issue), "a lost run was left as it was")?;
            }
            let in_a_row = self.continued_in_a_row.entry(issue.clone()).or_default();
            match swept.outcome(&issue) {
                "continued" => *in_a_row += 1,
                "escalated" => *in_a_row = 0,
                "busy" | "failed" | "unreadable" | "unknown" => return Err(swept.subject(&issue).to_string()),
                _ => {}
            }
            ensure(*in_a_row <= self.allowed.attempts_max, "continuations in an episode")?;
            if swept.outcome(&issue) == "continued" {
                let able = format!("issues i join agents a on a.id = i.assignee_agent_id where i.id = '{issue}'");
                ensure(self.world.text("a.status", &able).as_deref() == Some("idle"), "its agent cannot work")?;
                // Nobody will take up the wake of a terminated agent.
                let queued = format!(
                    "wakes w join agents a on a.id = agent_id
                     where issue_id = '{issue}' and w.status = 'queued' and a.status <> 'terminated'"
                );
                ensure(self.world.count(&queued) == 1, "wakes at once")?;
            }
            self.check_the_day(&issue)?;
        }
        // Now and then only: each sweep connects anew.
        if self.dice.roll(5) != 0 {
            return Ok(());
        }
        let again = self.world.sweep_as(settings);
        let acted = self
            .issues
            .iter()
            .any(|id| ["continued", "escalated", "recovered", "handed_over"].contains(&again.outcome(id)));
        ensure(!acted, &format!("a second sweep did more: {}", again.json))
    }

    /// The runs that have not ended by their status, each with its issue.
    fn unended_runs(&mut self, condition: &str) -> BTreeMap<String, Id> {
        let runs = format!("runs r where status = 'running' and {condition}");
        let pairs = self.world.texts("id || ' ' || issue_id", &runs).into_iter().flatten();
        pairs.filter_map(|pair| pair.split_once(' ').map(|(run, of)| (run.to_owned(), Id(of.to_owned())))).collect()
    }

    /// Those at which somebody is at work, by a reading of their rows that is no view's.
    fn living_runs(&mut self) -> BTreeMap<String, Id> {
        let silent = self.world.ago(self.allowed.run_silent_after.num_seconds() as f64 / 60.0);
        let leased = self.world.ago("r.lease_seconds / 60.0");
        self.unended_runs(&format!(
            "case when lease_seconds is null then coalesce(heartbeat_at >= {silent}, true)
                  else coalesce(heartbeat_at, created_at) >= {leased} end
             and not exists (select 1 from workers w join workers later on later.started_at > w.started_at
                             where w.id = r.worker_id)"
        ))
    }

    /// Checks the bounds of a day. A window of 24 hours is fullest when it ends with an action.
    fn check_the_day(&mut self, issue: &Id) -> Result<(), String> {
        let (a_day_ago, per_day) = (self.world.ago(1440), i64::from(self.allowed.attempts_per_day_max));
        let today = |table: &str| format!("{table} and created_at > {a_day_ago}");
        let wakes = self.world.count(&today(&format!("wakes where requested_by = 'sweep' and issue_id = '{issue}'")));
        let comments =
            self.world.count(&today(&format!("recoveries where action = 'escalate' and subject_id = '{issue}'")));
        ensure(wakes <= per_day, "wakes in 24 hours")?;
        ensure(comments <= per_day, "escalations in 24 hours")
    }
}

/// The present start of the worker, which loses all runs of the starts before it.
const WORKER: &str = "(select id from workers order by started_at desc limit 1)";

fn start_worker(world: &mut World) {
    let (id, now) = (Id::generate(), world.ago(0));
    world.run(&format!("insert into workers (id, name, started_at) values ('{id}', 'builder', {now})"));
}

/// The oldest wake of the issue becomes a run, or is dropped.
fn serve_a_wake(world: &mut World, issue: &Id, runs: bool, continued_in_a_row: &mut BTreeMap<Id, u32>) {
    let oldest = format!("wakes where issue_id = '{issue}' and status = 'queued' order by created_at limit 1");
    let Some(wake) = world.text("id", &oldest).map(Id) else { return };
    world.set("wakes", &wake, &format!("status = '{}'", if runs { "completed" } else { "cancelled" }));
    if runs {
        let agent = Id(world.text("agent_id", &format!("wakes where id = '{wake}'")).expect("an agent"));
        let run = world.issue_run(issue, &agent, "running", 0);
        let held = format!("worker_id = {WORKER}, heartbeat_at = created_at, lease_seconds = 330");
        world.set("runs", &run, &format!("wake_id = '{wake}', {held}"));
        if world.count(&format!("wakes where id = '{wake}' and reason = 'assigned'")) == 1 {
            continued_in_a_row.remove(issue);
        }
    } else if world.count(&format!("wakes where id = '{wake}' and requested_by = 'sweep'")) == 1 {
        // A wake whose run never began is no attempt.
        continued_in_a_row.entry(issue.clone()).and_modify(|in_a_row| *in_a_row = in_a_row.saturating_sub(1));
    }
}

fn ensure(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

on_each_database! {
    fn sweep_never_does_more_than_it_may(world) {
        let (mut played, mut lost_runs) = (0, 0);
        for seed in rounds(1..=6) {
            lost_runs += play(world, seed, |policy| policy).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
            played += 1;
        }
        let count = |world: &mut World, action| world.count(&format!("recoveries where action = '{action}'"));
        for (action, at_least) in [("continue", 3), ("escalate", 3), ("recover", 3), ("hand_over", 1)] {
            assert!(at_least * played <= count(world, action), "hardly any {action}");
        }
        assert!(played <= lost_runs as i64, "hardly any run is lost: {lost_runs}");
    }
}

/// The negative controls: a sweep that does more than is allowed is noticed.
#[test]
fn a_sweep_that_does_more_is_noticed() {
    type Spoil = fn(Policy) -> Policy;
    let spoils: [(Spoil, &str); 3] = [
        (|policy| Policy { attempts_max: 9, ..policy }, "continuations in an episode"),
        (|policy| Policy { attempts_per_day_max: 9, ..policy }, "in 24 hours"),
        (|policy| Policy { run_silent_after: TimeDelta::zero(), ..policy }, "a run that lives was closed"),
    ];
    for (spoil, broken) in spoils {
        let mut found = (1..=8).filter_map(|seed| play(&mut World::new(On::Sqlite), seed, spoil).err());
        assert!(found.any(|found| found.contains(broken)), "nobody noticed: {broken}");
    }
}
