//! What fails in sweep after sweep is counted, and after the third costs nothing any more, until a person releases it.

mod counting;
mod poison;

use sweep::exit::Exit;
use sweep::rules::{Id, Kind};
use sweep::settings::{Selection, Settings};

use crate::program::{command_at, sweep_at};
use crate::swept::Swept;
use crate::world::{On, World, on_each_host};

const SOME_FAILED: i32 = 1;

impl World {
    /// No wake for this issue can be queued: a trigger of the host's runs this first, in PL/pgSQL; on SQLite it fails.
    fn poison_with(&mut self, issue: &Id, statements: &str) {
        self.poison_by(issue, statements, "no wakes for this one");
    }

    /// No wake for this issue can be queued: the error has these words.
    fn poison_with_words(&mut self, issue: &Id, words: &str) {
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

    fn poison(&mut self, issue: &Id) {
        self.poison_with_words(issue, "no wakes for this one");
    }

    fn heal(&mut self, issue: &Id) {
        let name = format!("poison_{}", issue.0.replace('-', ""));
        match self.on {
            On::Sqlite => self.run(&format!("drop trigger {name}")),
            On::Postgres | On::Paperclip => self.run(&format!("drop function public.{name} cascade")),
        }
    }

    /// In how many sweeps running it failed, and whether it is in quarantine.
    fn failed_sweeps(&mut self, issue: &Id) -> (i64, bool) {
        let row = format!("failures where kind = 'issue' and subject_id = '{issue}'");
        let sweeps = self.text("sweeps", &row).map_or(0, |sweeps| sweeps.parse().expect("a number"));
        (sweeps, self.text("quarantined_at", &row).is_some())
    }

    fn release(&self, issue: &Id) {
        command_at(&self.url, ["quarantine", "release", "issue", &issue.0]).run().done();
    }

    fn settings_of(&self, issue: &Id) -> Settings {
        Settings { selection: Selection::Subjects(vec![(Kind::Issue, issue.0.clone())]), ..self.settings() }
    }
}

fn assert_not_examined(swept: &Swept, issue: &Id, exit: Exit) {
    let found = (swept.outcome(issue), swept.count("issues", "in_quarantine"), swept.exit);
    assert_eq!(found, ("not examined", 1, exit), "{}", swept.json);
}

on_each_host! {
    fn what_failed_in_three_sweeps_running_is_told_and_not_examined_until_it_is_released(world) {
        let agent = world.agent("idle");
        let bad = world.orphan(&agent);
        let name = world.text("identifier", &format!("issues where id = '{bad}'")).expect("a name");
        world.poison(&bad);
        for sweeps in [1, 2] {
            let good = world.orphan(&agent);
            let swept = world.sweep();
            assert_eq!((swept.outcome(&bad), swept.outcome(&good), swept.exit), ("failed", "continued", Exit::SomeFailed));
            assert_eq!((world.failed_sweeps(&bad), swept.count("issues", "in_quarantine")), ((sweeps, false), 0));
        }

        let third = sweep_at(&world.url, []).run();

        assert_eq!(third.code, SOME_FAILED, "{third}");
        let says = format!("issue {bad} is in quarantine from now on, since it failed in too many sweeps running: ");
        assert!(third.err.lines().any(|line| line.contains(&says) && line.contains("no wakes for this one")), "{third}");
        assert_eq!(world.failed_sweeps(&bad), (3, true));
        let fourth = sweep_at(&world.url, []).run().done();
        assert!(fourth.out.contains("In quarantine: 1 issue: see sweep quarantine list"), "{fourth}");
        assert_not_examined(&world.sweep(), &bad, Exit::Done);
        assert_not_examined(&world.dry_run(), &bad, Exit::Done);
        let json = |arguments: &[&str]| command_at(&world.url, arguments.iter().copied()).run().done().json();
        let listed = &json(&["quarantine", "list", "--output", "json"])["quarantine"][0];
        assert_eq!((&listed["id"], &listed["failed_sweeps"]), (&bad.0.as_str().into(), &3.into()));
        assert_eq!(json(&["status", "--output", "json"])["quarantined"][0]["id"], bad.0);
        assert_eq!(json(&["explain", "issue", &name, "--output", "json"])["quarantined"], true);

        world.release(&bad);
        for sweeps in [1, 2, 3] {
            assert_eq!(world.sweep().outcome(&bad), "failed");
            assert_eq!(world.failed_sweeps(&bad), (sweeps, sweeps == 3));
        }
        assert_not_examined(&world.sweep(), &bad, Exit::Done);
        world.heal(&bad);
        world.release(&bad);
        let healed = world.sweep();
        assert_eq!((healed.outcome(&bad), healed.count("issues", "in_quarantine")), ("continued", 0));
        assert_eq!(world.failed_sweeps(&bad), (0, false));
    }

    fn a_subject_in_quarantine_is_examined_if_it_is_named(world) {
        let agent = world.agent("idle");
        let bad = world.orphan(&agent);
        let plan = world.dry_run();
        world.poison(&bad);
        (0..3).for_each(|_| drop(world.sweep()));
        assert_not_examined(&world.sweep(), &bad, Exit::Done);

        assert_eq!(world.sweep_as(&world.settings_of(&bad)).outcome(&bad), "failed");
        world.heal(&bad);
        let plan = sweep::report::plan::Plan::read(plan.json.to_string().as_bytes()).expect("a plan");
        let apply = Settings { selection: Selection::Plan(Box::new(plan)), ..world.settings() };
        assert_eq!(world.sweep_as(&apply).outcome(&bad), "continued");
        assert_not_examined(&world.sweep(), &bad, Exit::Done);
        assert_eq!(world.failed_sweeps(&bad), (3, true), "a person releases it, nobody else");
    }

    fn rows_that_the_host_deleted_are_in_nobodys_way(world) {
        let agent = world.agent("idle");
        let held = world.orphan(&agent);
        world.poison(&held);
        world.sweep();
        let failing = world.orphan(&agent);
        world.poison(&failing);
        (0..2).for_each(|_| drop(world.sweep()));
        assert_eq!(world.sweep_as(&world.settings_of(&failing)).outcome(&failing), "failed");
        assert_eq!((world.failed_sweeps(&held), world.failed_sweeps(&failing)), ((3, true), (2, false)));
        world.run(&format!("delete from issues where id in ('{held}', '{failing}')"));

        let swept = world.sweep();
        assert_eq!((swept.outcome(&held), swept.exit), ("not examined", Exit::Done));
        assert_eq!(swept.count("issues", "in_quarantine"), 0);

        command_at(&world.url, ["status"]).run().done();
        world.release(&held);
        assert_eq!((world.sweep().exit, world.failed_sweeps(&held)), (Exit::Done, (0, false)));
    }
}
