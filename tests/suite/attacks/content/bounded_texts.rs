//! Every text of sweep's own tables has a bound: whoever may write one could otherwise fill the memory of each sweep.

use diesel::connection::SimpleConnection;

use crate::support::program::{command_at, sweep_at};
use crate::support::scratch::psql;
use crate::support::world::{On, World};

/// The columns of the schema whose length no check bounds, and no type.
const UNBOUNDED: &str = "select string_agg(relname || '.' || attname, ' ' order by 1)
    from pg_class c join pg_attribute a on attrelid = c.oid and attnum > 0 and not attisdropped
    join pg_type t on t.oid = atttypid
    where relnamespace = 'sweep'::regnamespace and relkind = 'r' and atttypmod = -1
      and (typcategory = 'S' or typname in ('json', 'jsonb', 'bytea', 'id') or typcategory = 'A')
      and not exists (select from pg_constraint k
                      where k.conrelid = c.oid and contype = 'c' and conkey @> array[attnum])";

#[test]
fn each_text_of_the_ledger_has_a_bound() {
    let world = World::new(On::Paperclip);
    assert_eq!(psql(&world.url, UNBOUNDED).as_deref(), Ok(""));
    // The control: a column without a bound is found.
    psql(&world.url, "alter table sweep.sweeps add column remark text").expect("a column");
    assert_eq!(psql(&world.url, UNBOUNDED).as_deref(), Ok("sweeps.remark"));
}

/// By SQL of one's own, as `sweep_operator` may write.
#[test]
fn a_reason_of_megabytes_is_refused_by_the_database() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let long = "x".repeat(2001);
        let exempt = format!("insert into tenant_exemptions (tenant, reason) values ('default', '{long}')");
        assert!(world.db.batch_execute(&exempt).is_err());
        command_at(&world.url, ["exempt", "add", "issue", &issue.0, "--reason", &long])
            .run()
            .refused(64, &["expected at most 1000 characters"]);
        sweep_at(&world.url, []).run().done();
    }
}
