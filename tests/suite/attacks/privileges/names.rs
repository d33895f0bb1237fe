//! Objects of others under the names by which functions with their owner's rights call a host's tables.

use rstest::rstest;

use super::{CONFIG, hosted, is_superuser};
use crate::support::databases::{connect, connect_server, run};
use crate::support::program::migrate_at;
use crate::support::scratch::{Role, Scratch, psql};
use crate::support::world::{On, World};

/// Earlier releases of Paperclip lack that table, and any role that may create in `public` can take its name.
#[test]
fn a_view_of_a_strangers_that_is_called_like_a_table_of_later_releases_is_not_read() {
    let (mallory, mut world) = (Role::new(), World::new(On::Paperclip));
    world.run("drop table public.native_run_finalizations cascade");
    world.run(&format!("grant create on schema public to {}", mallory.name));
    run(
        &mut connect(&mallory.at(&world.url)),
        &format!(
            "create function public.rise() returns uuid language plpgsql as
                 'begin alter role {} superuser; return gen_random_uuid(); end';
             create view public.native_run_finalizations as
                 select public.rise() as run_id, public.rise() as company_id, now() as updated_at,
                        null::text as lease_owner, null::text as phase, null::text as result_id,
                        null::jsonb as failure_detail",
            mallory.name
        ),
    );
    let agent = world.agent("idle");
    world.orphan(&agent);
    world.run(
        "insert into public.heartbeat_runs (company_id, agent_id, invocation_source, status, context_snapshot)
         select company_id, assignee_agent_id, 'automation', 'failed', jsonb_build_object('issueId', id)
         from public.issues",
    );
    let ask = "select sweep.open_finalization_since(company_id, id) from public.issues";
    assert_eq!(psql(&world.url, ask).as_deref(), Ok(""));
    assert!(!is_superuser(&mallory));

    // The control: reading the view would have given this much.
    psql(&world.url, "select * from public.native_run_finalizations").expect("a row");
    assert!(is_superuser(&mallory));
    run(&mut connect_server(), &format!("alter role {} nosuperuser", mallory.name));
}

/// The owner of a schema may rename it, and put other tables into a new one of that name.
#[rstest]
#[case::of_a_schema("alter schema public owner to {m}", &["Run alter schema public owner to {o}, or name the host"])]
#[case::of_a_database(
    "alter schema public owner to pg_database_owner; alter database {d} owner to {m}",
    &["Run alter schema public owner to {o}, or alter database {d} owner to {o}, or name the host", "--host paperclip"]
)]
fn the_owner_of_the_schema_of_a_hosts_tables_counts_like_their_owner(#[case] sql: &str, #[case] remedy: &[&str]) {
    let (mallory, (database, host)) = (Role::new(), hosted());
    let filled = |text: &str, owner: &str| {
        text.replace("{m}", &mallory.name).replace("{d}", database.name()).replace("{o}", owner)
    };
    database.run(&filled(sql, ""));
    let url = host.at(&database.url);
    let says = format!("the schema public belongs to {}, and this role, {}, is no member of", mallory.name, host.name);
    let says: Vec<String> = remedy.iter().map(|text| filled(text, &host.name)).chain([says]).collect();
    let says: Vec<&str> = says.iter().map(String::as_str).collect();
    for arguments in [&[][..], &["--print"]] {
        migrate_at(&url, arguments.iter().copied()).run().refused(CONFIG, &says);
    }
    // The controls: the operator names that host, and the advised statement is enough.
    migrate_at(&url, ["--print", "--host", "paperclip"]).run().done();
    database.run(&format!("alter schema public owner to {}", host.name));
    migrate_at(&url, []).run().done();
}

#[test]
fn a_superuser_trusts_only_superusers_with_the_schema_of_a_hosts_tables() {
    let (mallory, database) = (Role::new(), Scratch::paperclip());
    database.run(&format!("alter schema public owner to {}", mallory.name));
    let says = ["is a superuser, and the schema public belongs to", &mallory.name, "put other tables in the place"];
    for arguments in [&[][..], &["--print"], &["--host", "paperclip"]] {
        migrate_at(&database.url, arguments.iter().copied()).run().refused(CONFIG, &says);
    }
    migrate_at(&database.url, ["--as-superuser"]).run().done();
}
