//! Rows that say what no page may believe: markup, credentials, characters that nobody sees, and texts of any length.

use sweep::rules::Id;

use crate::support::page::{attributes, fields, html, links, served};
use crate::support::world::{On, World, on_each_host};

const TITLES: [(&str, &str); 6] = [
    ("<script>alert(1)</script>", "<script>alert(1)</script>"),
    ("\"><img src=x onerror=alert(1)> ' onload='x", "\"><img src=x onerror=alert(1)> ' onload='x"),
    ("</title></p></main><!-- &lt; &#60; &amp;", "</title></p></main><!-- &lt; &#60; &amp;"),
    ("a\u{202e}b\u{1b}[31mc\u{200b}d\u{e0041}", "ab[31mcd"),
    ("password=hunter2 and more", "password=***"),
    ("{{ 7 * 7 }} {% include \"base.html\" %}", "{{ 7 * 7 }} {% include \"base.html\" %}"),
];

fn titled(world: &mut World, title: &str) -> Id {
    let agent = world.agent("terminated");
    let issue = world.orphan(&agent);
    let long_ago = world.ago(3000);
    world.set(
        "issues",
        &issue,
        &format!("title = '{}', updated_at = {long_ago}, started_at = {long_ago}", title.replace('\'', "''")),
    );
    issue
}

on_each_host! {
    /// P15
    fn a_title_is_shown_as_the_text_that_it_is(world) {
        for (title, expected) in TITLES {
            let issue = titled(world, title);
            world.sweep();
            let page = served(&world.url);
            for (path, field) in [("/".to_owned(), "title"), (format!("/issues/{issue}"), "title")] {
                let shown = html(&page, &path);
                assert!(fields(&shown, field).contains(&expected.to_owned()), "{path}: {title:?}: {shown}");
                for markup in [
                    "<script", "<img", "<!--", "\u{202e}", "\u{1b}", "\u{200b}", "hunter2", " onload=", " onerror=\"",
                ] {
                    assert!(!shown.replace(" onload=&#39;x", "").contains(markup), "{path}: {markup:?}: {shown}");
                }
            }
            world.set("issues", &issue, "status = 'done'");
        }
    }

    fn a_title_of_a_megabyte_is_cut(world) {
        // SQLite's tables take 10,000 bytes, and an index of Paperclip's as many.
        let is_small = world.on != On::Postgres;
        let title = "long ".repeat(if is_small { 1_000 } else { 200_000 });
        let issue = titled(world, &title);
        world.sweep();
        let page = served(&world.url);
        for path in ["/".to_owned(), format!("/issues/{issue}")] {
            let shown = html(&page, &path);
            assert!(shown.contains("long long") && shown.len() < 64 * 1024, "{path}: {} bytes", shown.len());
        }
    }
}

/// On SQLite an id is any text. One that may not be shown makes no link, and the others lead where they say.
#[test]
fn an_id_of_any_text_leads_to_its_page_or_nowhere() {
    let mut world = World::new(On::Sqlite);
    let ids = ["..", "a/b?c#d%2F", "~x", "ü ñ\"'<b>", "%", "password=hunter2", "a\u{202e}b"];
    for id in ids {
        let issue = titled(&mut world, id);
        let quoted = id.replace('\'', "''");
        world.set("issues", &issue, &format!("id = '{quoted}', identifier = 'N-' || id"));
    }
    world.sweep();
    let page = served(&world.url);
    let front = html(&page, "/");
    let leading: Vec<String> = links(&front).into_iter().filter(|link| link.starts_with("/issues/")).collect();
    assert_eq!(leading.len(), 5, "{leading:?}");
    for link in &leading {
        assert!(link.chars().all(|c| c.is_ascii_alphanumeric() || "/-._~%".contains(c)), "{link}");
        assert!(ids.contains(&attributes(&html(&page, link), "data-id")[0].as_str()), "{link}");
    }
    assert!(!front.contains("hunter2") && !front.contains('\u{202e}'), "{front}");
}

/// The names of agents and tenants are others' words, too, and the guard's sentences quote them.
#[test]
fn names_are_shown_as_texts_wherever_they_stand() {
    let mut world = World::new(On::Sqlite);
    let (one, other) = (titled(&mut world, "x"), titled(&mut world, "y"));
    world.set("issues", &one, "tenant = '<b>&\"/../?'");
    world.run("update agents set name = '<i onclick=x>' || substr(id, 1, 8)");
    world.sweep();
    let page = served(&world.url);
    let front = html(&page, "/");
    assert!(!front.contains("<b>") && !front.contains("<i "), "{front}");
    let tenant = links(&front).into_iter().find(|link| link.starts_with("/tenants/%3C")).expect("a link");
    assert_eq!(attributes(&html(&page, &tenant), "data-id"), [one.0]);
    assert!(attributes(&front, "data-id").contains(&other.0));
}
