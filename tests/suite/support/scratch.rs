//! Databases that no sweep has seen yet, roles, and servers; each is gone with its test.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use diesel::RunQueryDsl;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::sql_types::Text;
use sweep::rules::Id;
use sweep::store::Db;
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
        Scratch::of(database_url(&name))
    }

    /// Paperclip's own schema, and nothing else.
    pub fn paperclip() -> Scratch {
        static TEMPLATE: OnceLock<()> = OnceLock::new();
        const NAME: &str = "sweep_template_bare";
        TEMPLATE.get_or_init(|| {
            new_database(NAME);
            load(NAME, &paperclip_schema());
        });
        Scratch::of(clone_of(NAME))
    }

    fn of(url: String) -> Scratch {
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

    /// What there is in it: see `catalog`.
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

/// Everything that a migration can make, one line each, its schema first; on SQLite the schema is empty.
pub fn catalog(db: &mut Db) -> BTreeSet<String> {
    const OF_POSTGRES: &str = "
        with line (namespace, text) as (
            select oid, 'exists' from pg_namespace
            union all
            select relnamespace, relkind::text || ' ' || relname || ' ' || coalesce(pg_get_viewdef(oid), '') || \
            coalesce(relacl::text, '')
            from pg_class where relkind in ('r', 'v', 'm', 'S', 'p')
            union all
            select relnamespace, relname || '.' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || \
            attnotnull::text || ' ' ||
                coalesce((select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = attrelid and adnum = \
                attnum), '')
            from pg_attribute join pg_class c on c.oid = attrelid where attnum > 0 and not attisdropped and relkind in \
            ('r', 'p')
            union all
            select relnamespace, pg_get_indexdef(oid) from pg_class where relkind = 'i'
            union all
            select connamespace, conrelid::regclass::text || ' ' || conname || ' ' || pg_get_constraintdef(oid) from \
            pg_constraint
            union all
            select relnamespace, pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = tgrelid where \
            not tgisinternal
            union all
            select pronamespace, oid::regprocedure::text || md5(prosrc) || prosecdef::text || coalesce(proacl::text, \
            '') from pg_proc
            union all
            select typnamespace, 'type ' || typname from pg_type where typrelid = 0 and typelem = 0
        )
        select nspname || ' ' || text from line join pg_namespace n on n.oid = namespace
        where nspname <> 'information_schema' and nspname not like 'pg\\_%'";
    const OF_SQLITE: &str = "select ' ' || type || ' ' || name || ' ' || coalesce(sql, '') from sqlite_master";
    let lines: Vec<String> = match db {
        Db::Postgres(db) => sql::<Text>(OF_POSTGRES).load(db),
        Db::Sqlite(db) => sql::<Text>(OF_SQLITE).load(db),
    }
    .expect("a catalog");
    lines.into_iter().collect()
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

/// Runs SQL by psql, as an operator would; what it prints, or its errors.
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

/// A file for an embedded database, empty, and its directory.
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
