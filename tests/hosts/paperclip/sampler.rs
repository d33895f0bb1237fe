//! Reads the host's tables several times a second, and records every issue that ever had two live runs, or two wakes
//! still to be served, at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::database::rows;
use crate::paperclip::runs::LIVE;
use crate::paperclip::server::Server;

const INTERVAL: Duration = Duration::from_millis(200);

/// `:live` is `LIVE`. A wake is still to be served when it is pending and its run, if there is one, is live.
const AT_ONCE: &str = "
    with run as (
        select context_snapshot ->> 'issueId' as issue, run.id, run.status, context_snapshot ->> 'wakeReason' as reason,
            wake.requested_by_actor_id as asked_by
        from heartbeat_runs run left join agent_wakeup_requests wake on wake.id = run.wakeup_request_id
        where run.status in :live
    ), wake as (
        select wake.payload ->> 'issueId' as issue, wake.id, wake.status, wake.reason, wake.requested_by_actor_id as \
        asked_by
        from agent_wakeup_requests wake left join heartbeat_runs run on run.id = wake.run_id
        where wake.status in ('queued', 'deferred_issue_execution', 'claimed')
            and (run.id is null or run.status in :live)
    ), runs as (
        select issue, count(*) as live, count(*) filter (where status = 'running') as running,
            bool_or(asked_by = 'sweep') as ours, json_agg(json_build_array(status, reason, asked_by) order by status, \
            reason, asked_by) as what
        from run group by issue
    ), wakes as (
        select issue, count(*) as pending, bool_or(asked_by = 'sweep') as ours,
            json_agg(json_build_array(status, reason, asked_by) order by status, reason, asked_by) as what
        from wake group by issue
    )
    select issue, coalesce(live, 0) as live, coalesce(running, 0) as running, coalesce(pending, 0) as pending,
        coalesce(runs.ours, false) as our_run, coalesce(wakes.ours, false) as our_wake, runs.what as runs, wakes.what \
        as wakes
    from runs full join wakes using (issue) where issue is not null";

/// The most live runs and wakes that an issue ever had at once.
#[derive(Clone, Debug, Default)]
pub struct Peak {
    pub live: u64,
    pub running: u64,
    pub pending: u64,
    /// True if there were two live runs, or two wakes, and one of them was sweep's.
    pub double_with_ours: bool,
    /// The runs or wakes when there were two.
    pub seen: Vec<String>,
}

#[derive(Debug, Default)]
pub struct Sampled {
    pub issues: BTreeMap<String, Peak>,
    pub samples: usize,
    /// The longest time between two readings.
    pub longest_gap: Duration,
}

pub struct Sampler {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<Sampled>>,
}

impl Sampler {
    pub fn start(server: &Server) -> Sampler {
        let ended = Arc::new(AtomicBool::new(false));
        let at_once = AT_ONCE.replace(":live", LIVE);
        let (until, mut db) = (Arc::clone(&ended), server.database.connect());
        let thread = thread::spawn(move || {
            let mut sampled = Sampled::default();
            let mut last = Instant::now();
            while !until.load(Ordering::Relaxed) {
                let found = rows(&mut db, &at_once);
                sampled.longest_gap = sampled.longest_gap.max(last.elapsed());
                last = Instant::now();
                sampled.samples += 1;
                found.iter().for_each(|row| sampled.add(row));
                thread::sleep(INTERVAL);
            }
            sampled
        });
        Sampler { ended, thread: Some(thread) }
    }

    pub fn end(mut self) -> Sampled {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.take().expect("a thread").join().expect("the sampler's own failure")
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Sampled {
    fn add(&mut self, row: &Value) {
        let count = |name: &str| row[name].as_u64().unwrap_or_default();
        let (live, running, pending) = (count("live"), count("running"), count("pending"));
        let peak = self.issues.entry(row["issue"].as_str().unwrap_or_default().to_owned()).or_default();
        peak.live = peak.live.max(live);
        peak.running = peak.running.max(running);
        peak.pending = peak.pending.max(pending);
        if live > 1 || pending > 1 {
            peak.double_with_ours |= (live > 1 && row["our_run"] == true) || (pending > 1 && row["our_wake"] == true);
            let seen = format!("runs {}, wakes {}", row["runs"], row["wakes"]);
            if peak.seen.last() != Some(&seen) && peak.seen.len() < 6 {
                peak.seen.push(seen);
            }
        }
    }

    /// The issues that had two of something at once, one of them sweep's, with what they had.
    pub fn doubled_by_sweep(&self) -> Vec<String> {
        let doubled = self.issues.iter().filter(|(_, peak)| peak.double_with_ours);
        doubled.map(|(issue, peak)| format!("{issue}:\n    {}", peak.seen.join("\n    "))).collect()
    }

    pub fn most(&self, of: impl Fn(&Peak) -> u64) -> u64 {
        self.issues.values().map(of).max().unwrap_or(0)
    }
}
