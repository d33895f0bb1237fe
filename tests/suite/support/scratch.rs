//! Databases without sweep, roles, and files; each is dropped with its test.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use diesel::connection::SimpleConnection;
use sweep::rules::Id;
use sweep::store::Db;
use sweep::store::connect::snapshot;
use tempfile::TempDir;

use crate::support::databases::{
    clone_of, connect, connect_server, database_url, load, new_database, paperclip_schema, run,
};

/// A PostgreSQL database without sweep.
pub struct Scratch {
    pub url: String,
    name: String,
}

impl Scratch {
    pub fn empty() -> Scratch {
        let name = format!("sweep_test_scratch_{}", unique());
        new_database(&name);
        Scratch::at(database_url(&name))
    }

    /// A database with Paperclip's own schema, and nothing else.
    pub fn paperclip() -> Scratch {
        static TEMPLATE: OnceLock<()> = OnceLock::new();
        const NAME: &str = "sweep_template_bare";
        TEMPLATE.get_or_init(|| {
            new_database(NAME);
            load(NAME, &paperclip_schema());
        });
        Scratch::at(clone_of(NAME))
    }

    fn at(url: String) -> Scratch {
        let name = url.split("@/").nth(1).and_then(|rest| rest.split('?').next());
        let name = name.expect("a database's name").to_owned();
        Scratch { url, name }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn connect(&self) -> Db {
        connect(&self.url)
    }

    pub fn run(&self, sql: &str) {
        run(&mut self.connect(), sql);
    }

    /// All objects in the database: see `catalog`.
    pub fn catalog(&self) -> BTreeSet<String> {
        catalog(&mut self.connect())
    }

    pub fn catalog_of_host(&self) -> BTreeSet<String> {
        let mut catalog = self.catalog();
        catalog.retain(|line| !line.starts_with("sweep"));
        catalog
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = connect_server().batch_execute(&format!("drop database {} with (force)", self.name));
    }
}

/// A name that no other test has.
pub fn unique() -> String {
    Id::generate().0.replace('-', "")
}

/// All objects that a migration can make: see `snapshot::catalog`.
pub fn catalog(db: &mut Db) -> BTreeSet<String> {
    snapshot::catalog(db).expect("a catalog")
}

/// A login role without any rights. It must outlive the databases in which it is given some.
pub struct Role {
    pub name: String,
}

impl Role {
    pub fn new() -> Role {
        let name = format!("sweep_role_{}", unique());
        run(&mut connect_server(), &format!("create role {name} login password 'secret'"));
        Role { name }
    }

    /// The URL of a database with this role's name and password.
    pub fn at(&self, url: &str) -> String {
        format!("{url}&user={}&password=secret", self.name)
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        let _ = connect_server().batch_execute(&format!("drop role {}", self.name));
    }
}

/// SQL that lets a role call the functions whose comments say that views or sweeps call them.
pub fn grant_calls(role: &str) -> String {
    format!(
        "do $$ declare called regprocedure; begin
             for called in select oid from pg_proc
                 where pronamespace = 'sweep'::regnamespace and obj_description(oid, 'pg_proc') like 'called by %' loop
                 execute format('grant execute on routine %s to {role}', called);
             end loop;
         end $$"
    )
}

/// Gives a database, and all that stands in its schema `public`, to a role that may create databases and is no
/// superuser. Returns the URL with that role. A file stays as it is.
pub fn hand_over(url: &str) -> String {
    if url.starts_with("sqlite:") {
        return url.to_owned();
    }
    run(&mut connect(url), include_str!("../../hand-over.sql"));
    format!("{url}&user=sweep_test_host&password=secret")
}

/// Runs SQL by psql, as an operator would, and returns its output or its errors.
pub fn psql(url: &str, sql: &str) -> Result<String, String> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(sql.as_bytes()).expect("a file");
    let psql = Command::new("psql").args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-f"]).arg(file.path()).arg(url).output();
    let psql = psql.expect("psql");
    match psql.status.success() {
        true => Ok(String::from_utf8_lossy(&psql.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&psql.stderr).into_owned()),
    }
}

/// An empty file for SQLite, its path and its URL.
pub fn new_file() -> (TempDir, PathBuf, String) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("new.db");
    std::fs::write(&path, "").expect("a file");
    let url = url_of(&path);
    (directory, path, url)
}

pub fn url_of(path: &Path) -> String {
    format!("sqlite://{}", path.display())
}
