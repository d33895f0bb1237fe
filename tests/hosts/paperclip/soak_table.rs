//! The result of the soak, by the host's rows, sweep's ledger, the board's list and the sampler.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::paperclip::runs::LIVE;
use crate::paperclip::sampler::Sampled;
use crate::paperclip::server::Server;

pub struct Table {
    rows: Vec<(&'static str, String)>,
    /// Demands that do not hold.
    wrong: Vec<String>,
}

impl Table {
    pub fn count(
        server: &Server,
        sampled: Sampled,
        cancelled: &[String],
        cost: Option<(f64, u64)>,
        took: Duration,
    ) -> Table {
        let mut table = Table { rows: Vec::new(), wrong: Vec::new() };
        table.issues(server, took);
        table.stranded(server, cancelled);
        table.at_once(&sampled);
        table.overlaps(server);
        table.cancels(server, cancelled);
        table.escalations(server);
        if let Some((processor, memory)) = cost {
            let share = 100.0 * processor / took.as_secs_f64();
            table.row("the daemon's processor time", format!("{processor:.2} s, {share:.2} % of one"));
            table.row("the daemon's memory, at most", format!("{:.1} MB", memory as f64 / 1024.0));
        }
        table
    }

    fn row(&mut self, name: &'static str, value: impl fmt::Display) {
        self.rows.push((name, value.to_string()));
    }

    fn demand(&mut self, what: &str, found: &[String]) {
        if !found.is_empty() {
            let shown = &found[..found.len().min(5)];
            self.wrong.push(format!("{what}: {}, such as\n  {}", found.len(), shown.join("\n  ")));
        }
    }

    fn issues(&mut self, server: &Server, took: Duration) {
        let statuses = "string_agg(number || ' ' || status, ', ' order by status)
            from (select status, count(*) as number from issues group by status) counted";
        self.row("minutes", format!("{:.1}", took.as_secs_f64() / 60.0));
        self.row("issues", count(server, "issues"));
        self.row("their status", server.database.text(&format!("select {statuses}")).unwrap_or_default());
        self.row("runs", count(server, "heartbeat_runs"));
        self.row("continuations of sweep's", count(server, "sweep.recoveries where action = 'continue'"));
        let cancelled = "heartbeat_runs run join agent_wakeup_requests wake on wake.id = run.wakeup_request_id
            where wake.requested_by_actor_id = 'sweep' and run.status = 'cancelled' and run.started_at is null";
        self.row("of which the server cancelled before they began", count(server, cancelled));
        let escalations = "string_agg(number || ' ' || reason, ', ' order by reason)
            from (select reason, count(*) as number from sweep.recoveries where action = 'escalate' group by reason) \
            counted";
        self.row("escalations of sweep's", count(server, "sweep.recoveries where action = 'escalate'"));
        self.row("their reasons", server.database.text(&format!("select {escalations}")).unwrap_or_default());
    }

    /// Counts issues in progress for which nobody will ever do anything: they have neither a run nor a wake, and
    /// neither the host nor a person knows of them.
    fn stranded(&mut self, server: &Server, cancelled: &[String]) {
        let left = server.database.rows(&format!(
            "select issue.id,
                 exists (select from issue_recovery_actions action
                     where action.source_issue_id = issue.id and action.status in ('active', 'escalated')) as \
                     on_the_boards_list,
                 issue.monitor_next_check_at > now()
                     or exists (select from issue_relations link join issues blocker on blocker.id = link.issue_id
                         where link.related_issue_id = issue.id and link.type = 'blocks' and blocker.status not in \
                         ('done', 'cancelled'))
                     or exists (select from issue_thread_interactions question
                         where question.issue_id = issue.id and question.status = 'pending')
                     or exists (select from issue_tree_holds hold
                         where hold.root_issue_id in (issue.id, issue.parent_id) and hold.status = 'active') as waits,
                 exists (select from sweep.recoveries entry where entry.kind = 'issue' and entry.subject_id = issue.id
                     and entry.action = 'escalate' and entry.settled_at is null) as escalated
             from issues issue where issue.status = 'in_progress'
                 and not exists (select from heartbeat_runs run
                     where run.context_snapshot ->> 'issueId' = issue.id::text and run.status in {LIVE})
                 and not exists (select from agent_wakeup_requests wake left join heartbeat_runs run on run.id = \
                 wake.run_id
                     where wake.payload ->> 'issueId' = issue.id::text and wake.status in ('queued', \
                     'deferred_issue_execution', 'claimed')
                         and (run.id is null or run.status in {LIVE}))"
        ));
        let mut stories = Vec::new();
        let (mut stopped, mut listed, mut waiting) = (0, 0, 0);
        for row in &left {
            let issue = row["id"].as_str().expect("an id");
            if cancelled.iter().any(|cancelled| cancelled == issue) {
                stopped += 1;
            } else if row["on_the_boards_list"] == true {
                listed += 1;
            } else if row["waits"] == true || row["escalated"] == true {
                waiting += 1;
            } else {
                stories.push(server.story(issue));
            }
        }
        self.row("left in progress since a person cancelled them", stopped);
        self.row("left in progress, on the board's list by the host's own recovery", listed);
        self.row("left in progress for another reason to wait, or escalated", waiting);
        self.row("stranded", stories.len());
        self.demand("stranded", &stories);
    }

    fn at_once(&mut self, sampled: &Sampled) {
        self.row(
            "looks, and the longest time between two",
            format!("{}, {:.1?}", sampled.samples, sampled.longest_gap),
        );
        self.row("live runs of one issue, at most", sampled.most(|peak| peak.live));
        self.row("running runs of one issue, at most", sampled.most(|peak| peak.running));
        self.row("wakes to be served of one issue, at most", sampled.most(|peak| peak.pending));
        let doubled = sampled.doubled_by_sweep();
        self.row("issues with two at once, one of them sweep's", doubled.len());
        self.demand("two at once, one of them sweep's", &doubled);
    }

    /// Counts overlaps in the history: two runs of one issue, each taken from its creation to its end.
    fn overlaps(&mut self, server: &Server) {
        let overlapping = |condition: &str| {
            server.database.rows(&format!(
                "with run as (
                     select run.id, context_snapshot ->> 'issueId' as issue, run.created_at, coalesce(run.finished_at, \
                     now()) as ended,
                         coalesce(wake.requested_by_actor_id = 'sweep', false) as ours, run.status, wake.reason
                     from heartbeat_runs run left join agent_wakeup_requests wake on wake.id = run.wakeup_request_id)
                 select one.issue, one.ours, one.status, one.reason, other.ours as and_ours, other.status as \
                 and_status, other.reason as and_reason
                 from run one join run other on other.issue = one.issue and one.id < other.id
                     and one.created_at < other.ended and other.created_at < one.ended
                 where {condition}"
            ))
        };
        let ours: Vec<String> = overlapping("one.ours or other.ours").iter().map(Value::to_string).collect();
        self.row("overlapping runs, both the host's", overlapping("not one.ours and not other.ours").len());
        self.row("overlapping runs, one of them sweep's", ours.len());
        self.demand("overlapping runs, one of them sweep's", &ours);
    }

    fn cancels(&mut self, server: &Server, cancelled: &[String]) {
        let undone: Vec<String> = cancelled
            .iter()
            .filter(|issue| {
                count(server, &format!("sweep.recoveries where subject_id = '{issue}' and action <> 'recover'")) != "0"
            })
            .map(|issue| server.story(issue))
            .collect();
        self.row("cancelled by a person", cancelled.len());
        self.row("cancels undone", undone.len());
        self.demand("cancels undone", &undone);
    }

    fn escalations(&mut self, server: &Server) {
        let escalated = server.database.rows(
            "select subject_id as issue, count(*) as times, issue.status, issue.unblock_descriptor ->> 'action' as \
                action
             from sweep.recoveries join issues issue on issue.id = subject_id where kind = 'issue' and \
             recoveries.action = 'escalate'
             group by subject_id, issue.status, issue.unblock_descriptor",
        );
        let listed = server.attention();
        let (mut often, mut unlisted) = (Vec::new(), Vec::new());
        for row in &escalated {
            let is_listed = listed.iter().any(|item| {
                item["subject"]["id"] == row["issue"] && row["action"] != Value::Null && item["whyNow"] == row["action"]
            });
            if row["times"] != 1 {
                often.push(row.to_string());
            }
            if row["status"] == "blocked" && !is_listed {
                let issue = row["issue"].as_str().expect("an id");
                let others: Vec<String> =
                    listed.iter().map(Value::to_string).filter(|item| item.contains(issue)).collect();
                unlisted.push(format!("{row}\n  listed is {others:?}\n  {}", server.story(issue)));
            }
        }
        self.row("escalated issues on the board's list with sweep's reason", escalated.len() - unlisted.len());
        self.demand("escalated more than once", &often);
        self.demand("not on the board's list with the reason", &unlisted);
    }

    pub fn must_be_well(&self) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "| | |\n|---|---|")?;
        self.rows.iter().try_for_each(|(name, value)| writeln!(f, "| {name} | {value} |"))
    }
}

fn count(server: &Server, from: &str) -> String {
    server.database.text(&format!("select count(*) from {from}")).expect("a number")
}
