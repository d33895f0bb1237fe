//! The rows that sweeps have written, and the status that shows them.

use serde::Serialize;
use serde_json::Value;
use sweep::report::explain::Explanation;
use sweep::rules::{Id, Kind};
use sweep::store::Timeouts;
use sweep::store::connect::databases::Found;
use sweep::store::connect::open::Url;
use sweep::store::read::overview::{Attention, Overview, OverviewPart, OverviewRequest, PageRequest, Scope, Status};

use crate::support::json;
use crate::support::world::{On, World};

impl World {
    /// Counts the wakes that sweep queued for a subject, whatever became of them.
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

    /// Counts all rows that sweeps write, except their own.
    pub fn written(&mut self) -> i64 {
        let wakes = match self.on {
            On::Paperclip => "agent_wakeup_requests where requested_by_actor_id = 'sweep'",
            On::Postgres | On::Sqlite => "wakes where requested_by = 'sweep'",
        };
        let comments = if self.on == On::Paperclip { "issue_comments" } else { "comments" };
        [wakes, comments, "recoveries"].map(|table| self.count(table)).iter().sum()
    }

    /// Counts the rows of each table that sweeps write.
    pub fn rows_written(&mut self) -> [i64; 4] {
        let [wakes, comments, log] = match self.on {
            On::Paperclip => ["agent_wakeup_requests", "issue_comments", "activity_log"],
            On::Postgres | On::Sqlite => ["wakes", "comments", "activity"],
        };
        [self.count(wakes), self.count(comments), self.count(log), self.count("recoveries")]
    }

    /// A whole row, as text.
    pub fn row(&mut self, table: &str, id: &Id) -> String {
        self.text("r::text", &format!("{table} r where id = '{id}'")).expect("a row")
    }

    /// The counts of a kind in the latest sweep's row.
    pub fn recorded(&mut self, kind: &str) -> Value {
        let counts = self.text("counts", "(select counts from sweeps order by started_at desc limit 1) latest");
        json::parse_valid(&counts.expect("counts"))[kind].take()
    }

    /// The issues whose agents sweep has woken.
    pub fn continued(&mut self) -> Vec<Id> {
        let ids = self.texts("subject_id", "recoveries where action = 'continue' order by subject_id");
        ids.into_iter().flatten().map(Id).collect()
    }

    /// Inserts the row of a sweep that ended so many minutes ago, as `(shard, shards)`, with further columns.
    pub fn swept(&mut self, minutes: i64, (shard, shards): (u32, u32), columns: &str, values: &str) {
        let (id, began, ended) = (Id::generate(), self.ago(minutes + 1), self.ago(minutes));
        self.run(&format!(
            "insert into sweeps (id, host, version, started_at, finished_at, shard, shards, ended, {columns})
             values ('{id}', 'x', '0', {began}, {ended}, {shard}, {shards}, 'completed', {values})"
        ));
    }

    fn overview<P: OverviewPart + Serialize>(&self, scope: &Scope, page: &PageRequest) -> Value {
        let database = Found::alone(Url::parse(&self.url).expect("a URL"));
        let request = OverviewRequest { scope: scope.clone(), page: page.clone(), ..OverviewRequest::default() };
        let read: Overview<P> =
            Overview::read_from(&database, &request, &Timeouts::default()).unwrap_or_else(|error| panic!("{error:#}"));
        serde_json::json!(read)
    }

    pub fn status_document(&self) -> Value {
        self.status_document_of(None)
    }

    /// The status of a tenant's work, whatever times its rows hold.
    pub fn status_document_of(&self, tenant: Option<&str>) -> Value {
        let scope = Scope { tenant: tenant.map(str::to_owned), agent: None };
        self.overview::<Status>(&scope, &PageRequest::default())
    }

    /// The explanation of a subject, held to its schema.
    pub fn explained(&self, kind: Kind, name: &str) -> Value {
        let url = Url::parse(&self.url).expect("a URL");
        let explained =
            Explanation::read(&url, (Some(kind), name), Option::unwrap_or_default, None, &Timeouts::default());
        json::parse_valid(&explained.unwrap_or_else(|error| panic!("{error:#}")).json().to_string())
    }

    pub fn attention(&self) -> Value {
        self.attention_of(&Scope::default(), &PageRequest::default())
    }

    /// One page of what needs a person in a scope, held to its schema.
    pub fn attention_of(&self, scope: &Scope, page: &PageRequest) -> Value {
        json::parse_valid(&self.overview::<Attention>(scope, page).to_string())
    }
}
