//! A small control plane in a database of its own, on each host, for one test.
//!
//! Time is moved by writing old rows, never by sleeping.

use diesel::connection::SimpleConnection;
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel::{QueryableByName, RunQueryDsl};
use sweep::rules::Id;
use sweep::store::migrate::{Wanted, migrate};
use sweep::store::open::Url;
use sweep::store::{Access, Db, DbConnection};

use crate::databases::{as_swept, clone_of, connect, connect_as_sweep, connect_server, database_url, run, template};

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
    /// Paperclip: everything belongs to one.
    pub company: Id,
    _directory: Option<tempfile::TempDir>,
}

/// Runs each test once for each database that sweep brings a control plane for.
macro_rules! on_each_database {
    ($($(#[doc = $doc:literal])* fn $name:ident($world:ident) $body:block)+) => {
        $($(#[doc = $doc])* fn $name($world: &mut $crate::world::World) $body)+
        mod postgres { $(#[test] fn $name() { super::$name(&mut $crate::world::World::new($crate::world::On::Postgres)) })+ }
        mod sqlite { $(#[test] fn $name() { super::$name(&mut $crate::world::World::new($crate::world::On::Sqlite)) })+ }
    };
}
/// The same, and once for the real Paperclip schema.
macro_rules! on_each_host {
    ($($(#[doc = $doc:literal])* fn $name:ident($world:ident) $body:block)+) => {
        $crate::world::on_each_database! { $($(#[doc = $doc])* fn $name($world) $body)+ }
        mod paperclip { $(#[test] fn $name() { super::$name(&mut $crate::world::World::new($crate::world::On::Paperclip)) })+ }
    };
}
pub(crate) use {on_each_database, on_each_host};

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
        let (url, directory) = match on {
            On::Postgres | On::Paperclip => (as_swept(&clone_of(template(on))), None),
            On::Sqlite => {
                let directory = tempfile::tempdir().expect("a temporary directory");
                let url = format!("sqlite://{}", directory.path().join("test.db").display());
                let parsed = Url::parse(&url).expect("a URL");
                parsed.create().expect("a file");
                migrate(&mut parsed.connect(Access::Write).expect("a connection"), Wanted::default())
                    .expect("migrations");
                (url, Some(directory))
            }
        };
        World::at(on, url, directory)
    }

    /// Over a database that is migrated and empty.
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

    /// The database's name.
    pub fn name(&self) -> &str {
        name_in(&self.url)
    }

    /// Another connection of the host.
    pub fn connect(&self) -> Db {
        connect(&hosts_url(self.on, &self.url))
    }

    /// A connection like those of a sweep.
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
        let sql = format!("select cast({expression} as text) as value from {from}");
        let mut rows: Vec<Answer> =
            diesel::sql_query(&sql).load(&mut self.db).unwrap_or_else(|error| panic!("{error}: {sql}"));
        assert!(rows.len() <= 1, "{} rows: {sql}", rows.len());
        rows.pop().and_then(|row| row.value)
    }

    /// SQL for a time in the past; negative: in the future.
    pub fn ago(&self, minutes: i64) -> String {
        match self.on {
            On::Sqlite => format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '{} minutes')", -minutes),
            On::Postgres | On::Paperclip => format!("(now() - {minutes} * interval '1 minute')"),
        }
    }

    pub fn agent(&mut self, status: &str) -> Id {
        let id = Id::generate();
        match self.on {
            On::Paperclip => {
                let company = self.company.clone();
                self.run(&format!(
                    "insert into agents (id, company_id, name, status) values ('{id}', '{company}', 'Ada', '{status}')"
                ));
            }
            On::Postgres | On::Sqlite => {
                self.run(&format!("insert into agents (id, name, status) values ('{id}', 'Ada', '{status}')"));
            }
        }
        id
    }

    /// An issue in progress that its agent has left for an hour: an orphan, unless told otherwise by `set`.
    pub fn orphan(&mut self, agent: &Id) -> Id {
        let id = Id::generate();
        let (hour, identifier) = (self.ago(60), format!("T-{}", &id.0[24..]));
        let (column, value) = match self.on {
            On::Paperclip => (", company_id", format!(", '{}'", self.company)),
            On::Postgres | On::Sqlite => ("", String::new()),
        };
        self.run(&format!(
            "insert into issues (id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at{column})
             values ('{id}', '{identifier}', 'Mend the fence', 'in_progress', '{agent}', {hour}, {hour}, {hour}{value})"
        ));
        id
    }

    /// Changes one row: `set("issues", &id, "status = 'done'")`.
    pub fn set(&mut self, table: &str, id: &Id, assignment: &str) {
        self.run(&format!("update {table} set {assignment} where id = '{id}'"));
    }

    /// A run of an issue that began `minutes` ago.
    pub fn issue_run(&mut self, issue: &Id, agent: &Id, status: &str, minutes: i64) -> Id {
        let (id, at) = (Id::generate(), self.ago(minutes));
        let sql = match self.on {
            On::Paperclip => format!(
                "insert into heartbeat_runs (id, company_id, agent_id, status, context_snapshot, created_at)
                 values ('{id}', '{}', '{agent}', '{status}', '{{\"issueId\": \"{issue}\"}}', {at})",
                self.company
            ),
            On::Postgres | On::Sqlite => format!(
                "insert into runs (id, agent_id, issue_id, status, created_at)
                 values ('{id}', '{agent}', '{issue}', '{status}', {at})"
            ),
        };
        self.run(&sql);
        id
    }

    /// A wake for an issue that the host queued `minutes` ago.
    pub fn issue_wake(&mut self, issue: &Id, agent: &Id, status: &str, minutes: i64) -> Id {
        let (id, at) = (Id::generate(), self.ago(minutes));
        let sql = match self.on {
            On::Paperclip => format!(
                "insert into agent_wakeup_requests (id, company_id, agent_id, source, status, payload, created_at)
                 values ('{id}', '{}', '{agent}', 'assignment', '{status}', '{{\"issueId\": \"{issue}\"}}', {at})",
                self.company
            ),
            On::Postgres | On::Sqlite => format!(
                "insert into wakes (id, agent_id, issue_id, reason, requested_by, status, created_at)
                 values ('{id}', '{agent}', '{issue}', 'assigned', 'host', '{status}', {at})"
            ),
        };
        self.run(&sql);
        id
    }

    /// A plan with one step in progress for two hours, stalled unless told otherwise: `(plan, step)`.
    pub fn stalled_step(&mut self, agent: Option<&Id>) -> (Id, Id) {
        let (plan, step, began) = (Id::generate(), Id::generate(), self.ago(120));
        let agent = agent.map_or("null".to_owned(), |id| format!("'{id}'"));
        self.run(&format!(
            "insert into plans (id, title, status, agent_id) values ('{plan}', 'Launch', 'executing', {agent})"
        ));
        self.run(&format!(
            "insert into plan_steps (id, plan_id, position, title, status, started_at, updated_at)
             values ('{step}', '{plan}', 1, 'Pack', 'in_progress', {began}, {began})"
        ));
        (plan, step)
    }

    /// Wakes that sweep queued for a subject, whatever became of them.
    pub fn wakes_for(&mut self, id: &Id) -> i64 {
        match self.on {
            On::Paperclip => self.count(&format!(
                "agent_wakeup_requests where requested_by_actor_id = 'sweep' and payload ->> 'issueId' = '{id}'"
            )),
            On::Postgres | On::Sqlite => self
                .count(&format!("wakes where requested_by = 'sweep' and (issue_id = '{id}' or plan_step_id = '{id}')")),
        }
    }

    pub fn comments_on(&mut self, issue: &Id) -> i64 {
        let table = if self.on == On::Paperclip { "issue_comments" } else { "comments" };
        self.count(&format!("{table} where issue_id = '{issue}'"))
    }

    pub fn status(&mut self, table: &str, id: &Id) -> String {
        self.text("status", &format!("{table} where id = '{id}'")).expect("a status")
    }
}

/// Without the role that sweeps: a host owns its tables.
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
