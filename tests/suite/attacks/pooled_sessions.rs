//! A pooler's session in which another client left its settings: sweep goes by none of them.

use crate::support::databases::{connect, run};
use crate::support::pooler::Pooler;
use crate::support::program::{command_at, migrate_at};
use crate::support::scratch::{Role, Scratch, psql};
use crate::support::world::{On, World};

/// The settings of a client that change what statements do, whether they may do it, and what their commit promises.
/// PgBouncer itself gives each client its own values of the last five.
const LEFT: [(&str, &str); 27] = [
    ("synchronous_commit", "off"),
    ("row_security", "off"),
    ("default_transaction_isolation", "serializable"),
    ("default_transaction_read_only", "on"),
    ("default_transaction_deferrable", "on"),
    ("statement_timeout", "'11min'"),
    ("lock_timeout", "'12min'"),
    ("idle_in_transaction_session_timeout", "'13min'"),
    ("transform_null_equals", "on"),
    ("array_nulls", "off"),
    ("quote_all_identifiers", "on"),
    ("bytea_output", "escape"),
    ("extra_float_digits", "-15"),
    ("xmloption", "document"),
    ("check_function_bodies", "off"),
    ("default_tablespace", "'pg_global'"),
    ("default_table_access_method", "heap"),
    ("gin_fuzzy_search_limit", "1"),
    ("plan_cache_mode", "force_custom_plan"),
    ("search_path", "public"),
    ("jit", "on"),
    ("client_encoding", "LATIN1"),
    ("TimeZone", "'Asia/Kathmandu'"),
    ("DateStyle", "'SQL, DMY'"),
    ("IntervalStyle", "iso_8601"),
    ("standard_conforming_strings", "off"),
    ("application_name", "neighbour"),
];

/// The settings that sweep or BEGIN sets, and those that matter only to a client that makes tables.
const OURS: [&str; 15] = [
    "search_path", "lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout", "jit",
    "random_page_cost", "TimeZone", "client_encoding", "application_name", "plan_cache_mode",
    "default_transaction_isolation", "default_transaction_read_only", "default_transaction_deferrable",
    "check_function_bodies", "default_tablespace",
];

/// Only servers from version 17 on have this setting.
const LIMIT: &str = "select set_config('transaction_timeout', '1h', false) \
                     where current_setting('transaction_timeout', true) is not null";

/// Leaves all these settings, and another role, in the only connection of a pooler.
fn leave(url: &str, role: &Role) {
    let settings: String = LEFT.iter().map(|(name, value)| format!("set {name} = {value};")).collect();
    run(&mut connect(url), &format!("reset role; {settings} {LIMIT}; set role {}", role.name));
}

/// Records, at each write of sweep's, the role whose rights it has, and the settings that differ from those of a new
/// session.
const NOTE: &str = "
    create table public.noted (name text, setting text);
    grant insert on public.noted to public;
    create function public.note() returns trigger language plpgsql as $$
    begin
        insert into public.noted values ('table', tg_table_name);
        insert into public.noted select 'role', current_user where current_user <> session_user;
        insert into public.noted select name, setting from pg_catalog.pg_settings
        where source = 'session' and setting is distinct from reset_val;
        return null;
    end $$;
    create trigger note after insert on sweep.exemptions for each row execute function public.note();
    create trigger note after insert on sweep.recoveries for each row execute function public.note();";

#[test]
fn what_a_neighbour_left_changes_neither_a_sweep_nor_what_a_person_asks_for() {
    let role = Role::new();
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let [swept, exempted] = [world.orphan(&agent), world.orphan(&agent)];
    world.run(NOTE);
    let pooler = Pooler::start(1);
    let url = pooler.url(world.name());
    let noted = || {
        let noted = psql(&world.url, "delete from public.noted returning name || '=' || setting").expect("notes");
        let is_ours = |line: &&str| OURS.iter().any(|name| line.starts_with(name));
        noted.lines().filter(|line| !is_ours(line)).map(str::to_owned).collect::<Vec<_>>()
    };
    for arguments in [
        &["exempt", "add", "issue", &exempted.0, "--reason", "on purpose"][..],
        &["status"],
        &["attention"],
        &["explain", "issue", &swept.0],
        &["run", "--dry-run"],
        &["run"],
    ] {
        leave(&url, &role);
        let arguments = if arguments[0] == "run" { &arguments[1..] } else { arguments };
        let ran = command_at(&url, arguments.iter().copied()).run();
        assert_eq!(ran.code, 0, "{arguments:?}: {ran}");
        // The commits of a sweep are flushed together.
        let expected: &[&str] = match arguments.first() {
            None => &["table=recoveries", "synchronous_commit=off"],
            Some(&"exempt") => &["table=exemptions"],
            Some(_) => &[],
        };
        assert_eq!(noted(), expected, "{arguments:?}");
    }
    assert_eq!((world.wakes_for(&swept), world.wakes_for(&exempted)), (1, 0));
}

#[test]
fn nor_what_a_migration_makes() {
    let role = Role::new();
    let (direct, scratch) = (Scratch::empty(), Scratch::empty());
    migrate_at(&direct.url, []).run().done();
    let pooler = Pooler::start(1);
    let url = pooler.url(scratch.name());
    leave(&url, &role);
    migrate_at(&url, []).run().done();
    assert_eq!(scratch.catalog(), direct.catalog());
}
