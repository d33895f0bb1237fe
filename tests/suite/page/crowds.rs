//! Many who ask at once, and databases that come and go.

use std::thread;
use std::time::Instant;

use crate::support::daemon::Daemon;
use crate::support::page::{ask, attributes, fields, html, page, served};
use crate::support::program::sweep;
use crate::support::wait::wait_for;
use crate::support::world::{On, World, on_each_host};

on_each_host! {
    fn sixty_clients_at_once_all_get_the_page_soon(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..200);
        let page = served(&world.url);
        html(&page, "/");
        let began = Instant::now();
        thread::scope(|scope| {
            let asked: Vec<_> = (0..60).map(|_| scope.spawn(|| ask(&page, "GET /", &[]).status)).collect();
            let statuses: Vec<u16> = asked.into_iter().map(|asked| asked.join().expect("an answer")).collect();
            assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
        });
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
        assert_eq!(page.count("ERROR"), 0, "{:?}", page.log());
    }

    /// The host notices nothing: the page writes no row, and takes neither a lock nor a transaction id.
    fn nothing_is_written(world) {
        let agent = world.agent("idle");
        world.orphan(&agent);
        let before = (world.count("recoveries"), world.count("sweeps"), world.count("notifications"));
        let page = served(&world.url);
        ["/", "/sweeps"].iter().for_each(|path| drop(html(&page, path)));
        assert_eq!((world.count("recoveries"), world.count("sweeps"), world.count("notifications")), before);
    }
}

#[test]
fn a_database_that_goes_away_is_said_to_be_away_and_what_was_read_before_is_not_shown() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphan(&agent);
    let path = world.url.trim_start_matches("sqlite://").to_owned();
    let page = served(&world.url);
    assert!(html(&page, "/").contains("Mend the fence"));
    std::fs::rename(&path, format!("{path}.away")).expect("a file");
    let away = wait_for("a page that says so", || {
        let answer = ask(&page, "GET /", &[]);
        (answer.status == 503).then_some(answer)
    });
    assert_eq!(attributes(&away.body, "data-state"), ["away"]);
    assert_eq!((away.headers["cache-control"].as_str(), away.headers["refresh"].as_str()), ("no-store", "30"));
    assert!(!away.body.contains("Mend the fence") && !away.headers.contains_key("etag"), "{}", away.body);
    assert!(
        fields(&away.body, "since")[0].starts_with("It has been unreadable for less than a minute. It was last read")
    );
    assert!(fields(&away.body, "why")[0].contains(&path), "{}", away.body);

    std::fs::rename(format!("{path}.away"), &path).expect("a file");
    wait_for("the page", || ask(&page, "GET /", &[]).body.contains("Mend the fence").then_some(()));
}

#[test]
fn a_server_that_answers_nothing_is_away_after_a_while_and_healthz_answers_all_the_time() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("postgres://sweep@{}/sweep", silent.local_addr().expect("an address"));
    let page = Daemon::start(page(&url, []));
    thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&page, "GET /", &[]));
        let again = scope.spawn(|| ask(&page, "GET /sweeps", &[]));
        assert_eq!(page.get("/healthz").0, 200);
        for asked in [asked, again] {
            let answer = asked.join().expect("an answer");
            assert_eq!(answer.status, 503);
            assert_eq!(fields(&answer.body, "why"), ["it has not answered within 5 seconds"]);
        }
    });
}

#[test]
fn a_database_that_is_not_migrated_is_no_page_that_is_well() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("new.db");
    std::fs::write(&file, "").expect("a file");
    let page = served(&format!("sqlite://{}", file.display()));
    let answer = ask(&page, "GET /", &[]);
    assert_eq!((answer.status, attributes(&answer.body, "data-state")), (503, vec!["away".to_owned()]));
    assert!(fields(&answer.body, "why")[0].contains("sweep migrate"), "{}", answer.body);
}

/// A password in the URL of a database is shown nowhere.
#[test]
fn what_leads_to_the_database_is_no_secret() {
    let url = "postgres://ada:hunter2@127.0.0.1:1/acme";
    let page = Daemon::start(sweep(["page", "--http", "127.0.0.1:0"]).env("DATABASE_URL", url));
    let answer = ask(&page, "GET /", &[]);
    assert_eq!(answer.status, 503);
    assert!(!answer.body.contains("hunter2") && answer.body.contains("acme"), "{}", answer.body);
}
