//! Work that a company of Paperclip's can have much of.

use rstest::rstest;

use super::{LEDGER, compare, is_in_proportion, numbers};
use crate::support::world::On;

const PAPERCLIP: &str = "
    insert into agents (id, company_id, name) select ID('agent'), id, 'Ada' from companies;
    insert into issues (id, company_id, identifier, title, status, assignee_agent_id, updated_at)
        select ID('issue'), id, 'E-1', 'x', 'in_progress', ID('agent'), YESTERDAY from companies;";

/// N live runs of the issue.
const RUNNING: &str = "
    insert into heartbeat_runs (company_id, agent_id, status, created_at, started_at, updated_at, context_snapshot)
        select company_id, id, 'running', YESTERDAY, YESTERDAY, YESTERDAY, jsonb_build_object('issueId', ID('issue'))
        from agents, n;";

const QUEUED: &str = "
    insert into agent_wakeup_requests (company_id, agent_id, source, status, payload)
        select company_id, id, 'automation', 'queued', jsonb_build_object('issueId', ID('issue')) from agents, n;";

#[rstest]
#[case::runs(&[RUNNING])]
#[case::wakes_and_runs(&[RUNNING, QUEUED])]
#[case::runs_and_those_that_have_ended(&[RUNNING, "
    insert into heartbeat_runs (company_id, agent_id, status, started_at, finished_at, context_snapshot)
        select company_id, id, 'failed', LATER, LATELY, jsonb_build_object('issueId', ID('issue')) from agents, n;"])]
#[case::blocks_and_deleted_comments(&["
    update issues set status = 'blocked';
    insert into activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id, details, created_at)
        select (select id from companies), 'system', 'x', 'issue.updated', 'issue', ID('issue')::text,
               '{\"status\": \"blocked\"}', LATER from n;
    insert into issue_comments (company_id, issue_id, body, created_at, deleted_at)
        select (select id from companies), ID('issue'), 'x', LATELY, LATELY from n;"])]
#[case::continuations_and_ledger(&["
    insert into agent_wakeup_requests (company_id, agent_id, source, status)
        select company_id, id, 'automation', 'completed' from agents, n;
    insert into heartbeat_runs
        (company_id, agent_id, status, wakeup_request_id, created_at, finished_at, context_snapshot)
        select company_id, agent_id, 'succeeded', id, YESTERDAY, LATELY,
               jsonb_build_object('issueId', ID('issue'), 'retryReason', 'issue_continuation_needed')
        from agent_wakeup_requests;", "set search_path = sweep, public, pg_temp;", LEDGER])]
fn what_is_many_of_one_company_is_looked_at_in_proportion(#[case] fills: &[&str]) {
    let on = On::Paperclip;
    is_in_proportion(on, &["session", "issue"], &|n| format!("{} {PAPERCLIP} {}", numbers(on, n), fills.concat()));
}

/// A run or wake of an agent may be too large to read: a take reads the agent's own (by an index, in the table and in a
/// join), and no other agent's.
#[test]
fn issues_and_runs_and_wakes_of_their_agents_are_looked_at_in_proportion() {
    let on = On::Paperclip;
    compare([300, 600], 6 * 300, on, &["issue"], &|n| {
        format!("{} {PAPERCLIP} {ISSUES} {OTHERS} {RUNNING} {QUEUED} {OF_NOTHING}", numbers(on, n))
    });
}

const ISSUES: &str = "
    insert into issues (id, company_id, identifier, title, status, assignee_agent_id, updated_at)
        select ID('i' || i), company_id, 'F-' || i, 'x', 'in_progress', id, YESTERDAY from agents, n;";

/// Enough agents that PostgreSQL looks up the rows of one by an index.
const OTHERS: &str = "
    insert into agents (id, company_id, name) select ID('a' || i), id, 'Bob' from companies, generate_series(1, 19) i;";

const OF_NOTHING: &str = "
    update heartbeat_runs set status = 'queued', context_snapshot = '{}';
    update agent_wakeup_requests set payload = '{}';";

/// There are enough issues for PostgreSQL to look up the ancestors of one by their index.
#[test]
fn issues_and_the_holds_of_their_root_are_looked_at_in_proportion() {
    let on = On::Paperclip;
    compare([2000, 4000], 0, on, &["issue"], &|n| format!("{} {PAPERCLIP} {HOLDS}", numbers(on, n)));
}

/// Issues below one issue with holds, and others.
const HOLDS: &str = "
    insert into issues (id, company_id, title, status, assignee_agent_id, updated_at, parent_id)
        select ID('i' || i), (select id from companies), 'x', 'in_progress', ID('agent'), YESTERDAY, ID('issue') from n;
    insert into issues (id, company_id, title, status)
        select ID('o' || i), (select id from companies), 'x', 'todo' from n;
    insert into issue_tree_holds (company_id, root_issue_id, mode)
        select (select id from companies), ID('issue'), 'cancel' from n;
    insert into issue_tree_holds (company_id, root_issue_id, mode)
        select (select id from companies), ID('o' || i), 'pause' from n;";
