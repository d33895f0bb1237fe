//! Rows of the ledger at a certain time, and the upkeep of them.

use chrono::{DateTime, SecondsFormat, Utc};
use sweep::rules::Id;

use crate::support::world::{On, World};

impl World {
    /// Lets the next sweep do all of the upkeep.
    pub fn let_upkeep_be_due(&mut self) {
        let then = self.ago(1);
        self.run(&format!("update upkeep set due_at = {then}"));
    }

    /// A row of the ledger at a moment.
    pub fn recorded_at(&mut self, subject: &Id, action: &str, at: DateTime<Utc>, by: &str) {
        let (id, at) = (Id::generate(), at.to_rfc3339_opts(SecondsFormat::Millis, true));
        self.run(&format!(
            "insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, \
                requested_by, wake_id, created_at, settled_at)
             values ('{id}', '{id}', 'issue', '{subject}', '{action}', 'x', '{at}', 1, {by}, '{id}', '{at}', '{at}')"
        ));
    }

    /// Records so many recoveries, one a second, the latest of them two days ago; and as many again at one moment.
    pub fn long_ledger(&mut self, rows: u32) {
        let subject = self.agent("idle");
        let (id, at) = match self.on {
            On::Sqlite => (
                "printf('00000000-0000-4000-8000-%012d', n + k * 1000000)",
                "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-2 days', (k * -n) || ' seconds')",
            ),
            On::Postgres | On::Paperclip => {
                ("md5((n + k * 1000000)::text)::uuid", "now() - interval '2 days' - k * n * interval '1 second'")
            }
        };
        self.run(&format!(
            "with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < {rows})
             insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, \
                created_at, settled_at)
             select {id}, {id}, 'issue', '{subject}', 'recover', 'x', {at}, 1, {at}, {at}
             from numbers cross join (select 0 as k union all select 1) ks"
        ));
    }

    pub fn summed(&mut self) -> i64 {
        let sum = self.text("coalesce(sum(recorded), 0)", "ledger_days").expect("a sum");
        sum.parse().expect("a number")
    }
}
