//! Subjects for which no wake can be queued, and sweep's count of their failures.

use sweep::rules::Id;

use crate::support::world::{On, World};

impl World {
    pub fn poison(&mut self, issue: &Id) {
        self.poison_with_words(issue, "no wakes for this one");
    }

    /// Keeps wakes for this issue from being queued: a trigger of the host's runs this PL/pgSQL first; on SQLite it
    /// fails.
    pub fn poison_with(&mut self, issue: &Id, statements: &str) {
        self.poison_by(issue, statements, "no wakes for this one");
    }

    /// Keeps wakes for this issue from being queued, with an error of these words.
    pub fn poison_with_words(&mut self, issue: &Id, words: &str) {
        self.poison_by(issue, &format!("raise exception '{words}'"), words);
    }

    fn poison_by(&mut self, issue: &Id, statements: &str, words: &str) {
        let (table, of_issue) = match self.on {
            On::Paperclip => ("public.agent_wakeup_requests", "new.payload ->> 'issueId'"),
            On::Postgres => ("sweep.wakes", "new.issue_id::text"),
            On::Sqlite => ("wakes", "new.issue_id"),
        };
        let name = format!("poison_{}", issue.0.replace('-', ""));
        self.run(&match self.on {
            On::Sqlite => format!(
                "create trigger {name} before insert on {table} when {of_issue} = '{issue}'
                 begin select raise(abort, '{words}'); end"
            ),
            On::Postgres | On::Paperclip => format!(
                "create function public.{name}() returns trigger language plpgsql as
                     $$ begin {statements}; return new; end $$;
                 create trigger {name} before insert on {table} for each row when ({of_issue} = '{issue}')
                     execute function public.{name}()"
            ),
        });
    }

    pub fn heal(&mut self, issue: &Id) {
        let name = format!("poison_{}", issue.0.replace('-', ""));
        match self.on {
            On::Sqlite => self.run(&format!("drop trigger {name}")),
            On::Postgres | On::Paperclip => self.run(&format!("drop function public.{name} cascade")),
        }
    }

    /// In how many sweeps in a row an issue failed, and whether it is in quarantine.
    pub fn failed_sweeps(&mut self, issue: &Id) -> (i64, bool) {
        let row = format!("failures where kind = 'issue' and subject_id = '{issue}'");
        let sweeps = self.text("sweeps", &row).map_or(0, |sweeps| sweeps.parse().expect("a number"));
        (sweeps, self.text("quarantined_at", &row).is_some())
    }
}
