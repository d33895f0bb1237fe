//! Commands about subjects print what others wrote, or what an operator pasted by mistake.

use sweep::report::explain::Explanation;
use sweep::rules::{Id, Kind};
use sweep::store::Timeouts;
use sweep::store::connect::open::Url;

use super::{SHAPES, assert_hidden, loud, plant, plant_what_is_broken, shows_a_secret, url_with_secret};
use crate::support::planted::quoted;
use crate::support::program::{Program, sweep};
use crate::support::rounds::{are_all_played, rounds};
use crate::support::world::{On, World, on_each_database};

/// Runs commands, and keeps what they print, which may hold no secret.
struct Listener {
    url: String,
    all: String,
}

impl Listener {
    fn on(world: &World) -> Listener {
        Listener { url: url_with_secret(world), all: String::new() }
    }

    fn hear(&mut self, program: Program, what: &str) -> String {
        let ran = loud(program.env("DATABASE_URL", &self.url), "text");
        assert_hidden(&ran, what);
        assert!([0, 1].contains(&ran.code), "{what}: {ran}");
        self.all += &(ran.out.clone() + &ran.err);
        ran.out
    }

    fn run(&mut self, words: &[&str]) -> String {
        self.hear(sweep(words.iter().copied()), &format!("{words:?}"))
    }

    /// Runs a command twice, for a table and for JSON.
    fn see(&mut self, words: &[&str]) {
        self.run(words);
        self.run(&[words, &["--output", "json"]].concat());
    }

    /// Exempts and explains the subjects with this shape. Each command meets several shapes, and in the long round all
    /// of them. The lists show all shapes at once; a session's output is shown by its explanation alone, which is read
    /// for each shape.
    fn run_about(&mut self, world: &mut World, n: usize, reason: &str) {
        let mut first = |from: &str| ids(world, from).remove(0).0;
        let issue = first(&format!("issues where waiting_for like 'in-wait-{n},%'"));
        let plan = first(&format!("plans where agent_id is not null and title like 'in-plan-{n},%'"));
        let step = first(&format!("plan_steps where plan_id = '{plan}'"));
        let session = first(&format!("sessions where identifier like 'in-session-{n},%'"));
        let failed =
            first(&format!("issues where id in (select subject_id from failures where reason like '%in-error-{n},%')"));
        let name = world.text("identifier", &format!("issues where id = '{issue}'")).expect("one");
        let exempt = if n.is_multiple_of(2) { ["issue", &issue] } else { ["step", &step] };
        let until = ["--reason", reason, "--until", "2d"];
        if n.is_multiple_of(3) || are_all_played() {
            self.run(&[&["exempt", "add"], &exempt[..], &until[..2]].concat());
            self.run(&[&["exempt", "add"], &exempt[..], &until].concat());
        } else {
            let reason = quoted(reason);
            world.run(&format!(
                "insert into exemptions (kind, subject_id, reason) values ('issue', '{issue}', {reason})"
            ));
        }
        let words: [&[&str]; 8] = [
            &["explain", "issue", &issue],
            &["explain", "issue", &name],
            &["explain", "step", &step],
            &["explain", "session", &session],
            &["explain", "issue", &failed],
            &["status", "--plan", &plan],
            &["status", "--only", "sessions"],
            &["status", "--only", "steps"],
        ];
        for (place, words) in words.iter().enumerate() {
            if are_all_played() {
                self.see(words);
            } else if place == n % words.len() {
                let output = ["table", "json"][n / words.len() % 2];
                self.run(&[words, &["--output", output][..]].concat());
            }
        }

        let url = Url::parse(&world.url).expect("a URL");
        let subject = (Some(Kind::Session), session.as_str());
        let explained =
            Explanation::read(&url, subject, Option::unwrap_or_default, None, &Timeouts::default()).expect("a session");
        let shown = format!("{}{}", explained.table(), explained.json());
        assert!(!shows_a_secret(&shown), "{shown}");
        self.all += &shown;
    }

    fn apply(&mut self, plan: &str) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), plan).expect("a plan");
        for output in ["table", "json", "ndjson"] {
            let words = ["--apply", "-", "--output", output];
            self.hear(sweep(words).with_stdin(file.path()), &format!("{words:?}"));
        }
    }
}

fn ids(world: &mut World, from: &str) -> Vec<Id> {
    let list = if world.on == On::Sqlite { "group_concat(id, '\n')" } else { "string_agg(id::text, E'\\n')" };
    world.text(list, from).unwrap_or_default().lines().map(|id| Id(id.to_owned())).collect()
}

on_each_database! {
    fn no_command_about_subjects_shows_a_secret(world) {
        let mut listener = Listener::on(world);
        for (n, shape) in SHAPES.into_iter().enumerate() {
            plant(world, n, shape);
        }
        let plan = listener.run(&["--dry-run", "--output", "json"]);
        listener.apply(&plan);
        for _ in 0..3 {
            // As many subjects do not fail, or no failure would count.
            let agent = world.agent("idle");
            SHAPES.iter().for_each(|_| drop(world.orphan(&agent)));
            listener.run(&[]);
        }
        world.end_continuations("failed");
        world.pass(10);
        listener.run(&[]);
        for (n, shape) in SHAPES.into_iter().enumerate() {
            listener.run_about(world, n, &format!("in-reason-{n}, {shape}"));
        }
        for list in ["exempt", "quarantine"] {
            listener.see(&[list, "list"]);
        }
        listener.see(&["status"]);
        listener.see(&["--dry-run"]);
        let held = ids(world, "issues where id in (select subject_id from failures where quarantined_at is not null)");
        assert_eq!(held.len(), SHAPES.len());
        assert_eq!(world.count("failures where lower(reason) like '%hunter2%'"), 0, "nor is it kept");
        for issue in rounds(&held) {
            listener.run(&["quarantine", "release", "issue", &issue.0]);
        }
        let exempt = ids(world, "issues where id in (select subject_id from exemptions where kind = 'issue')");
        for issue in rounds(&exempt) {
            listener.run(&["exempt", "remove", "issue", &issue.0]);
        }

        for (n, shape) in SHAPES.into_iter().enumerate() {
            for place in
                ["in-identifier", "in-wait", "in-agent", "in-plan", "in-session", "in-output", "in-error", "in-reason"]
            {
                let lantern = format!("{place}-{n},");
                assert!(listener.all.contains(&lantern), "{lantern} is not to be seen before {shape}");
            }
        }
    }

    /// The ids are secrets as well: on SQLite an id may be any text.
    fn what_is_broken_is_explained_listed_and_released_without_what_it_holds(world) {
        let mut listener = Listener::on(world);
        plant_what_is_broken(world);
        (0..3).for_each(|_| drop(listener.run(&[])));
        let broken = ids(world, "issues");
        for Id(id) in &broken {
            listener.see(&["explain", "issue", id]);
            listener.run(&["exempt", "add", "issue", id, "--reason", "password=hunter2"]);
        }
        for n in [0, 1] {
            let (plan, step) = world.stalled_step(None);
            world.set("plans", &plan, "title = 'twice, token: hunter2'");
            if world.on == On::Sqlite {
                world.set("plan_steps", &step, &format!("id = 'ghp_{n}hunter2hunter2hunter2'"));
            }
        }
        let twice = sweep(["explain", "step", "twice, token: hunter2 #1"]).env("DATABASE_URL", &listener.url);
        let ran = loud(twice, "text");
        assert_hidden(&ran, "two of one name");
        assert!(ran.err.contains("more than one step is called twice, token: ***"), "{ran}");
        let kept = "insert into failures (kind, subject_id, sweeps, reason, quarantined_at)
                    select 'issue', id, 3, 'hunted', updated_at from issues
                    where id not in (select subject_id from failures) and updated_at not like '%hunter2%'";
        if world.on == On::Sqlite {
            world.run(kept);
        }
        for list in ["exempt", "quarantine"] {
            listener.see(&[list, "list"]);
        }
        listener.see(&["status"]);
        listener.see(&["--dry-run"]);
        for Id(id) in &broken {
            listener.run(&["exempt", "remove", "issue", id]);
        }
        for Id(id) in ids(world, "issues where id in (select subject_id from failures where quarantined_at is not \
            null)") {
            listener.run(&["quarantine", "release", "issue", &id]);
        }
    }
}
