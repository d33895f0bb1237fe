//! Status, headers and methods of each address.

use crate::support::daemon::{Daemon, NEVER, daemon};
use crate::support::page::{ask, html, links, served};
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

#[test]
fn each_answer_keeps_scripts_frames_and_other_hosts_out() {
    let world = World::new(On::Sqlite);
    let page = served(&world.url);
    for (path, status) in [("/", 200), ("/sweeps", 200), ("/style.css", 200), ("/icons/away.svg", 200), ("/x", 404)] {
        let answer = ask(&page, &format!("GET {path}"), &[]);
        let header = |name: &str| answer.headers.get(name).map(String::as_str).unwrap_or_default();
        assert_eq!(answer.status, status, "{path}");
        let policy = header("content-security-policy");
        assert_eq!(
            policy,
            "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; \
             frame-ancestors 'none'",
            "{path}"
        );
        let guards = ["x-content-type-options", "referrer-policy", "cross-origin-resource-policy"].map(header);
        assert_eq!(guards, ["nosniff", "no-referrer", "same-origin"], "{path}");
        assert!(!answer.body.contains("<script") && !answer.body.contains("style=\""), "{path}: {}", answer.body);
    }
}

#[test]
fn head_is_answered_as_get_is_without_a_body_and_nothing_else_is() {
    let world = World::new(On::Sqlite);
    let page = served(&world.url);
    for path in ["/", "/sweeps", "/style.css", "/x"] {
        let [get, head] = ["GET", "HEAD"].map(|method| ask(&page, &format!("{method} {path}"), &[]));
        let of = |answer: &crate::support::page::Answer| (answer.status, answer.headers["content-length"].clone());
        assert_eq!((of(&head), head.body.as_str()), (of(&get), ""), "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "GETS"] {
        let answer = ask(&page, &format!("{method} /"), &["Content-Length: 0"]);
        assert_eq!((answer.status, answer.headers["allow"].as_str()), (405, "GET, HEAD"), "{method}");
    }
}

#[test]
fn a_page_that_has_not_changed_is_not_sent_again_and_one_that_has_is() {
    let mut world = World::new(On::Sqlite);
    let page = served(&world.url);
    // A new minute begins between two requests now and then, and stands on the page.
    wait_for("a page that has not changed", || {
        let first = ask(&page, "GET /", &[]);
        assert_eq!(
            (first.headers["cache-control"].as_str(), first.headers["refresh"].as_str()),
            ("private, no-cache", "30")
        );
        let known = format!("If-None-Match: W/\"x\", {}", first.headers["etag"]);
        let again = ask(&page, "GET /", &[&known]);
        let is_same = again.status == 304;
        assert_eq!(again.body.is_empty(), is_same);
        is_same.then(|| assert_eq!(again.headers["refresh"], "30"))
    });
    let first = ask(&page, "GET /", &[]);
    let agent = world.agent("idle");
    world.orphan(&agent);
    wait_for("a page that shows the new issue", || {
        let known = format!("If-None-Match: {}", first.headers["etag"]);
        let again = ask(&page, "GET /", &[&known]);
        (again.status == 200 && again.body.contains("Mend the fence")).then_some(())
    });
}

#[test]
fn it_refreshes_itself_unless_it_is_told_not_to_and_its_links_keep_to_that() {
    let world = World::new(On::Sqlite);
    let page = served(&world.url);
    let off = ask(&page, "GET /sweeps?refresh=off", &[]);
    assert_eq!(off.headers.get("refresh"), None);
    let within: Vec<String> = links(&off.body).into_iter().filter(|link| link.starts_with('/')).collect();
    let still_off = within.iter().filter(|link| link.ends_with("?refresh=off")).count();
    assert_eq!((still_off, within.len()), (5, 6), "all but the one that turns it on: {within:?}");
    assert!(within.contains(&"/sweeps".to_owned()), "{within:?}");
}

#[test]
fn what_is_not_there_is_said_so() {
    let world = World::new(On::Sqlite);
    let page = served(&world.url);
    for path in ["/favicon.ico", "/issues/ACM-1", "/tenants/nobody", "/databases/x", "/?after=x", "/plans/1", "/%ff"] {
        let answer = ask(&page, &format!("GET {path}"), &[]);
        assert_eq!((answer.status, answer.headers.get("etag")), (404, None), "{path}");
        assert!(answer.body.contains("There is no such page"), "{path}: {}", answer.body);
    }
}

#[test]
fn the_daemon_serves_it_beside_its_other_answers_when_it_is_on() {
    let world = World::new(On::Sqlite);
    let mut daemon = Daemon::start(daemon(&world.url, NEVER, ["--page", "on"]));
    daemon.answers("/readyz", 200);
    assert!(html(&daemon, "/").contains("Never swept"));
    assert!(html(&daemon, "/metrics").contains("sweep_build_info"));
    assert_eq!(ask(&daemon, "GET /nowhere", &[]).status, 404);
    daemon.ends_well();
}

#[test]
fn alone_it_says_that_it_is_well_and_ends_with_a_signal() {
    let world = World::new(On::Sqlite);
    let mut page = served(&world.url);
    assert_eq!(page.get("/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(page.get("/metrics").0, 404);
    page.ends_well();
}
