//! However the pages are cut, each thing is on one of them, in the same order.

use serde_json::Value;
use sweep::rules::Id;
use sweep::store::read::overview::{PageRequest, Scope};

use crate::support::program::sweep;
use crate::support::world::{On, World, on_each_host};

const USAGE: i32 = 64;

/// What is on all pages of so many, one after the other.
fn all(world: &World, limit: usize) -> Vec<(String, String)> {
    let (mut after, mut all) = (None, Vec::new());
    loop {
        let page = world.attention_of(&Scope::default(), &PageRequest { after, limit });
        let items = page["items"].as_array().expect("items");
        assert!(items.len() <= limit && (items.len() == limit || page["next_page"].is_null()), "{page}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        all.extend(items.iter().map(|item| (text(&item["what"]), text(&item["id"]))));
        match page["next_page"].as_str() {
            Some(place) => after = Some(place.parse().expect("a place")),
            None => return all,
        }
    }
}

/// Makes several items of every source, many of one moment.
fn everything(world: &mut World) -> usize {
    let (agent, gone) = (world.agent("idle"), world.agent("terminated"));
    let (hour, old) = (world.ago(60), world.ago(600));
    let (mut abandoned, mut blocked) = (Vec::new(), Vec::new());
    world.run("begin");
    for _ in 0..5 {
        let issue = world.orphan(&gone);
        world.set("issues", &issue, &format!("updated_at = {old}"));
        abandoned.push(issue);
        blocked.push(world.orphan(&agent));
    }
    world.run("commit");
    world.sweep();
    for issue in &blocked[..3] {
        let (id, sweep_id) = (Id::generate(), Id::generate());
        world.run(&format!("update recoveries set settled_at = {hour} where subject_id = '{issue}'"));
        world.run(&format!(
            "insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, \
             blocked_subject, created_at) values ('{id}', '{sweep_id}', 'issue', '{issue}', 'escalate', 'x', {hour}, \
             1, \
             true, {hour})"
        ));
        world.set("issues", issue, "status = 'blocked'");
    }
    for (number, issue) in blocked[3..].iter().chain(&abandoned).enumerate() {
        let at = if number < 4 { &hour } else { &old };
        world.run(&format!(
            "insert into failures (kind, subject_id, sweeps, reason, quarantined_at) values ('issue', '{issue}', 3, \
             'x', \
             {at})"
        ));
        let id = Id::generate();
        world.run(&format!(
            "insert into notifications (id, destination, event, kind, subject_id, sweep_id, details, created_at, \
             dead_at) \
             values ('{id}', 'slack', 'escalated', 'issue', '{issue}', '{id}', '{{}}', {at}, {hour})"
        ));
        let stuck = world.orphan(&agent);
        world.issue_wake(&stuck, &agent, "queued", 60 + number as i64 % 2);
    }
    5 + 3 + 3 * 7
}

on_each_host! {
    fn each_thing_is_on_one_page_in_the_same_order_however_long_the_pages_are(world) {
        let total = everything(world);
        let whole = all(world, 500);
        assert_eq!(whole.len(), total, "{whole:?}");
        let shown = world.attention();
        assert_eq!(shown["items_total"].as_u64(), Some(total as u64));
        let whats: std::collections::BTreeSet<&str> = whole.iter().map(|(what, _)| what.as_str()).collect();
        assert_eq!(whats.len(), 5, "{whats:?}");
        for limit in [1, 2, 3, 7, total, total + 1] {
            assert_eq!(all(world, limit), whole, "{limit}");
        }
    }

    fn a_place_that_is_none_here_is_refused(world) {
        let other = if world.on == On::Sqlite { "@817369200123456~issue~0198c2a4-5b1e-7cc3-9d0a-3f2b8e6a7d10" }
            else { "2026-11-25T07:32:39.119Z~issue~0198c2a4-5b1e-7cc3-9d0a-3f2b8e6a7d10" };
        for (after, expected) in [
            ("x", "--after"), ("", "--after"), ("@1~dragon~1", "--after"), ("@x~issue~1", "--after"),
            (other, "no page of this database begins there"),
        ] {
            sweep(["attention", "--database", &world.url, "--after", after]).run().refused(USAGE, &[expected]);
        }
        for limit in ["0", "501", "-1", "many"] {
            let limit = format!("--limit={limit}");
            sweep(["attention", "--database", &world.url, &limit]).run().refused(USAGE, &["--limit", "from 1 to 500"]);
        }
    }
}
