//! docs/start.md, from a database that sweep has never seen to sweeps that run by themselves, and back.

use super::Page;
use super::blocks::Block;
use super::comparison::{compare, turn};
use super::reader::{Client, Reader};
use crate::support::scratch::{Scratch, psql};

pub const GUIDE: &str = "docs/start.md";

/// Before this heading the page promises that sweep writes nothing about a reader's work.
const FIRST_REAL_SWEEP: &str = "\n## 6. ";

/// A small company, as Paperclip's own server would have written it. One issue is at work, with a sign of life a minute
/// ago, and the agent of another one is gone.
const COMPANY: &str = r#"
    insert into companies (id, name, issue_prefix, default_responsible_user_id) values
        ('c0a00000-0000-4000-8000-000000000001', 'Acme', 'ACM', 'ada');
    insert into agents (id, company_id, name, status)
    select ('a9e00000-0000-4000-8000-00000000000' || n)::uuid, companies.id, agent, named.status
    from companies, (values (1, 'Bruno', 'idle'), (2, 'Chiara', 'idle'), (3, 'Femi', 'terminated'))
        as named (n, agent, status);
    insert into issues (id, company_id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
    select ('15500000-0000-4000-8000-00000000000' || n)::uuid, agents.company_id, 'ACM-' || n, work.title, 'in_progress',
        agents.id, now() - idle, now() - idle, now() - idle
    from (values (1, 'Import contacts from CSV', 'Bruno', interval '3 hours'),
                 (2, 'Fix the flaky login test', 'Chiara', interval '47 minutes'),
                 (3, 'Load-test the API', 'Chiara', interval '1 day 4 hours'),
                 (4, 'Send the weekly churn report', 'Femi', interval '4 days'),
                 (5, 'Accept SEPA direct debit', 'Bruno', interval '20 minutes')) as work (n, title, agent, idle)
    join agents on agents.name = work.agent;
    insert into heartbeat_runs (company_id, agent_id, status, context_snapshot, created_at, updated_at, started_at)
    select company_id, assignee_agent_id, 'running', jsonb_build_object('issueId', id), started_at,
        now() - interval '1 minute', started_at
    from issues where identifier = 'ACM-5';
"#;

fn company() -> Scratch {
    let scratch = Scratch::paperclip();
    scratch.run(COMPANY);
    scratch
}

fn follow(scratch: &Scratch, blocks: &[Block]) -> Vec<Vec<String>> {
    Reader::new(Client::Psql, Some(scratch.url.clone())).follow(blocks)
}

fn count(scratch: &Scratch, rows: &str) -> String {
    psql(&scratch.url, &format!("select count(*) from {rows}")).expect("a number")
}

#[test]
fn the_first_day_can_be_followed_and_undone_on_a_database_of_paperclips() {
    let _turn = turn();
    let (page, scratch) = (Page::load(GUIDE), company());
    let blocks: Vec<Block> = page.blocks().into_iter().filter(Block::is_followed).collect();
    compare(&page, &blocks, &follow(&scratch, &blocks));
    assert_eq!(count(&scratch, "pg_namespace where nspname = 'sweep'"), "0", "the schema is still there");
    assert_eq!(count(&scratch, "agent_wakeup_requests"), "2", "the page wakes the agents of two issues");
}

#[test]
fn before_the_first_real_sweep_the_first_day_writes_nothing_about_the_work() {
    let (page, scratch) = (Page::load(GUIDE), company());
    let end = page.text.find(FIRST_REAL_SWEEP).expect("the first real sweep");
    let blocks = page.blocks().into_iter().filter(|block| block.is_followed() && block.place.end < end);
    follow(&scratch, &blocks.collect::<Vec<Block>>());
    assert_eq!(count(&scratch, "sweep.sweeps"), "1", "the shadow sweep is recorded");
    for table in ["agent_wakeup_requests", "issue_comments", "activity_log", "sweep.recoveries"] {
        assert_eq!(count(&scratch, table), "0", "{table}");
    }
}
