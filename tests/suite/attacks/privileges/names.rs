//! What others put under the names by which functions with their owner's rights call a host's tables.

use super::is_superuser;
use crate::support::databases::{connect, connect_server, run};
use crate::support::scratch::{Role, psql};
use crate::support::world::{On, World};

/// Earlier releases of Paperclip lack that table, and its name is anybody's who may create in `public`.
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

    // The control: so much would reading it have given.
    psql(&world.url, "select * from public.native_run_finalizations").expect("a row");
    assert!(is_superuser(&mallory));
    run(&mut connect_server(), &format!("alter role {} nosuperuser", mallory.name));
}
