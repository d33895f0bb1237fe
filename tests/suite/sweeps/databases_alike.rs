//! Databases that look alike: each is swept, and each has a name of its own.

use std::collections::BTreeSet;

use super::several_databases::{at, board, ends, orphan};
use crate::support::daemon::{Daemon, NEVER, daemon};
use crate::support::databases::files;
use crate::support::scratch::{Role, psql, url_of};
use crate::support::world::{On, World};

/// Row level security shows another user other rows.
#[test]
fn the_same_database_as_another_user_is_another_one_with_a_name_of_its_own() {
    let (role, mut world) = (Role::new(), World::new(On::Postgres));
    orphan(&mut world);
    psql(&world.url, include_str!("../../../deploy/postgres/role.sql")).expect("the roles");
    world.run(&format!("grant sweeper to {}", role.name));
    let name = world.name().to_owned();
    let names = [name.clone(), format!("{name} (2)")];
    let (directory, role_url) = (files().expect("a directory"), role.at(&world.url));
    let metrics = directory.path().join("sweep.prom");
    let urls = [world.url.as_str(), &role_url];

    let ran = at(urls, &["--output", "json", "--set", &format!("metrics_file={}", metrics.to_str().expect("a path"))])
        .run()
        .done();
    let table = at(urls, &[]).run().done();

    assert_eq!(ends(&ran), names.clone().map(|name| (name, 0)));
    assert_eq!(world.count("sweeps"), 4);
    assert!(names.iter().all(|name| table.out.lines().any(|line| line.ends_with(name))), "{table}");
    assert!(!format!("{ran}{table}").contains("password=secret"), "{ran}");
    let page = std::fs::read_to_string(&metrics).expect("metrics");
    each_series_stands_once(&page);
    assert!(page.contains(&format!("{name}\"")) && page.contains(&format!("{name} (2)\"")), "{page}");
}

/// Prometheus takes no page in which one of them stands twice.
fn each_series_stands_once(page: &str) {
    let series = page.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
    let series: Vec<&str> = series.map(|(series, _)| series).collect();
    assert_eq!(series.iter().collect::<BTreeSet<_>>().len(), series.len(), "{page}");
    assert!(series.iter().any(|series| series.contains("database=")), "{page}");
}

#[test]
fn a_daemon_calls_each_by_its_own_name() {
    let directory = files().expect("a directory");
    // What looks like a secret is hidden, also in the name of a file.
    let files = ["sk-live-0123456789abcdef.db", "sk-live-fedcba9876543210.db"];
    let _worlds = files.map(|name| board(directory.path(), name));
    let pattern = url_of(&directory.path().join("*.db"));
    let mut daemon = Daemon::start(daemon(&pattern, NEVER, ["--at-start", "on"]));
    daemon.says("***.db (2)}: sweep completed");
    daemon.answers("/readyz", 200);
    let page = daemon.get("/metrics").1;
    each_series_stands_once(&page);
    daemon.ends_well();
    assert!(!daemon.log().iter().any(|line| line.contains("0123456789")), "{:?}", daemon.log());
}
