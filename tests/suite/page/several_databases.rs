//! Several databases: each has its headline and its pages, and one that is away is never shown as well.

use std::path::Path;

use crate::support::daemon::Daemon;
use crate::support::databases::{copy_of_template, files};
use crate::support::page::{ask, attributes, html, links, page};
use crate::support::scratch::url_of;
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

/// A board in this directory, with one orphan.
fn board(directory: &Path, name: &str) -> World {
    let path = directory.join(name);
    copy_of_template(&path);
    let mut world = World::at(On::Sqlite, url_of(&path), None);
    let agent = world.agent("idle");
    world.orphan(&agent);
    world
}

#[test]
fn each_database_has_its_headline_and_its_pages() {
    let directory = files().expect("a directory");
    let mut worlds: Vec<_> = ["a.db", "b.db"].map(|name| board(directory.path(), name)).into();
    worlds[0].sweep();
    std::fs::write(directory.path().join("c.db"), "no database").expect("a file");
    let pattern = url_of(&directory.path().join("*.db"));
    let page = Daemon::start(page(&pattern, []));

    let front = html(&page, "/");
    assert_eq!(attributes(&front, "data-state"), ["well", "never", "away"]);
    assert!(
        attributes(&front, "data-database").iter().zip(["a.db", "b.db", "c.db"]).all(|(name, end)| name.ends_with(end))
    );
    let pages: Vec<String> = links(&front).into_iter().filter(|link| link.starts_with("/databases/")).collect();
    assert_eq!(pages.len(), 3, "{pages:?}");
    assert!(html(&page, &pages[1]).contains("Mend the fence"));
    let below: Vec<String> =
        links(&html(&page, &pages[1])).into_iter().filter(|link| link.contains("/issues/")).collect();
    assert!(below[0].starts_with(pages[1].trim_end_matches('/')), "{below:?}");
    assert_eq!(html(&page, &below[0]).matches("data-subject=\"issue\"").count(), 1);
    assert_eq!(ask(&page, &format!("GET {}", pages[2]), &[]).status, 503);
    assert_eq!(ask(&page, "GET /sweeps", &[]).status, 404, "of which of them?");

    // New files are found, and those that are gone are shown no more.
    std::fs::remove_file(directory.path().join("c.db")).expect("a file");
    worlds.push(board(directory.path(), "d.db"));
    wait_for("the new one", || {
        let names = attributes(&html(&page, "/"), "data-database");
        (names.len() == 3 && names[2].ends_with("d.db")).then_some(())
    });
    assert_eq!(ask(&page, &format!("GET {}", pages[2]), &[]).status, 404);
}
