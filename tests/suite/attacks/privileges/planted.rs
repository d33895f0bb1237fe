//! A schema, or a host's tables, that a stranger made before anybody migrated.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use sweep::store::Access;
use sweep::store::connect::open::Url;
use sweep::store::hosts::migrate::{Wanted, plan};
use tempfile::TempDir;

use super::{CONFIG, ROLES};
use crate::support::databases::{connect, run};
use crate::support::program::{command_at, migrate_at, sweep};
use crate::support::scratch::{Role, Scratch, psql};
use crate::support::wait::SetAtEnd;

/// SQL that has a stranger's schema run code when its version is read: a file on the server appears if a superuser
/// reads it.
fn trap(directory: &TempDir) -> (String, PathBuf) {
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).expect("the server may write there");
    let file = directory.path().join("superuser");
    let sql = format!(
        "begin; create schema sweep; grant usage on schema sweep to public;
         create function sweep.rise() returns text language plpgsql as
             $$begin perform set_config('role', 'none', true); copy (select 1) to '{}'; return '1'; end$$;
         create view sweep.__diesel_schema_migrations as select sweep.rise() as version;
         grant select on sweep.__diesel_schema_migrations to public; commit",
        file.display()
    );
    (sql, file)
}

/// A database in which a role set the trap, and the file that shows that somebody fell into it.
fn trapped() -> (Scratch, Role, TempDir, PathBuf) {
    let (database, mallory, directory) = (Scratch::empty(), Role::new(), TempDir::new().expect("a directory"));
    database.run(&format!("grant create on database {} to {}", database.name(), mallory.name));
    let (sql, file) = trap(&directory);
    run(&mut connect(&mallory.at(&database.url)), &sql);
    (database, mallory, directory, file)
}

#[test]
fn no_command_of_a_superuser_reads_a_schema_that_somebody_else_made() {
    let (database, mallory, _directory, file) = trapped();
    for command in [
        &[][..],
        &["--dry-run"],
        &["status"],
        &["explain", "issue", "T-1"],
        &["exempt", "list"],
        &["quarantine", "list"],
        &["daemon", "--schedule", "* * * * * *", "--listen", "on"],
    ] {
        let says = ["this role is a superuser", "the schema sweep belongs to", &mallory.name];
        command_at(&database.url, command.iter().copied()).run().refused(CONFIG, &says);
        assert!(!file.exists(), "{command:?}");
    }
    let watch = sweep(["watch", "--database", &database.url, "--", "true"]).run();
    assert!(watch.err.contains("this role is a superuser") && !file.exists(), "{watch}");
    // The control: reading the version springs the trap.
    psql(&database.url, "select version from sweep.__diesel_schema_migrations").expect("it is read");
    assert!(file.exists());
}

/// While a daemon or a watcher is not connected, the owner of the database may give its name to another one.
#[test]
fn a_superuser_who_connects_again_reads_no_schema_that_somebody_else_made() {
    let (database, _mallory, _directory, file) = trapped();

    let again = Url::parse(&database.url).expect("a URL").connect_again(Access::Write);

    let refused = again.err().expect("a refusal").to_string();
    assert!(refused.contains("this role is a superuser") && !file.exists(), "{refused}");
}

/// The owner of the database may have every connection begin as another role, which can return to the role that
/// connected.
#[test]
fn a_role_that_the_database_sets_makes_nobody_trusted() {
    let (database, mallory, directory) = (Scratch::empty(), Role::new(), TempDir::new().expect("a directory"));
    database.run(&format!(
        "grant create on database {0} to {1}; alter database {0} set role = '{1}'",
        database.name(),
        mallory.name
    ));
    let (sql, file) = trap(&directory);
    run(&mut connect(&mallory.at(&database.url)), &sql);

    migrate_at(&database.url, [])
        .run()
        .refused(CONFIG, &["the schema sweep belongs to", "a superuser who does not own it"]);
    command_at(&database.url, ["status"]).run().refused(CONFIG, &["this role is a superuser"]);
    assert!(!file.exists());

    let paperclip = Scratch::paperclip();
    paperclip.run(&format!(
        "grant create on database {0} to {1}; alter table public.issues owner to {1}; alter database {0} set role = \
            '{1}'",
        paperclip.name(),
        mallory.name
    ));
    migrate_at(&paperclip.url, []).run().refused(CONFIG, &["is a superuser, and the table public.issues belongs to"]);
}

/// The tables' triggers would run with the rights of the role that migrates.
#[test]
fn tables_of_a_stranger_that_are_called_like_a_hosts_are_a_host_only_by_name() {
    let (database, owner, mallory) = (Scratch::paperclip(), Role::new(), Role::new());
    database.run(&format!(
        "grant create on database {0} to {1};
         do $$ declare tables text; begin
             for tables in select oid::regclass from pg_class where relnamespace = 'public'::regnamespace and relkind \
             = 'r' loop
                 execute format('alter table %s owner to {1}', tables);
             end loop;
         end $$;
         alter table public.issue_comments owner to {2}; grant all on public.issue_comments to {1}",
        database.name(),
        owner.name,
        mallory.name
    ));
    let url = owner.at(&database.url);
    let says =
        ["the table public.issue_comments belongs to", &mallory.name, "is no member of that role", "--host paperclip"];
    migrate_at(&url, []).run().refused(CONFIG, &says);
    migrate_at(&url, ["--print"]).run().refused(CONFIG, &says);
    // The control: the operator names that host.
    migrate_at(&url, ["--host", "paperclip"]).run().done();
}

/// The schema is made and dropped all the time, so that it may appear between reading the owner and reading the
/// contents.
#[test]
fn a_schema_that_comes_and_goes_gets_no_rights_either() {
    let (database, mallory) = (Scratch::empty(), Role::new());
    database.run(&format!("grant create on database {} to {}", database.name(), mallory.name));
    let directory = TempDir::new().expect("a directory");
    let (sql, file) = trap(&directory);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _end = SetAtEnd(&stop);
        scope.spawn(|| {
            let mut db = connect(&mallory.at(&database.url));
            while !stop.load(Ordering::Relaxed) {
                run(&mut db, &sql);
                run(&mut db, "begin; set local client_min_messages = error; drop schema sweep cascade; commit");
            }
        });
        for _ in 0..150 {
            // Does what `migrate --print` does, which may be refused.
            let mut db = Url::parse(&database.url).expect("a URL").connect(Access::ReadOnly).expect("a connection");
            let _ = db.look(|db| plan(db, &Wanted::default()));
        }
    });
    assert!(!file.exists());
    // The control: a superuser who runs this statement writes the file.
    database.run(&format!("copy (select 1) to '{}'", file.display()));
    assert!(file.exists());
}

#[test]
fn no_role_is_let_into_a_schema_that_somebody_else_made() {
    let (database, mallory) = (Scratch::empty(), Role::new());
    let refused = |url: &str| psql(url, ROLES).expect_err("it is refused");
    assert!(refused(&database.url).contains("there is no schema sweep"));

    database.run(&format!("create schema sweep authorization {}", mallory.name));

    let says = refused(&database.url);
    assert!(says.contains(&format!("the schema sweep belongs to {}", mallory.name)), "{says}");
    database.run(&format!("alter database {} set role = '{}'", database.name(), mallory.name));
    assert!(refused(&database.url).contains("the schema sweep belongs to"));
}
