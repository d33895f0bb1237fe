//! P15: secrets that are planted in the URL, in rows and in errors of the driver appear in no output of any command at
//! any log level.
//!
//! Beside each secret stands a lantern, which must be seen: else nothing would have been looked at.

mod commands;
mod urls;

use sweep::rules::Id;

use crate::program::{Program, Ran, sweep};
use crate::world::{On, World, on_each_database};

/// In each planted secret.
const SECRET: &str = "hunter2";

/// The commands that read a database, each as often as its output has a form.
const COMMANDS: [&[&str]; 17] = [
    &["--help"],
    &["--dry-run"],
    &["--dry-run", "--output", "json"],
    &["--dry-run", "--output", "ndjson"],
    &["--output", "json"],
    &[],
    &["--output", "ndjson", "--detailed-exitcode"],
    &["--escalation", "comment_only", "--only", "steps"],
    &["status"],
    &["status", "--output", "json"],
    &["exempt", "list"],
    &["exempt", "list", "--output", "json"],
    &["quarantine", "list"],
    &["quarantine", "list", "--output", "json"],
    &["migrate"],
    &["migrate", "--print"],
    &["demo"],
];

/// What looks like a credential.
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

/// Nothing of it is secret.
#[track_caller]
fn assert_hidden(ran: &Ran, what: &str) {
    let lines = ran.out.lines().chain(ran.err.lines());
    let shown: Vec<&str> = lines.filter(|line| shows_a_secret(line)).collect();
    assert!(shown.is_empty(), "{what}: {shown:#?}");
}

/// As talkative as can be.
fn loud(program: Program, format: &str) -> Ran {
    program.env("SWEEP_LOG", "trace").env("SWEEP_LOG_FORMAT", format).run()
}

pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// An issue that shows so many texts as can be seen of one.
fn issue(world: &mut World, agent: &Id, n: usize, shape: &str) -> Id {
    let id = world.orphan(agent);
    let (identifier, tenant) =
        (quoted(&format!("in-identifier-{n}, {} {shape}", Id::generate())), quoted(&format!("in-tenant-{n}, {shape}")));
    world.set("issues", &id, &format!("identifier = {identifier}, tenant = {tenant}, title = {}", quoted(shape)));
    world.issue_run(&id, agent, "failed", 50 + n as i64);
    id
}

/// Plants a shape wherever others may write, on subjects of each outcome.
pub fn plant(world: &mut World, n: usize, shape: &str) {
    let (able, paused) = (world.agent("idle"), world.agent("paused"));
    for agent in [&able, &paused] {
        world.set("agents", agent, &format!("name = {}", quoted(&format!("in-agent-{n}, {shape}"))));
    }
    issue(world, &able, n, shape);
    issue(world, &paused, n, shape);
    let waiting = issue(world, &able, n, shape);
    world.set("issues", &waiting, &format!("waiting_for = {}", quoted(&format!("in-wait-{n}, {shape}"))));
    let stuck = issue(world, &able, n, shape);
    let wake = world.issue_wake(&stuck, &able, "queued", 100);
    let payload = quoted(&serde_json::json!({ "note": shape }).to_string());
    world.set("wakes", &wake, &format!("reason = {}, payload = {payload}", quoted(shape)));
    for agent in [Some(&able), None] {
        let (plan, step) = world.stalled_step(agent);
        world.set(
            "plans",
            &plan,
            &format!("title = {}, issue_id = '{waiting}'", quoted(&format!("in-plan-{n}, {shape}"))),
        );
        world.set("plans", &plan, &format!("tenant = {}", quoted(shape)));
        world.set("plan_steps", &step, &format!("title = {}", quoted(shape)));
    }
    for agent in [&able, &paused] {
        let session = world.session(Some(agent), Some(&waiting));
        let (identifier, line) =
            (format!("in-session-{n}, {} {shape}", Id::generate()), format!("in-output-{n}, {shape}"));
        let (identifier, output) = (quoted(&identifier), quoted(&format!("{line}\n").repeat(8)));
        // Busy for hours to come: it loops, and is not silent.
        let later = world.ago(-600);
        world.set(
            "sessions",
            &session,
            &format!(
                "identifier = {identifier}, title = {0}, last_tool = {0}, tenant = {0}, recent_output = {output}, last_activity_at = {later}",
                quoted(shape)
            ),
        );
    }
    let refused = issue(world, &able, n, shape);
    refuse(world, n, &refused, shape);
}

/// A trigger of the host's that fails and says why; on PostgreSQL also with a warning, details and a hint.
fn refuse(world: &mut World, n: usize, issue: &Id, shape: &str) {
    let message = quoted(&format!("in-error-{n}, {shape}"));
    world.run(&match world.on {
        On::Sqlite => format!(
            "create trigger refuse_{n} before insert on wakes when new.issue_id = '{issue}'
             begin select raise(abort, {message}); end"
        ),
        On::Postgres | On::Paperclip => format!(
            "create function refuse_{n}() returns trigger language plpgsql as $$ begin
                 raise warning using message = 'hunter2';
                 raise exception using message = {message}, detail = 'hunter2', hint = 'hunter2';
             end $$;
             create trigger refuse_{n} before insert on wakes for each row when (new.issue_id = '{issue}')
                 execute function refuse_{n}()"
        ),
    });
}

/// Rows that cannot be read, of an id of its own, and a key that is taken: with a secret that looks like nothing.
fn plant_what_is_broken(world: &mut World) {
    let agent = world.agent("idle");
    match world.on {
        On::Sqlite => {
            for (n, secret) in ["hunter2-supersecret", "2026-11-21T09:30:00.hunter2", "hunter2hunter2hunter2hunter"]
                .into_iter()
                .enumerate()
            {
                world.run("pragma ignore_check_constraints = on");
                let (unread, odd) = (issue(world, &agent, n, "broken"), issue(world, &agent, n, "odd"));
                world.set("issues", &unread, &format!("updated_at = '{secret}'"));
                world.run(&format!("delete from runs where issue_id = '{odd}'"));
                world.set("issues", &odd, &format!("id = 'ghp_{n}{}'", secret.replace(['-', ':', '.'], "_")));
            }
        }
        On::Postgres | On::Paperclip => {
            let (taken, misread) = (issue(world, &agent, 0, "taken"), issue(world, &agent, 0, "misread"));
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

/// A password in the URL; the server trusts its socket, and SQLite has none.
fn url_with_secret(world: &World) -> String {
    match world.on {
        On::Sqlite => world.url.clone(),
        On::Postgres | On::Paperclip => format!("{}&password={SECRET}", world.url),
    }
}

/// All that the commands print; time passes between them when it can.
fn output(world: &mut World, time_passes: bool) -> String {
    let (url, mut all) = (url_with_secret(world), String::new());
    for format in ["text", "json"] {
        for command in COMMANDS {
            let ran = loud(sweep(command.iter().copied()).env("DATABASE_URL", &url), format);
            assert_hidden(&ran, &format!("{command:?}"));
            assert!([0, 1, 2].contains(&ran.code), "{command:?}: {ran}");
            all = all + &ran.out + &ran.err;
            if time_passes {
                world.end_continuations("failed");
                world.pass(10);
            }
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

    fn what_is_broken_is_told_without_what_it_holds(world) {
        plant_what_is_broken(world);

        let all = output(world, false);

        let broken = match world.on {
            On::Sqlite => ["a text of 19 characters is no timestamp", "id=***"],
            On::Postgres | On::Paperclip => ["violates unique constraint \"in_error_taken\"", "invalid input syntax for type uuid"],
        };
        assert!(broken.iter().all(|broken| all.contains(broken)), "{all}");
    }

    /// A negative control, and what is not promised: a secret is known by its looks, and by nothing else.
    fn a_secret_that_looks_like_nothing_would_be_found_out(world) {
        let agent = world.agent("idle");
        let issue = issue(world, &agent, 0, "none");
        world.set("issues", &issue, "waiting_for = 'somebody who knows hunter2'");
        let ran = loud(sweep(["--dry-run"]).env("DATABASE_URL", &world.url), "text");
        assert!(shows_a_secret(&ran.out), "{ran}");
    }
}

#[test]
fn the_shapes_are_secrets_where_they_are_planted() {
    assert!(SHAPES.iter().all(|shape| shows_a_secret(shape)));
}
