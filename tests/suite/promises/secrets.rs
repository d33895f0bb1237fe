//! P15: secrets that are planted in the URL, in rows and in errors of the driver appear in no output of any command at
//! any log level.
//!
//! Beside each secret stands a lantern, which must be seen, or the test would have looked at nothing.

mod commands;
mod urls;

use crate::support::planted::{LISTS, SWEEPS, plant, planted_issue};
use crate::support::program::{Program, Ran, sweep};
use crate::support::world::{On, World, on_each_database};

/// The secret in each planted text.
const SECRET: &str = "hunter2";

/// The commands that read a database, once for each form of their output.
fn commands() -> Vec<&'static [&'static str]> {
    let sweeps_again: &[&[&str]] =
        &[&["--output", "ndjson", "--detailed-exitcode"], &["--set", "escalation=comment_only", "--only", "steps"]];
    [&[&["--help"][..]], SWEEPS, sweeps_again, LISTS, &[&["migrate"], &["migrate", "--print"], &["demo"]]].concat()
}

/// Texts that look like credentials.
const SHAPES: [&str; 20] = [
    "password=hunter2 and more",
    "db_password: hunter2",
    "passwd='hunter2 and more'",
    "SECRET_KEY=hunter2",
    "{\"apiKey\": \"hunter2\"}",
    "{\\\"token\\\":\\\"hunter2\\\"}",
    "private_key => hunter2",
    "credentials: hunter2",
    "Authorization: Bearer hunter2",
    "with Bearer hunter2hunter2",
    "with Basic aHVudGVyMg==hunter2",
    "https://bot:hunter2@git.example/x",
    "https://hunter2@git.example/x",
    "sk-proj-hunter2hunter2",
    "ghp_hunter2hunter2hunter2",
    "xoxb-hunter2-hunter2",
    "AKIAHUNTER2HUNTER2",
    "eyJhbGciOiJIUzI1NiJ9.eyJodW50ZXIyIjoxfQ.hunter2",
    "https://hooks.slack.com/services/T0/B0/hunter2",
    "-----BEGIN EC PRIVATE KEY-----\nhunter2\n-----END EC PRIVATE KEY-----",
];

/// The places of lanterns.
const LANTERNS: [&str; 6] = ["in-identifier", "in-wait", "in-agent", "in-plan", "in-tenant", "in-error"];

fn shows_a_secret(text: &str) -> bool {
    text.to_lowercase().contains(SECRET)
}

/// Checks that the output of a run shows no secret.
#[track_caller]
fn assert_hidden(ran: &Ran, what: &str) {
    let lines = ran.out.lines().chain(ran.err.lines());
    let shown: Vec<&str> = lines.filter(|line| shows_a_secret(line)).collect();
    assert!(shown.is_empty(), "{what}: {shown:#?}");
}

/// Runs a program at the most talkative log level.
fn loud(program: Program, format: &str) -> Ran {
    program.env("SWEEP_LOG", "trace").env("SWEEP_LOG_FORMAT", format).run()
}

/// Plants rows that cannot be read, with an id of their own, and a key that is taken: with a secret that looks like
/// nothing.
fn plant_what_is_broken(world: &mut World) {
    let agent = world.agent("idle");
    match world.on {
        On::Sqlite => {
            for (n, secret) in ["hunter2-supersecret", "2026-11-21T09:30:00.hunter2", "hunter2hunter2hunter2hunter"]
                .into_iter()
                .enumerate()
            {
                world.run("pragma ignore_check_constraints = on");
                let (unread, odd) = (planted_issue(world, &agent, n, "broken"), planted_issue(world, &agent, n, "odd"));
                world.set("issues", &unread, &format!("updated_at = '{secret}'"));
                world.run(&format!("delete from runs where issue_id = '{odd}'"));
                world.set("issues", &odd, &format!("id = 'ghp_{n}{}'", secret.replace(['-', ':', '.'], "_")));
            }
        }
        On::Postgres | On::Paperclip => {
            let (taken, misread) =
                (planted_issue(world, &agent, 0, "taken"), planted_issue(world, &agent, 0, "misread"));
            world.issue_wake(&taken, &agent, "completed", 100);
            world.run(&format!(
                "create function with_secret(id uuid) returns text immutable language sql as
                     $$ select case id when '{taken}' then 'hunter2' else gen_random_uuid()::text end $$;
                 create unique index in_error_taken on wakes (with_secret(issue_id));
                 create function misread() returns trigger language plpgsql as
                     $$ begin perform 'hunter2'::uuid; return new; end $$;
                 create trigger misread before insert on wakes for each row when (new.issue_id = '{misread}')
                     execute function misread()"
            ));
        }
    }
}

/// The URL with a password; the server trusts its socket, and SQLite has no passwords.
fn url_with_secret(world: &World) -> String {
    match world.on {
        On::Sqlite => world.url.clone(),
        On::Postgres | On::Paperclip => format!("{}&password={SECRET}", world.url),
    }
}

/// Everything that the commands print, each with a log in one of both forms. `time_passes`: between the commands.
fn output(world: &mut World, time_passes: bool) -> String {
    let (url, mut all) = (url_with_secret(world), String::new());
    for (command, format) in commands().into_iter().zip(["text", "json"].into_iter().cycle()) {
        let ran = loud(sweep(command.iter().copied()).env("DATABASE_URL", &url), format);
        assert_hidden(&ran, &format!("{command:?}"));
        // What was planted has altered the schema.
        let is_altered = command.first() == Some(&"migrate") && ran.code == 78;
        assert!([0, 1, 2].contains(&ran.code) || is_altered, "{command:?}: {ran}");
        all = all + &ran.out + &ran.err;
        if time_passes {
            world.end_continuations("failed");
            world.pass(10);
        }
    }
    all
}

on_each_database! {
    fn no_command_shows_a_secret_at_any_log_level(world) {
        for (n, shape) in SHAPES.into_iter().enumerate() {
            plant(world, n, shape);
        }

        let all = output(world, true);

        for (n, shape) in SHAPES.into_iter().enumerate() {
            for lantern in LANTERNS.map(|place| format!("{place}-{n},")) {
                assert!(all.contains(&lantern), "{lantern} is not to be seen before {shape}: {all}");
            }
        }
        assert!(all.contains("***"), "{all}");
        assert_ne!(world.count("recoveries where kind = 'issue' and action = 'escalate'"), 0);
    }

    fn what_is_broken_is_reported_without_what_it_holds(world) {
        plant_what_is_broken(world);

        let all = output(world, false);

        let broken = match world.on {
            On::Sqlite => ["a text of 19 characters is no timestamp", "id=***"],
            On::Postgres | On::Paperclip => ["violates unique constraint \"in_error_taken\"",
            "invalid input syntax for type uuid"],
        };
        assert!(broken.iter().all(|broken| all.contains(broken)), "{all}");
    }

    /// The negative control, and the limit of the promise: a secret is known by its looks, and by nothing else.
    fn a_secret_that_looks_like_nothing_would_be_found_out(world) {
        let agent = world.agent("idle");
        let issue = planted_issue(world, &agent, 0, "none");
        world.set("issues", &issue, "waiting_for = 'somebody who knows hunter2'");
        let ran = loud(sweep(["--dry-run"]).env("DATABASE_URL", &world.url), "text");
        assert!(shows_a_secret(&ran.out), "{ran}");
    }
}

#[test]
fn the_shapes_are_secrets_where_they_are_planted() {
    assert!(SHAPES.iter().all(|shape| shows_a_secret(shape)));
}
