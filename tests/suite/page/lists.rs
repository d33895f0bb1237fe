//! The lists to which the numbers of the page lead: each has as many rows as the number says, and can be searched.

use sweep::rules::Id;

use crate::support::page::{attributes, fields, html, links, next_page, plain, served};
use crate::support::world::{On, World, on_each_database, on_each_host};

/// The numbers on a page that are links, with where they lead.
fn counts(html: &str) -> Vec<(String, i64)> {
    let cells = html.split("class=\"number").skip(1).filter_map(|rest| rest.split("</td>").next());
    let links = cells.filter_map(|cell| {
        let (address, rest) = cell.split_once("href=\"")?.1.split_once("\">")?;
        Some((plain(address), rest.split('<').next()?.parse().ok()?))
    });
    links.collect()
}

fn company(world: &mut World) {
    let (gone, idle) = (world.agent("terminated"), world.agent("idle"));
    world.orphans(&gone, 700..702);
    world.orphan(&idle);
    for _ in 0..2 {
        world.sweep();
        world.end_continuations("failed");
        world.pass(90);
    }
    world.sweep();
    world.orphan(&idle);
    world.issue_at_work();
}

on_each_host! {
    fn each_number_leads_to_a_list_of_as_many(world) {
        company(world);
        if world.on != On::Paperclip {
            let idle = world.agent("idle");
            world.stalled_step(Some(&idle));
            world.stalled_step(None);
            world.session(Some(&idle), None);
        }
        let page = served(&world.url);
        let counts = counts(&html(&page, "/"));
        assert!(10 < counts.len(), "{counts:?}");
        for (address, n) in counts {
            let shown = html(&page, &address);
            assert_eq!(attributes(&shown, "data-total"), [n.to_string()], "{address}");
            assert_eq!(attributes(&shown, "data-listed").len() as i64, n, "{address}");
        }
    }

    fn an_agents_page_has_the_agents_name_and_all_of_its_work(world) {
        let (ada, bob) = (world.agent("idle"), world.agent("idle"));
        let (idle, at_work) = (world.orphan(&ada), world.orphan(&ada));
        world.issue_run(&at_work, &ada, "running", 5);
        world.orphan(&bob);
        let page = served(&world.url);
        let shown = html(&page, &format!("/agents/{ada}"));
        assert!(shown.contains("agent <strong>Ada</strong>"), "{shown}");
        let mut states = attributes(&shown, "data-of");
        states.sort();
        // On Paperclip the run is a session as well.
        states.dedup();
        assert_eq!(states, ["active", "orphaned"]);
        for issue in [idle, at_work] {
            assert!(links(&shown).contains(&format!("/issues/{issue}")), "{issue}: {shown}");
        }
        assert!(links(&shown).contains(&format!("/work?agent={ada}")), "{:?}", links(&shown));
    }

    fn a_list_is_searched_by_a_form_and_its_pages_follow_one_another(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 700..760);
        let gate = world.orphan(&agent);
        world.set("issues", &gate, "title = 'Paint the + gate'");
        let page = served(&world.url);
        let found = html(&page, "/work?agent=&state=orphaned&q=the+%2B");
        assert_eq!(attributes(&found, "data-listed").len(), 0, "of nobody");
        let found = html(&page, "/issues?state=orphaned&q=THE+%2B");
        assert_eq!(fields(&found, "listed_title"), ["Paint the + gate"]);
        assert!(found.contains("value=\"THE +\"") && found.contains("name=\"state\" value=\"orphaned\""), "{found}");
        let first = html(&page, "/issues?q=fence");
        let next = next_page(&first).expect("another page");
        let listed = |html: &str| attributes(html, "data-listed").len();
        assert_eq!((listed(&first), listed(&html(&page, &next))), (50, 10));
        assert!(html(&page, "/issues?q=nothing+is+called+so").contains("Nothing of what was looked at is called so."));
    }
}

mod sessions {
    use super::*;

    on_each_database! {
        /// P15
        fn sessions_have_a_table_with_their_directories_and_what_they_show_or_ask(world) {
            let agent = world.agent("idle");
            let (one, other) = (world.session(Some(&agent), None), world.session(None, None));
            world.set(
                "sessions",
                &one,
                "directory = '/srv/<b>', agent_state = 'waiting', agent_question = 'May I? token=s3cret'",
            );
            world.set("sessions", &other, "recent_output = 'a\npassword=hunter2'");
            let page = served(&world.url);
            let shown = html(&page, "/sessions");
            assert_eq!(attributes(&shown, "data-listed"), ["session", "session"]);
            assert_eq!(fields(&shown, "question"), ["May I? token=***"]);
            assert_eq!(fields(&shown, "last_line"), ["password=***"]);
            assert!(fields(&shown, "directory").contains(&"/srv/<b>".to_owned()), "{shown}");
            assert!(!shown.contains("hunter2") && !shown.contains("s3cret") && !shown.contains("<b>"), "{shown}");
        }
    }
}

#[test]
fn what_a_database_does_not_have_is_said_on_its_page() {
    let world = World::new(On::Paperclip);
    let page = served(&world.url);
    for path in ["/plans", "/steps"] {
        assert!(html(&page, path).contains("not provided by this database"), "{path}");
    }
}

/// A list that is asked for by what may not be shown is linked from nowhere.
#[test]
fn a_tenant_with_a_credential_in_its_name_has_no_list() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let (one, other): (Id, Id) = (world.orphan(&agent), world.orphan(&agent));
    world.set("issues", &one, "tenant = 'password=hunter2'");
    world.set("issues", &other, "tenant = 'b'");
    let page = served(&world.url);
    let front = html(&page, "/");
    assert!(!front.contains("hunter2"), "{front}");
    assert!(
        links(&front).contains(&"/work?state=orphaned&state=stalled&state=silent&state=crashed&tenant=b".to_owned())
    );
}
