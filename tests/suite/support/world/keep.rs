//! Rows of sweep's own that are old, and the removal of those that are over.

use std::collections::BTreeSet;

use sweep::rules::{After, Id};
use sweep::store::work::upkeep::{UpkeepTask, step};
use sweep::store::{Access, Timeouts};

use crate::support::world::{On, World};

const DAY: i64 = 24 * 60;

impl World {
    /// A row of the ledger so many days ago; an open one is not settled.
    pub fn old_row(&mut self, kind: &str, subject: &Id, action: &str, days: i64, open: bool) -> Id {
        let (id, at) = (Id::generate(), self.ago(days * DAY));
        let settled = if open { "null" } else { &at };
        self.run(&format!(
            "insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, \
                created_at, settled_at)
             values ('{id}', '{id}', '{kind}', '{subject}', '{action}', 'x', {at}, 1, {at}, {settled})"
        ));
        id
    }

    pub fn notified(&mut self, event: &str, subject: Option<&Id>, days: i64, delivered: bool) -> Id {
        let (id, at) = (Id::generate(), self.ago(days * DAY));
        let delivered = if delivered { &at } else { "null" };
        let subject = subject.map_or("null".to_owned(), |subject| format!("'{subject}'"));
        self.run(&format!(
            "insert into notifications (id, destination, event, kind, subject_id, sweep_id, details, created_at, \
                delivered_at)
             values ('{id}', 'slack', '{event}', 'issue', {subject}, '{id}', '{{}}', {at}, {delivered})"
        ));
        id
    }

    /// A sweep of everything that began so many minutes ago.
    pub fn began(&mut self, minutes: i64, idle: bool) {
        let yes = |truth: bool| if truth { "true" } else { "false" };
        self.swept(minutes, (0, 1), "succeeded, idle", &format!("{}, {}", yes(true), yes(idle)));
    }

    pub fn ids(&mut self, table: &str) -> BTreeSet<String> {
        self.texts("id", table).into_iter().flatten().collect()
    }

    /// Sums the ledger, and removes all that is over.
    pub fn remove(&self, keep: After) {
        let mut db = self.connect_as_sweep();
        for task in UpkeepTask::ALL {
            let mut next = || db.in_transaction(Access::Write, &Timeouts::default(), |db| step(db, *task, keep));
            while next().expect("a step") {}
        }
    }

    /// What the facts say of the past of each issue in progress, but for the moment at which they were read.
    pub fn pasts(&mut self) -> Vec<Option<String>> {
        let facts = "subject_id || ' ' || coalesce(attempts, -1) || ' ' || attempts_last_day || ' ' || \
            escalations_last_day || ' ' || coalesce(cast(episode_began_at as text), '') || ' ' || \
            coalesce(cast(last_attempt_at as text), '') || ' ' || escalated";
        self.texts(facts, "issue_facts where subject_id in (select subject_id from issue_subjects) order by subject_id")
    }

    /// Refuses each deletion from a table that is not sweep's own.
    pub fn guard_the_hosts_tables(&mut self) {
        const OWN: &str = "'recoveries', 'sweeps', 'notifications'";
        if self.on != On::Sqlite {
            return self.run(&format!(
                "do $guard$ declare one regclass; begin
                    create function refuse_deletion() returns trigger language plpgsql as
                        'begin raise exception ''a row of % is deleted'', tg_table_name; end';
                    for one in select c.oid from pg_class c where relkind in ('r', 'p') and not relispartition
                        and relnamespace in ('public'::regnamespace, 'sweep'::regnamespace)
                        and not (relnamespace = 'sweep'::regnamespace and relname in ({OWN})) loop
                        execute format('create trigger no_deletion before delete on %s
                            for each row execute function refuse_deletion()', one);
                    end loop;
                end $guard$"
            ));
        }
        for table in self.texts("name", &format!("sqlite_master where type = 'table' and name not in ({OWN})")) {
            let table = table.expect("a name");
            self.run(&format!(
                "create trigger \"no deletion from {table}\" before delete on \"{table}\" begin
                    select raise(abort, 'a row is deleted'); end"
            ));
        }
    }
}
