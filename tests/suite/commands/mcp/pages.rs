//! Pages: together they are the whole, and each is small.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sweep::rules::Id;

use crate::support::mcp::Client;
use crate::support::world::{on_each_database, on_each_host};

/// The ids of all pages, each of which is full but for the last.
#[track_caller]
fn ids_of(pages: &[Vec<Value>], limit: usize) -> Vec<String> {
    let (last, full) = pages.split_last().expect("a page");
    assert!(full.iter().all(|page| page.len() == limit) && last.len() <= limit, "{pages:?}");
    pages.iter().flatten().map(|row| row["id"].as_str().expect("an id").to_owned()).collect()
}

on_each_host! {
    fn the_pages_of_a_dry_run_are_all_subjects_each_once_what_would_be_touched_first(world) {
        let agent = world.agent("idle");
        let mut issues = world.orphans(&agent, 0..23);
        let waiting: Vec<Id> = issues.drain(20..).collect();
        world.declare_waits(&waiting);
        let url = world.url.clone();
        let mut client = Client::start_read_only(&url);
        let touched: Vec<String> = issues.iter().rev().map(|id| id.0.clone()).collect();
        let single = client.first_pages(3, "dry_run", "subjects", json!({ "limit": 1 }));
        assert_eq!((ids_of(&single, 1), single.len()), (touched[..3].to_vec(), 3));
        for limit in [7, 20, 23, 100] {
            let pages = client.pages("dry_run", "subjects", json!({ "limit": limit }));
            let ids = ids_of(&pages, limit);
            assert_eq!(ids[..20], touched, "the longest idle first");
            let left: BTreeSet<&String> = ids[20..].iter().collect();
            assert!(left.iter().all(|id| waiting.iter().any(|waiting| waiting.0 == **id)), "{left:?}");
            assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "each once");
        }
        let page = client.call("dry_run", json!({}));
        assert_eq!(page["subjects"].as_array().map(Vec::len), Some(20));
        assert_eq!(page["kinds"]["issues"]["continued"], 20);
        assert_eq!(page["subjects_total"], page["kinds"]["issues"]["scanned"]);
    }

    fn the_pages_of_what_needs_a_person_are_all_of_it_each_once(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..23);
        world.run(&format!("update agents set status = 'terminated' where id = '{agent}'"));
        world.sweep();
        let url = world.url.clone();
        let mut client = Client::start_read_only(&url);
        let oldest: Vec<String> = issues.iter().rev().map(|id| id.0.clone()).collect();
        let single = client.first_pages(3, "list_attention", "items", json!({ "limit": 1 }));
        assert_eq!((ids_of(&single, 1), single.len()), (oldest[..3].to_vec(), 3));
        for limit in [10, 23, 100] {
            let pages = client.pages("list_attention", "items", json!({ "limit": limit }));
            assert_eq!(ids_of(&pages, limit), oldest, "the oldest first");
        }
        let page = client.call("list_attention", json!({ "agent": agent.0 }));
        assert_eq!((page["items"].as_array().map(Vec::len), &page["items_total"]), (Some(20), &json!(23)));
        assert_eq!(page["items"][0]["what"], "abandoned");
    }

    fn a_dry_run_can_be_of_one_kind_or_one_subject(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..3);
        let url = world.url.clone();
        let mut client = Client::start_read_only(&url);
        let one = client.call("dry_run", json!({ "kind": "issue", "subject": "N-1" }));
        assert_eq!((&one["subjects"][0]["id"], &one["subjects_total"]), (&json!(issues[1].0), &json!(1)));
        assert_eq!(client.call("dry_run", json!({ "kind": "issue" }))["subjects_total"], 3);
        assert_eq!(client.call("dry_run", json!({ "kind": "session" }))["subjects_total"], 0);
    }

    fn answers_stay_small_whatever_the_rows_hold(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..120);
        world.run(&format!("update issues set title = '{}'", "é1".repeat(2000)));
        let url = world.url.clone();
        let mut client = Client::start_read_only(&url);
        client.call("status", json!({}));
        client.call("explain", json!({ "kind": "issue", "subject": issues[0].0 }));
        world.run(&format!("update agents set status = 'terminated', name = '{}'", "é1".repeat(500)));
        world.sweep();
        let pages = client.pages("list_attention", "items", json!({ "limit": 100 }));
        let ids: BTreeSet<String> = pages.iter().flatten().map(|row| row["id"].to_string()).collect();
        assert!((1..100).contains(&pages[0].len()), "it is full before its limit: {}", pages[0].len());
        assert_eq!((ids.len(), pages.concat().len()), (120, 120));
        world.run("update agents set status = 'idle'");
        let pages = client.pages("dry_run", "subjects", json!({ "limit": 100 }));
        let ids: BTreeSet<String> = pages.iter().flatten().map(|row| row["id"].to_string()).collect();
        assert!((1..100).contains(&pages[0].len()), "it is full before its limit: {}", pages[0].len());
        assert_eq!((ids.len(), pages.concat().len()), (120, 120));
    }
}

/// On the databases with sweep's own tables.
mod own_tables {
    use super::*;

    on_each_database! {
        fn the_pages_of_a_plan_are_all_its_steps_in_their_order(world) {
            let (plan, began) = (Id::generate(), world.ago(90));
            world.run(&format!("insert into plans (id, title, status) values ('{plan}', 'Launch', 'executing')"));
            for position in 1..=45 {
                let id = Id::generate();
                world.run(&format!(
                    "insert into plan_steps (id, plan_id, position, title, status, started_at, updated_at)
                     values ('{id}', '{plan}', {position}, 'Step', 'in_progress', {began}, {began})"
                ));
            }
            let url = world.url.clone();
            let mut client = Client::start_read_only(&url);
            let single = client.first_pages(3, "get_plan_status", "steps", json!({ "plan": "Launch", "limit": 1 }));
            assert_eq!(single.iter().map(|page| page[0]["position"].as_i64()).collect::<Vec<_>>(), [1, 2, 3].map(Some));
            for limit in [20, 44, 45, 100] {
                let pages = client.pages("get_plan_status", "steps", json!({ "plan": "Launch", "limit": limit }));
                assert_eq!(ids_of(&pages, limit).len(), 45);
                let positions: Vec<i64> = pages.iter().flatten().filter_map(|step| step["position"].as_i64()).collect();
                assert_eq!(positions, (1..=45).collect::<Vec<_>>());
            }
            assert_eq!(client.call("get_plan_status", json!({ "plan": "Launch" }))["steps_total"], 45);
        }
    }
}
