//! What the page shows is what `sweep attention` and `sweep explain` say.

use serde_json::Value;
use sweep::rules::{Id, Kind};

use crate::support::daemon::Daemon;
use crate::support::page::{attributes, fields, html, links, next_page, page, served};
use crate::support::program::{command_at, explain};
use crate::support::world::many::numbered;
use crate::support::world::{World, on_each_host};

fn attention(world: &World) -> Value {
    command_at(&world.url, ["attention", "--set", "host_url=https://board.example", "--output", "json"])
        .run()
        .done()
        .json()
}

/// An issue whose agent is gone, one that was escalated, and one that a sweep would continue.
fn company(world: &mut World) -> [Id; 3] {
    let (gone, idle) = (world.agent("terminated"), world.agent("idle"));
    let abandoned = world.orphans(&gone, 700..701).remove(0);
    let escalated = world.orphan(&idle);
    for _ in 0..2 {
        world.sweep();
        world.end_continuations("failed");
        world.pass(90);
    }
    world.sweep();
    let stranded = world.orphan(&idle);
    [abandoned, escalated, stranded]
}

fn texts(list: &Value, field: &str) -> Vec<String> {
    let rows = list.as_array().expect("a list").iter();
    rows.filter_map(|row| row[field].as_str()).map(str::to_owned).collect()
}

on_each_host! {
    fn the_front_page_shows_what_sweep_attention_says(world) {
        let [abandoned, escalated, stranded] = company(world);
        let page = Daemon::start(page(&world.url, ["--set", "host_url=https://board.example"]));
        let (shown, said) = (html(&page, "/"), attention(world));
        let items = &said["items"];
        assert!(texts(items, "id").contains(&abandoned.0) && texts(items, "id").contains(&escalated.0), "{items:#}");
        assert_eq!(attributes(&shown, "data-state")[0], said["sweeper"]["state"].as_str().expect("a state"));
        assert_eq!(attributes(&shown, "data-what"), texts(items, "what"));
        for field in ["advice", "tried", "title"] {
            assert_eq!(fields(&shown, field), texts(items, field), "{field}");
        }
        let commands: Vec<String> = items.as_array().expect("items").iter().flat_map(|item| {
            item["commands"].as_array().expect("commands").iter().filter_map(Value::as_str).map(str::to_owned)
        }).collect();
        assert_eq!(fields(&shown, "command"), commands);
        let planned = &said["next_sweep"]["subjects"];
        assert_eq!(texts(planned, "id"), std::slice::from_ref(&stranded.0));
        assert_eq!(fields(&shown, "would"), texts(planned, "would"));
        assert_eq!(attributes(&shown, "data-planned"), texts(planned, "decision"));
        assert_eq!(fields(&shown, "needs"), [format!("{} things need a person", said["items_total"])]);
        let outside: Vec<String> = links(&shown).into_iter().filter(|link| !link.starts_with(['/', '#'])).collect();
        let mut urls = texts(items, "url");
        urls.extend(texts(planned, "url"));
        assert_eq!(outside, urls);
    }

    fn each_link_leads_to_a_page_that_is_there(world) {
        company(world);
        let page = served(&world.url);
        let mut seen = vec!["/".to_owned()];
        let mut at = 0;
        while let Some(path) = seen.get(at).cloned() {
            let found = links(&html(&page, &path));
            for link in found.into_iter().filter(|link| link.starts_with('/')) {
                if !seen.contains(&link) { seen.push(link); }
            }
            at += 1;
        }
        for part in ["/issues/", "/agents/", "/sweeps", "?refresh=off"] {
            assert!(seen.iter().any(|path| path.contains(part)), "{part}: {seen:?}");
        }
    }

    fn the_page_of_a_subject_is_its_explanation(world) {
        let [_, escalated, stranded] = company(world);
        let page = served(&world.url);
        for id in [escalated, stranded] {
            let (shown, said) = (html(&page, &format!("/issues/{id}")), explain(&world.url, Kind::Issue, &id.0));
            assert_eq!(attributes(&shown, "data-decision"), [said["decision"].as_str().expect("a decision")]);
            assert_eq!(fields(&shown, "would_change"), [said["what_would_change_it"].as_str().expect("a text")]);
            let clauses = &said["clauses"];
            assert_eq!(fields(&shown, "demand"), texts(clauses, "demand"));
            let holds = clauses.as_array().expect("clauses").iter().map(|clause| clause["holds"].to_string());
            assert_eq!(attributes(&shown, "data-holds"), holds.collect::<Vec<_>>());
            let mut reasons = texts(&said["recoveries"], "reason");
            reasons.reverse();
            assert_eq!(fields(&shown, "reason"), reasons);
            let by_name = format!("/issues/{}", said["identifier"].as_str().expect("a name"));
            assert_eq!(attributes(&html(&page, &by_name), "data-id"), [id.0]);
        }
    }

    fn the_pages_of_a_tenant_and_an_agent_show_their_work_alone(world) {
        let [abandoned, ..] = company(world);
        let other = world.agent("terminated");
        world.orphans(&other, 800..801);
        world.sweep();
        let page = served(&world.url);
        let agent = world.text("assignee_agent_id", &format!("issues where id = '{abandoned}'")).expect("an agent");
        let of_agent = html(&page, &format!("/agents/{agent}"));
        assert_eq!(attributes(&of_agent, "data-id"), std::slice::from_ref(&abandoned.0));
        let tenant = attention(world)["items"][0]["tenant"].as_str().expect("a tenant").to_owned();
        let of_tenant = html(&page, &format!("/tenants/{tenant}"));
        assert!(attributes(&of_tenant, "data-id").contains(&abandoned.0), "{of_tenant}");
        assert!(of_tenant.contains(&format!("<strong>{tenant}</strong>")), "{of_tenant}");
    }

    fn following_the_next_page_shows_each_item_once(world) {
        let gone = world.agent("terminated");
        world.orphans(&gone, 700..830);
        world.sweep();
        let page = served(&world.url);
        let (mut path, mut ids) = (Some("/?refresh=off".to_owned()), Vec::new());
        while let Some(here) = path {
            let shown = html(&page, &here);
            ids.extend(attributes(&shown, "data-id"));
            path = next_page(&shown).filter(|_| ids.len() < 1000);
        }
        let mut expected: Vec<String> = (700..830).map(|n| numbered(n).0).collect();
        expected.reverse();
        assert_eq!(ids, expected);
    }

    fn the_latest_sweeps_are_those_that_are_said(world) {
        company(world);
        let page = served(&world.url);
        let (shown, said) = (html(&page, "/sweeps"), attention(world));
        let sweeps = said["sweeper"]["sweeps"].as_array().expect("sweeps");
        let codes: Vec<String> = sweeps.iter().map(|sweep| sweep["exit_code"].to_string()).collect();
        assert_eq!(attributes(&shown, "data-sweep"), codes);
        let done: i64 = attributes(&shown, "data-n").iter().filter_map(|n| n.parse::<i64>().ok()).sum();
        let counted = ["continued", "escalated", "recovered", "handed_over", "abandoned", "failed", "deferred"];
        let all = sweeps.iter().flat_map(|sweep| counted.map(|name| sweep[name].as_i64().unwrap_or_default()));
        assert_eq!(done, all.sum::<i64>());
    }
}
