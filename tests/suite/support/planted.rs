//! Texts of others, planted wherever others may write.

use sweep::rules::Id;

use crate::support::world::{On, World};

/// The sweeps that print a report, first those that write nothing.
pub const SWEEPS: &[&[&str]] = &[
    &["--dry-run"],
    &["--dry-run", "--output", "json"],
    &["--dry-run", "--output", "ndjson"],
    &["--output", "json"],
    &[],
];

/// The commands that list what is in a database, in each form of their output.
pub const LISTS: &[&[&str]] = &[
    &["status"],
    &["status", "--output", "json"],
    &["exempt", "list"],
    &["exempt", "list", "--output", "json"],
    &["quarantine", "list"],
    &["quarantine", "list", "--output", "json"],
];

/// A text as a value in SQL.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Makes an issue that shows as many texts of others as one issue can.
pub fn planted_issue(world: &mut World, agent: &Id, n: usize, shape: &str) -> Id {
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
    planted_issue(world, &able, n, shape);
    planted_issue(world, &paused, n, shape);
    let waiting = planted_issue(world, &able, n, shape);
    world.set("issues", &waiting, &format!("waiting_for = {}", quoted(&format!("in-wait-{n}, {shape}"))));
    let stuck = planted_issue(world, &able, n, shape);
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
        // Signs of life in the future keep the session from being silent: it loops.
        let later = world.ago(-600);
        world.set(
            "sessions",
            &session,
            &format!(
                "identifier = {identifier}, title = {0}, directory = {0}, last_tool = {0}, tenant = {0}, \
                    recent_output = {output}, last_activity_at = {later}",
                quoted(shape)
            ),
        );
    }
    let refused = planted_issue(world, &able, n, shape);
    refuse(world, n, &refused, shape);
}

/// Makes a trigger of the host's that fails with a message; on PostgreSQL also with a warning, details and a hint.
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
