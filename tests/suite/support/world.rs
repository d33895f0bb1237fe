//! A small control plane in a database of its own, on each host, for one test.
//!
//! Time is moved by writing old rows, never by sleeping.

mod between_sweeps;
pub mod combinations;
mod failures;
mod history;
mod keep;
pub mod many;
pub mod notifications;
pub mod sessions;
mod sweeps;
pub mod tenants;
mod work;
mod written;

use std::fmt::Display;

use diesel::connection::SimpleConnection;
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel::{QueryableByName, RunQueryDsl};
use sweep::rules::Id;
use sweep::store::hosts::migrate::{Listen, Wanted, migrate};
use sweep::store::{Db, DbConnection};

use crate::support::databases::{
    as_swept, clone_of, connect, connect_as_sweep, connect_server, copy_of_template, database_url, files, run, template,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Postgres,
    Sqlite,
    Paperclip,
}

/// One database, dropped with the test. `db` is the host's own connection, `url` what sweeps use.
pub struct World {
    pub on: On,
    pub url: String,
    pub db: Db,
    /// On Paperclip, the company to which everything belongs.
    pub company: Id,
    _directory: Option<tempfile::TempDir>,
}

/// Makes each test once for each database for which sweep brings a control plane. `make test` plays SQLite. The gate
/// plays PostgreSQL too, except for what is above the store; the long round plays everything.
macro_rules! on_each_database {
    ($($(#[doc = $doc:literal])* fn $name:ident($world:ident) $body:block)+) => {
        $($(#[doc = $doc])* fn $name($world: &mut $crate::support::world::World) $body)+
        $crate::support::world::on!(Sqlite: mod sqlite { $($name)+ });
        $crate::support::world::on!(Postgres: mod postgres #[ignore = "played on PostgreSQL 18"] { $($name)+ });
    };
}
/// Makes each test once for each database, and once for Paperclip's real schema. The gate leaves Paperclip's tests of
/// the engine (`sweeps`) and of the commands to the long round.
macro_rules! on_each_host {
    ($($(#[doc = $doc:literal])* fn $name:ident($world:ident) $body:block)+) => {
        $crate::support::world::on_each_database! { $($(#[doc = $doc])* fn $name($world) $body)+ }
        $crate::support::world::on!(Paperclip: mod paperclip #[ignore = "played on PostgreSQL 18"] { $($name)+ });
    };
}
/// Makes the tests of one database, in a module of its name.
macro_rules! on {
    ($on:ident: mod $module:ident { $($name:ident)+ }) => {
        mod $module {
            use $crate::support::world::{On, World};
            $(#[test] fn $name() { super::$name(&mut World::new(On::$on)) })+
        }
    };
    ($on:ident: mod $module:ident #[ignore = $why:literal] { $($name:ident)+ }) => {
        mod $module {
            use $crate::support::world::{On, World};
            $(#[test] #[ignore = $why] fn $name() { super::$name(&mut World::new(On::$on)) })+
        }
    };
}
pub(crate) use {on, on_each_database, on_each_host};

#[derive(QueryableByName)]
struct Answer {
    #[diesel(sql_type = Nullable<Text>)]
    value: Option<String>,
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    value: i64,
}

impl World {
    pub fn new(on: On) -> World {
        match on {
            On::Postgres | On::Paperclip => World::cloned(on, template(on)),
            On::Sqlite => {
                let directory = files().expect("a temporary directory");
                let file = directory.path().join("test.db");
                copy_of_template(&file);
                World::at(on, format!("sqlite://{}", file.display()), Some(directory))
            }
        }
    }

    /// A world over a clone of a server's template, for this host.
    pub fn cloned(on: On, template: &str) -> World {
        World::at(on, as_swept(&clone_of(template)), None)
    }

    /// A world over a migrated, empty database.
    pub fn at(on: On, url: String, directory: Option<tempfile::TempDir>) -> World {
        let db = connect(&hosts_url(on, &url));
        let mut world = World { on, db, url, company: Id::generate(), _directory: directory };
        if on == On::Paperclip {
            let company = &world.company;
            world.run(&format!(
                "insert into companies (id, name, issue_prefix, default_responsible_user_id)
                 values ('{company}', 'Acme', 'A{}', 'user-1')",
                &company.0[25..]
            ));
        }
        world
    }

    /// Copies this world, with all rows.
    pub fn copy(&mut self) -> World {
        let (url, directory) = match self.on {
            On::Postgres | On::Paperclip => {
                // PostgreSQL copies no database that has connections.
                self.db = connect_server();
                let url = as_swept(&clone_of(self.name()));
                self.db = self.connect();
                (url, None)
            }
            On::Sqlite => {
                self.run("pragma wal_checkpoint(truncate)");
                let directory = files().expect("a temporary directory");
                let file = directory.path().join("test.db");
                std::fs::copy(self.url.trim_start_matches("sqlite://"), &file).expect("a copy of the file");
                (format!("sqlite://{}", file.display()), Some(directory))
            }
        };
        let db = connect(&hosts_url(self.on, &url));
        World { on: self.on, db, url, company: self.company.clone(), _directory: directory }
    }

    /// A world whose host tells of runs that end.
    pub fn with_listen(on: On) -> World {
        let world = World::new(on);
        if on == On::Sqlite {
            return world;
        }
        migrate(&mut world.connect_as_sweep(), &Wanted { listen: Listen::Wanted, ..Wanted::default() })
            .expect("a trigger");
        world
    }

    /// The database's name.
    pub fn name(&self) -> &str {
        name_in(&self.url)
    }

    /// Opens another connection of the host.
    pub fn connect(&self) -> Db {
        connect(&hosts_url(self.on, &self.url))
    }

    /// Opens a connection like those of a sweep.
    pub fn connect_as_sweep(&self) -> DbConnection {
        connect_as_sweep(&self.url)
    }

    pub fn run(&mut self, sql: &str) {
        run(&mut self.db, sql);
    }

    pub fn count(&mut self, sql: &str) -> i64 {
        diesel::sql_query(format!("select count(*) as value from {sql}"))
            .get_result::<Count>(&mut self.db)
            .unwrap_or_else(|error| panic!("{error}: {sql}"))
            .value
    }

    /// The one value of a query.
    pub fn text(&mut self, expression: &str, from: &str) -> Option<String> {
        let mut values = self.texts(expression, from);
        assert!(values.len() <= 1, "{} rows: {expression} from {from}", values.len());
        values.pop().flatten()
    }

    /// The value in each row of a query.
    pub fn texts(&mut self, expression: &str, from: &str) -> Vec<Option<String>> {
        let sql = format!("select cast({expression} as text) as value from {from}");
        let rows: Vec<Answer> =
            diesel::sql_query(&sql).load(&mut self.db).unwrap_or_else(|error| panic!("{error}: {sql}"));
        rows.into_iter().map(|row| row.value).collect()
    }

    /// SQL for a time in the past; negative: in the future. The minutes are a number, or SQL for one.
    pub fn ago(&self, minutes: impl Display) -> String {
        match self.on {
            On::Sqlite => format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', (-({minutes})) || ' minutes')"),
            On::Postgres | On::Paperclip => format!("(now() - ({minutes}) * interval '1 minute')"),
        }
    }

    /// Changes one row: `set("issues", &id, "status = 'done'")`.
    pub fn set(&mut self, table: &str, id: &Id, assignment: &str) {
        self.run(&format!("update {table} set {assignment} where id = '{id}'"));
    }

    pub fn status(&mut self, table: &str, id: &Id) -> String {
        self.text("status", &format!("{table} where id = '{id}'")).expect("a status")
    }
}

/// The URL without the role that sweeps: a host owns its tables.
fn hosts_url(on: On, url: &str) -> String {
    if on == On::Sqlite { url.to_owned() } else { database_url(name_in(url)) }
}

fn name_in(url: &str) -> &str {
    url.split("@/").nth(1).and_then(|rest| rest.split('?').next()).expect("a database's name")
}

impl Drop for World {
    fn drop(&mut self) {
        if self.on != On::Sqlite {
            let _ = connect_server().batch_execute(&format!("drop database {} with (force)", self.name()));
        }
    }
}
