//! Connections that are cut before a sweep has begun: while connecting, and while migrating.

use anyhow::Result;
use sweep::conclusion::{Conclusion, conclusion_of};
use sweep::settings::database::find_database;
use sweep::settings::{Environment, TypedSettings};
use sweep::store::hosts::migrate::{Wanted, migrate};
use sweep::store::{Access, DbConnection};

use crate::support::databases::connect_as_sweep;
use crate::support::proxy::{Afterwards, Cut, Direction, Proxy};
use crate::support::rounds::rounds;
use crate::support::scratch::Scratch;

fn connect(proxy: &Proxy, database: &str, sslmode: &str) -> Result<DbConnection> {
    let typed = TypedSettings { databases: vec![proxy.url(database, sslmode)], ..TypedSettings::default() };
    find_database(&Environment::of(&[]).with(&typed)).expect("a URL").connect(Access::Write)
}

#[test]
fn a_connection_cut_while_it_is_made_is_unavailable_with_tls_and_without() {
    for sslmode in ["disable", "require"] {
        let undisturbed = Proxy::start(None);
        connect(&undisturbed, "postgres", sslmode).expect("a connection");
        for direction in [Direction::ToServer, Direction::ToClient] {
            // Over TLS the good-byes are part of the bytes, and lengths differ a little.
            let length = undisturbed.passed(direction).len() - 100;
            for byte in (0..50).map(|n| length * n / 50) {
                let proxy = Proxy::start(Some(Cut { direction, byte, afterwards: Afterwards::Open }));
                let Err(error) = connect(&proxy, "postgres", sslmode) else {
                    panic!("{sslmode}, {direction:?}, {byte}")
                };
                assert_eq!(
                    conclusion_of(&error),
                    Conclusion::Unavailable,
                    "{sslmode}, {direction:?}, {byte}: {error:#}"
                );
            }
        }
    }
}

#[test]
fn a_migration_cut_at_any_byte_is_whole_or_has_not_begun() {
    let through = |proxy: &Proxy, scratch: &Scratch| {
        connect(proxy, scratch.name(), "disable").and_then(|mut db| migrate(&mut db, &Wanted::default()))
    };
    let (undisturbed, scratch) = (Proxy::start(None), Scratch::empty());
    let empty = scratch.catalog();
    through(&undisturbed, &scratch).expect("a migration");
    let whole = scratch.catalog();
    for direction in [Direction::ToServer, Direction::ToClient] {
        let (length, mut cut_to) = (undisturbed.passed(direction).len(), Vec::new());
        // The last bytes are those of the COMMIT.
        for byte in rounds((0..10).map(|n| length * n / 10).chain(length - 20..length)) {
            let scratch = Scratch::empty();
            let proxy = Proxy::start(Some(Cut { direction, byte, afterwards: Afterwards::Open }));
            let migrated = through(&proxy, &scratch);
            assert!(proxy.has_cut(), "{byte}");
            if let Err(error) = &migrated {
                assert_eq!(conclusion_of(error), Conclusion::Unavailable, "{byte}: {error:#}");
            }
            let catalog = scratch.catalog();
            assert!(catalog == whole || (catalog == empty && migrated.is_err()), "{byte}: {catalog:?}");
            // A database that is empty again is like any other, so one further migration is enough.
            let is_new = !cut_to.contains(&catalog);
            cut_to.push(catalog);
            if is_new {
                migrate(&mut connect_as_sweep(&scratch.url), &Wanted::default()).expect("a migration");
                assert_eq!(scratch.catalog(), whole);
            }
        }
        assert!(cut_to.contains(&empty), "no cut came before the end");
    }
}

/// A machine that vanishes sends nothing: without probes, libpq would wait for ever. The test reads the kernel's timer
/// of the connection.
#[test]
fn a_connection_that_is_silent_is_probed_after_ten_seconds() {
    let proxy = Proxy::start(None);
    let _db = connect(&proxy, "postgres", "disable").expect("a connection");
    let sockets = std::fs::read_to_string("/proc/net/tcp").expect("Linux");
    let ours = format!(":{:04X}", proxy.port());
    let fields = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let timer = fields.filter(|fields| fields[2].ends_with(&ours)).map(|fields| fields[5].to_owned()).next();
    let timer = timer.expect("a connection to the proxy");
    // 2 is a probe to come, in hundredths of a second.
    let (kind, when) = timer.split_once(':').expect("a timer");
    let when = u32::from_str_radix(when, 16).expect("a number");
    assert!(kind == "02" && when <= 1000, "{timer}");
}
