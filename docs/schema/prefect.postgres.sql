begin; set local search_path = pg_catalog, pg_temp;
create schema if not exists sweep;
do $$
declare
    refusal text;
begin
    for refusal in
-- Every query of this folder begins with this text: which roles this role trusts, and what the relations and triggers in `roots` run.
-- A role trusts superusers, who may do everything anyway, and those whose rights are its own; a superuser is not asked whether he
-- wants to be a member of a role, and trusts only superusers. The right to administer a role (PostgreSQL 16) gives none of its rights.
with recursive me as (
    select oid, rolname, rolsuper from pg_roles where rolname = session_user
), trusted (role) as (
    select r.oid from pg_roles r, me
    where r.rolsuper or not me.rolsuper and pg_has_role(
        me.oid, r.oid, case when current_setting('server_version_num')::int < 160000 then 'member' else 'usage, set' end)
-- What these run, with what uses each: all that belongs to a table or type (defaults, constraints, triggers, rules, policies,
-- indexes), the tables that inherit from a table or refer to it by a key, and all that any of these uses: functions, types, operators,
-- other tables. A table to which a key refers runs nothing, and neither does the row type of a table.
), reached (class, id, user_class, user_id, user_column) as (
    select class, id, class, id, 0 from roots
    union
    select further.* from reached r cross join lateral (
        select classid, objid, classid, objid, 0 from pg_depend
        where refclassid = r.class and refobjid = r.id and deptype in ('a', 'i')
          and not (refclassid = 'pg_class'::regclass and classid = 'pg_type'::regclass)
        union all
        select r.class, inhrelid, r.class, inhrelid, 0 from pg_inherits where r.class = 'pg_class'::regclass and inhparent = r.id
        union all
        select r.class, conrelid, 'pg_constraint'::regclass, oid, 0 from pg_constraint
        where r.class = 'pg_class'::regclass and contype = 'f' and confrelid = r.id
        union all
        select refclassid, refobjid, classid, objid, objsubid from pg_depend
        where classid = r.class and objid = r.id and refclassid not in ('pg_namespace'::regclass, 'pg_extension'::regclass)
          and not (refclassid = 'pg_class'::regclass
                   and (classid = 'pg_constraint'::regclass or deptype in ('a', 'i') and classid <> 'pg_type'::regclass))
    ) further
), uses (class, id, used_by) as (
    select class, id, case when user_id <> id then
        (select format(', which the %s %s uses,', type, identity) from pg_identify_object(user_class, user_id, user_column)) end
    from reached
-- Objects of this database that belong to roles that are not trusted. The list of owners leaves out what belongs to PostgreSQL's own
-- roles, such as the schema public: a schema runs nothing.
), foreign_owned (class, id, owner) as (
    select * from (
        select classid, objid, refobjid from pg_shdepend
        where dbid = (select oid from pg_database where datname = current_database()) and refclassid = 'pg_authid'::regclass and deptype = 'o'
        union
        select 'pg_class'::regclass, oid, relowner from pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        union
        select 'pg_proc'::regclass, oid, proowner from pg_proc
        union
        select 'pg_type'::regclass, oid, typowner from pg_type where typrelid = 0 and typelem = 0
        union
        select 'pg_operator'::regclass, oid, oprowner from pg_operator
    ) owned (class, id, owner)
    where owner not in (select role from trusted)
-- Rights of such roles on relations, and on parts of these: on columns.
), foreign_rights (relation, part, privilege, grantee) as (
    select * from (
        select oid, null, privilege_type, acl.grantee from pg_class, aclexplode(relacl) acl
        union all
        select attrelid, attname, privilege_type, acl.grantee from pg_attribute, aclexplode(attacl) acl
    ) granted (relation, part, privilege, grantee)
    where grantee not in (select role from trusted)
), names (role, name) as (
    select 0::oid, 'public' union all select oid, quote_ident(rolname) from pg_roles
),
-- Who owns a relation of the schema sweep, or a function, may have it run something of his own, with the rights of the role that
-- migrates; and so may the owner of anything that sweep's tables or their triggers use, and a role that may put a trigger or a key
-- there. So all of it must belong to a role that is trusted, nobody else may add to it, and of the ledger nobody else may write
-- what deploy/postgres/role.sql lets nobody write. One sentence about the first thing that is otherwise; no row when all is well.
here as (
    select oid, nspowner, nspacl from pg_namespace where nspname = 'sweep'
), relations as (
    select c.* from pg_class c join here on relnamespace = here.oid
), roots (class, id) as (
    select 'pg_class'::regclass::oid, oid from relations where relkind in ('r', 'p')
    union all
    select 'pg_trigger'::regclass, t.oid from pg_trigger t join relations r on r.oid = tgrelid
    union all
    select 'pg_event_trigger'::regclass, oid from pg_event_trigger
), things (place, class, id, owner, used_by) as (
    select 1, 'pg_namespace'::regclass::oid, oid, nspowner, null from here
    where nspowner not in (select role from trusted) or not pg_has_role(
        session_user, nspowner, case when current_setting('server_version_num')::int < 160000 then 'member' else 'set' end)
    union all
    select 2, class, id, owner, null from foreign_owned join pg_depend on classid = class and objid = id
    join here on refclassid = 'pg_namespace'::regclass and refobjid = here.oid
    union all
    select 3, class, id, owner, used_by from foreign_owned join uses using (class, id)
), ledger (relation, writes) as (
    values ('host', ''), ('__diesel_schema_migrations', ''), ('recoveries', 'INSERT'), ('recoveries.settled_at', 'UPDATE'),
           ('sweeps', 'INSERT UPDATE'), ('policy', 'INSERT UPDATE'), ('failures', 'INSERT UPDATE'), ('notifications', 'INSERT UPDATE'),
           ('exemptions', 'INSERT UPDATE DELETE'), ('tenant_exemptions', 'INSERT UPDATE DELETE')
), written_views (relation) as (
    -- A host's work stands in views that are written to; all other views are there to be read.
    values ('plans'), ('plan_steps'), ('agents'), ('issues'), ('sessions'), ('wakes'), ('session_commands'), ('comments'), ('activity')
), writers (role) as (
    select 'pg_write_all_data'::regrole::oid union select member from pg_auth_members join writers on roleid = role
), grants (what, privilege, grantee) as (
    select 'sweep.' || relname, privilege, grantee from foreign_rights join relations r on r.oid = relation
    where privilege in ('TRIGGER', 'TRUNCATE', 'REFERENCES', 'MAINTAIN')
       -- Everybody is none of that file's roles. Of a host's own table in this schema its owner says what others may write.
       or privilege in ('INSERT', 'UPDATE', 'DELETE')
          and case when grantee = 0 then relkind <> 'r' or relname in (select l.relation from ledger l)
                   when relname in (select l.relation from ledger l) then not exists (
                  select from ledger l where l.relation in (relname, relname || '.' || part) and privilege = any (string_to_array(writes, ' ')))
              else relkind in ('v', 'S') and relname not in (select w.relation from written_views w) end
    union all
    select 'function ' || identity, privilege_type, grantee
    from pg_proc f join here on pronamespace = here.oid, aclexplode(coalesce(proacl, acldefault('f', proowner))),
         pg_identify_object('pg_proc'::regclass, f.oid, 0)
    where grantee not in (select role from trusted) and prosecdef and (grantee = 0 or coalesce(obj_description(f.oid, 'pg_proc'), '') not in ('called by views', 'called by sweeps'))
), refusals (place, what, sentence) as (
    select place, identity, format(
        'the %1$s %2$s%3$s belongs to %4$I, and this role, %5$I, is %6$s: what stands there would run with this role''s rights. '
        'If it is not sweep''s, drop it%7$s; if it is, migrate as %4$I',
        type, identity, used_by, pg_get_userbyid(owner), me.rolname,
        case when me.rolsuper then 'a superuser who does not own it' else 'no member of that role' end,
        case when used_by is null then ' (drop schema sweep cascade)' end)
    from me, things cross join lateral pg_identify_object(class, id, 0)
    union all
    select 4, '', format(
        'the role %1$s may create in the schema sweep, and what it makes there would run with the rights of others: '
        'revoke create on schema sweep from %1$s', name)
    from here cross join aclexplode(nspacl) acl join names on role = acl.grantee
    where acl.privilege_type = 'CREATE' and acl.grantee not in (select role from trusted)
    union all
    select 5, what, format(
        'the role %1$s has the right %2$s on %3$s, which deploy/postgres/role.sql gives to nobody: revoke %2$s on %3$s from %1$s',
        name, privilege, what)
    from grants join names on role = grantee
    union all
    select 6, r.rolname, format(
        'this role, %1$I, is a superuser, and %2$I may write all tables, also what a migration runs: revoke pg_write_all_data from %2$I, '
        'or use a role that is none',
        me.rolname, r.rolname)
    from me, pg_roles r join writers on r.oid = role where me.rolsuper and not r.rolsuper and r.rolname <> 'pg_write_all_data'
)
select sentence from refusals order by place, what, sentence limit 1
    loop
        raise exception '%', refusal;
    end loop;
    for refusal in
-- Every query of this folder begins with this text: which roles this role trusts, and what the relations and triggers in `roots` run.
-- A role trusts superusers, who may do everything anyway, and those whose rights are its own; a superuser is not asked whether he
-- wants to be a member of a role, and trusts only superusers. The right to administer a role (PostgreSQL 16) gives none of its rights.
with recursive me as (
    select oid, rolname, rolsuper from pg_roles where rolname = session_user
), trusted (role) as (
    select r.oid from pg_roles r, me
    where r.rolsuper or not me.rolsuper and pg_has_role(
        me.oid, r.oid, case when current_setting('server_version_num')::int < 160000 then 'member' else 'usage, set' end)
-- What these run, with what uses each: all that belongs to a table or type (defaults, constraints, triggers, rules, policies,
-- indexes), the tables that inherit from a table or refer to it by a key, and all that any of these uses: functions, types, operators,
-- other tables. A table to which a key refers runs nothing, and neither does the row type of a table.
), reached (class, id, user_class, user_id, user_column) as (
    select class, id, class, id, 0 from roots
    union
    select further.* from reached r cross join lateral (
        select classid, objid, classid, objid, 0 from pg_depend
        where refclassid = r.class and refobjid = r.id and deptype in ('a', 'i')
          and not (refclassid = 'pg_class'::regclass and classid = 'pg_type'::regclass)
        union all
        select r.class, inhrelid, r.class, inhrelid, 0 from pg_inherits where r.class = 'pg_class'::regclass and inhparent = r.id
        union all
        select r.class, conrelid, 'pg_constraint'::regclass, oid, 0 from pg_constraint
        where r.class = 'pg_class'::regclass and contype = 'f' and confrelid = r.id
        union all
        select refclassid, refobjid, classid, objid, objsubid from pg_depend
        where classid = r.class and objid = r.id and refclassid not in ('pg_namespace'::regclass, 'pg_extension'::regclass)
          and not (refclassid = 'pg_class'::regclass
                   and (classid = 'pg_constraint'::regclass or deptype in ('a', 'i') and classid <> 'pg_type'::regclass))
    ) further
), uses (class, id, used_by) as (
    select class, id, case when user_id <> id then
        (select format(', which the %s %s uses,', type, identity) from pg_identify_object(user_class, user_id, user_column)) end
    from reached
-- Objects of this database that belong to roles that are not trusted. The list of owners leaves out what belongs to PostgreSQL's own
-- roles, such as the schema public: a schema runs nothing.
), foreign_owned (class, id, owner) as (
    select * from (
        select classid, objid, refobjid from pg_shdepend
        where dbid = (select oid from pg_database where datname = current_database()) and refclassid = 'pg_authid'::regclass and deptype = 'o'
        union
        select 'pg_class'::regclass, oid, relowner from pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        union
        select 'pg_proc'::regclass, oid, proowner from pg_proc
        union
        select 'pg_type'::regclass, oid, typowner from pg_type where typrelid = 0 and typelem = 0
        union
        select 'pg_operator'::regclass, oid, oprowner from pg_operator
    ) owned (class, id, owner)
    where owner not in (select role from trusted)
-- Rights of such roles on relations, and on parts of these: on columns.
), foreign_rights (relation, part, privilege, grantee) as (
    select * from (
        select oid, null, privilege_type, acl.grantee from pg_class, aclexplode(relacl) acl
        union all
        select attrelid, attname, privilege_type, acl.grantee from pg_attribute, aclexplode(attacl) acl
    ) granted (relation, part, privilege, grantee)
    where grantee not in (select role from trusted)
), names (role, name) as (
    select 0::oid, 'public' union all select oid, quote_ident(rolname) from pg_roles
),
-- sweep writes to a host's tables by functions that run with their owner's rights, and with them runs all that these tables use. So
-- the tables, all that they use, and the rights to put triggers there must belong to roles that are trusted, unless the operator names
-- the host. A superuser lends far more than that to everybody who may change what is run. A copy runs what stands anywhere in the
-- database. These functions call the tables by their names: whoever owns a schema of tables can put others in their place, and
-- counts like the tables' owner. One sentence about the first thing that is otherwise; no row when all is well.
roots (class, id) as (
    select 'pg_class'::regclass::oid, oid from pg_class
    where relnamespace = to_regnamespace('public') and relkind in ('r', 'p') and relname::text = any ('{"artifact","deployment","events","flow","flow_run","flow_run_input","flow_run_state","log","task_run","work_pool","work_queue"}')
    union all
    select 'pg_class'::regclass, oid from pg_class where relnamespace = to_regnamespace('sweep') and relkind = 'v'
), schemas (name, owner, is_of_database, owner_of_tables) as (
    -- PostgreSQL's own role pg_database_owner is the database's owner.
    select nspname, case when nspowner = 'pg_database_owner'::regrole then datdba else nspowner end,
           nspowner = 'pg_database_owner'::regrole,
           -- Where none of the tables that the host names is in the schema public, this role is as good.
           coalesce((select min(pg_get_userbyid(relowner)::text) from pg_class join roots on id = oid where relkind in ('r', 'p')), session_user)
    from pg_namespace n join pg_database on datname = current_database()
    where exists (select from reached join pg_class c on c.oid = id where class = 'pg_class'::regclass and relnamespace = n.oid)
), things (place, what, owner, remedy) as (
    select case when id in (select id from roots) then 1 else 2 end,
           (select format('the %s %s%s', type, identity, used_by) from pg_identify_object(class, id, 0)),
           owner,
           case when false then 'Expected a database in which everything belongs to this role'
                when id in (select id from roots) then
                    format('Migrate as %1$I (after grant create on database %2$I to %1$I)', pg_get_userbyid(owner), current_database())
                else 'Give that to the tables'' owner' end
    from foreign_owned left join uses using (class, id) where uses.id is not null or false
    union all
    select 3, format('the right %s on %s', privilege, relation::regclass), grantee,
           -- To revoke a right on a table takes those on its columns as well.
           format('Revoke trigger, references on %s from %s', relation::regclass, name)
    from foreign_rights join names on role = grantee
    where privilege in ('TRIGGER', 'REFERENCES')
      and (false or relation in (select id from reached where class = 'pg_class'::regclass))
    union all
    select 4, format('the schema %I', name), owner,
           format('Run alter schema %I owner to %I', name, owner_of_tables)
               || case when is_of_database then format(', or alter database %I owner to %I', current_database(), owner_of_tables) else '' end
    from schemas where owner not in (select role from trusted)
)
select case when rolsuper then format('this role, %1$I, is a superuser, and %2$s belongs to %3$s', rolname, what, name)
            else format('%2$s belongs to %3$s, and this role, %1$I, is no member of that role', rolname, what, name) end
    || format(': whoever may %s would get ',
              case place when 4 then 'put other tables in the place of the host''s' else 'change what the host''s tables run' end)
    || case when rolsuper then 'a superuser''s rights. ' else 'this role''s rights. ' end
    || remedy
    || case when false then '' when rolsuper then ', or add --as-superuser'
            else ', or name the host if you trust that role: --host prefect' end
from me, things join names on role = owner
where case when rolsuper then not false else not false end
order by place, what limit 1
    loop
        raise exception '%', refusal;
    end loop;
    perform set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = 'sweep';
end $$;
set local search_path = sweep, pg_temp;
create table if not exists __diesel_schema_migrations (
    version varchar(50) primary key not null,
    run_on timestamp not null default current_timestamp
);

-- postgres/2026-11-24-001000_ids
-- The type of the host's ids. sweep binds each id as text and casts it to this domain: decisions.md#ids
create domain id as uuid;
insert into __diesel_schema_migrations (version) values ('20261124001000');

-- ledger/2026-11-24-001001_ledger
-- sweep's own tables, on every host: its sweeps, what they did about each subject, what operators said, what failed, and the
-- notifications for people. Each text has a bound, since a sweep reads all of them.

-- The host of this database, and which database it is. Only `sweep migrate` writes the row. decisions.md#a-recorded-host
create table host (
    only_row boolean primary key default true check (only_row),
    database_id uuid not null default gen_random_uuid(),
    name text check (length(name) <= 100) not null,
    files jsonb check (length(files::text) <= 1000000),  -- the text of each file of the host's folder; null: the host is built in
    relations jsonb check (length(relations::text) <= 100000) not null  -- the tables and views that there were after the migration
);

create table sweeps (
    id uuid primary key,
    host text check (length(host) <= 100) not null,
    version text check (length(version) <= 100) not null,
    started_at timestamptz check (started_at >= '0001-01-01Z' and started_at < '10000-01-01Z') not null default clock_timestamp(),
    finished_at timestamptz check (finished_at >= '0001-01-01Z' and finished_at < '10000-01-01Z'),  -- null: running, or killed before it could close
    ended          text check (ended in ('completed', 'interrupted', 'failed')),
    counts jsonb check (length(counts::text) <= 200000) not null default '{}',  -- outcomes by kind, as in the JSON report
    oldest_left_at timestamptz check (oldest_left_at >= '0001-01-01Z' and oldest_left_at < '10000-01-01Z'),  -- since when the oldest subject that was left has been idle
    exit_code      integer,  -- null: the sweep has not finished
    succeeded boolean not null default false,  -- the sweep examined everything and did all that it had to
    partial boolean not null default false,  -- the sweep did not examine everything: decisions.md#partial-sweeps
    policy jsonb check (length(policy::text) <= 100000) not null default '{}',  -- the settings by which the sweep decided
    shard          integer not null default 0,  -- which part of a sweep that several share, from 0 ...
    shards         integer not null default 1,  -- ... of how many
    is_restricted boolean not null default false,  -- its settings bound it to a part of the work; `partial` counts its deadline as well
    -- How much the ledger had ever recorded when the sweep closed: the next count begins there, and pruning does not lower it.
    -- decisions.md#metrics-come-from-the-database
    ledger_until timestamptz check (ledger_until >= '0001-01-01Z' and ledger_until < '10000-01-01Z'),  -- all rows of the ledger before it ...
    ledger_counts jsonb check (length(ledger_counts::text) <= 100000)  -- ... by kind and action
);
create index sweeps_started_at on sweeps (started_at);
-- The questions of every sweep must not cost more as sweeps and their ledger grow.
create index sweeps_whole on sweeps (finished_at) where not is_restricted and finished_at is not null;
create index sweeps_whole_by_shard on sweeps (shards, shard, finished_at) where not is_restricted and finished_at is not null;
create index sweeps_succeeded on sweeps (shards, shard, finished_at)
    where succeeded;
create index sweeps_counted on sweeps (started_at) where ledger_until is not null;

-- The ledger: one row for each attempt, escalation, recovery, handover and report of abandoned work, of all kinds of subject.
create table recoveries (
    id uuid primary key,
    sweep_id uuid not null,  -- no foreign key: sweeps may be pruned, and every worker would lock that row
    kind text check (length(kind) <= 100) not null,
    subject_id uuid check (length(subject_id::text) <= 1000) not null,
    action           text not null check (action in ('continue', 'escalate', 'recover', 'hand_over', 'abandon')),
    reason text check (length(reason) <= 10000) not null,
    episode_began_at timestamptz check (episode_began_at >= '0001-01-01Z' and episode_began_at < '10000-01-01Z') not null,
    attempt          integer not null check (attempt >= 0),
    wake_id uuid,
    agent_id uuid check (length(agent_id::text) <= 1000),  -- the subject's agent at that time; with its tenant, the exemptions that apply
    tenant text check (length(tenant) <= 1000),
    requested_by text check (length(requested_by) <= 200),  -- the person who asked for it by a command; null: a sweep did it
    blocked_subject boolean not null default false,  -- this escalation set the subject blocked
    created_at timestamptz check (created_at >= '0001-01-01Z' and created_at < '10000-01-01Z') not null default clock_timestamp(),
    settled_at timestamptz check (settled_at >= '0001-01-01Z' and settled_at < '10000-01-01Z')  -- null: open, the last thing that sweep did, of which nothing has come yet
);
-- The bound on attempts holds even if every lock failed: the second writer of the same attempt loses.
create unique index recoveries_once on recoveries (kind, subject_id, episode_began_at, action, attempt)
    where action not in ('recover', 'hand_over', 'abandon');
create unique index recoveries_open on recoveries (kind, subject_id) where settled_at is null;
create index recoveries_history on recoveries (kind, subject_id, created_at);
create index recoveries_by_wake on recoveries (kind, subject_id, wake_id) where wake_id is not null;
create index recoveries_blocking on recoveries (kind, created_at, subject_id) where settled_at is null and blocked_subject;
create index recoveries_created_at on recoveries (created_at);

-- The policy that the views of the boards read: one row, into which each migration and each sweep of everything writes the limits of
-- src/rules/policy.rs, and the statuses, states and texts of src/rules/board.rs. So none of these stands in SQL.
create table policy (
    only_row boolean primary key default true check (only_row),
    orphan_grace_seconds float8 not null check (orphan_grace_seconds between 0 and 1e10),
    step_stalled_after_seconds float8 not null check (step_stalled_after_seconds between 0 and 1e10),
    session_silent_after_seconds float8 not null check (session_silent_after_seconds between 0 and 1e10),
    run_silent_after_seconds float8 not null check (run_silent_after_seconds between 0 and 1e10),
    wake_stuck_after_seconds float8 not null check (wake_stuck_after_seconds between 0 and 1e10),
    nudge_delay_seconds float8 not null check (nudge_delay_seconds between 0 and 1e10),
    clock_ahead_max_seconds float8 not null check (clock_ahead_max_seconds between 0 and 1e10),
    attempts_max bigint not null check (0 <= attempts_max),
    attempts_per_day_max bigint not null check (0 <= attempts_per_day_max),
    vocabulary jsonb check (length(vocabulary::text) <= 100000) not null check (jsonb_typeof(vocabulary) = 'object')
);

-- Operators declare here that work is in progress on purpose: one subject, or all work of an agent; of a tenant in the table below.
create table exemptions (
    kind text check (length(kind) <= 100) not null,  -- the kind of the subject, or agent
    subject_id uuid check (length(subject_id::text) <= 1000) not null,
    reason text check (length(reason) <= 2000) not null,
    until timestamptz check (until >= '0001-01-01Z' and until < '10000-01-01Z'),  -- when the exemption ends; null: when it is removed
    created_at timestamptz check (created_at >= '0001-01-01Z' and created_at < '10000-01-01Z') not null default clock_timestamp(),
    primary key (kind, subject_id)
);

create table tenant_exemptions (
    tenant text check (length(tenant) <= 1000) not null primary key,
    reason text check (length(reason) <= 2000) not null,
    until timestamptz check (until >= '0001-01-01Z' and until < '10000-01-01Z'),
    created_at timestamptz check (created_at >= '0001-01-01Z' and created_at < '10000-01-01Z') not null default clock_timestamp()
);

-- Failures of subjects. A subject that keeps failing is quarantined, and costs nothing any more.
create table failures (
    kind text check (length(kind) <= 100) not null,
    subject_id uuid check (length(subject_id::text) <= 1000) not null,
    sweeps         integer not null default 1,  -- how many sweeps in a row it failed; 0: the last one succeeded
    reason text check (length(reason) <= 1000) not null,  -- why it failed last
    last_at timestamptz check (last_at >= '0001-01-01Z' and last_at < '10000-01-01Z') not null default clock_timestamp(),
    quarantined_at timestamptz check (quarantined_at >= '0001-01-01Z' and quarantined_at < '10000-01-01Z'),  -- null: the subject is still examined
    primary key (kind, subject_id)
);

-- Notifications for people, each written in the transaction of the event that it reports.
create table notifications (
    id uuid primary key,  -- the key by which a receiver knows it again
    destination text check (length(destination) <= 100) not null,  -- slack or webhook; only the configuration has the address
    event        text not null check (event in ('escalated', 'guard_stopped', 'quarantined', 'session_stuck', 'recovered', 'host_blocked', 'unstarted', 'wakes_stuck', 'abandoned')),
    kind text check (length(kind) <= 100) not null,
    part text check (length(part) <= 3000) not null default '',  -- the part of the kind that the guard holds back; '': the whole kind
    subject_id uuid check (length(subject_id::text) <= 1000),  -- null: the notification is about the whole kind
    sweep_id uuid not null,
    details jsonb check (length(details::text) <= 100000) not null,
    created_at timestamptz check (created_at >= '0001-01-01Z' and created_at < '10000-01-01Z') not null default clock_timestamp(),
    message_id uuid,  -- the message in which it is sent; null: it was not tried yet
    attempts     integer not null default 0,
    due_at timestamptz check (due_at >= '0001-01-01Z' and due_at < '10000-01-01Z') not null default clock_timestamp(),
    delivered_at timestamptz check (delivered_at >= '0001-01-01Z' and delivered_at < '10000-01-01Z'),
    dead_at timestamptz check (dead_at >= '0001-01-01Z' and dead_at < '10000-01-01Z'),  -- when its delivery was given up
    last_error text check (length(last_error) <= 10000)
);
create index notifications_waiting on notifications (due_at) where delivered_at is null and dead_at is null;
create index notifications_message on notifications (message_id) where delivered_at is null and dead_at is null;
create index notifications_dead on notifications (dead_at) where dead_at is not null;
create index notifications_of_guard on notifications (kind, destination, part, created_at) where event = 'guard_stopped';
create index notifications_of_wakes on notifications (destination, part, created_at, id) where event = 'wakes_stuck';
insert into __diesel_schema_migrations (version) values ('20261124001001');

-- ledger_views/2026-11-24-001002_ledger_views
-- Views of the ledger for other views.

-- The reasons for a subject's state: the state that each means, and its text for people.
create view board_texts as
select r.key as reason, r.value ->> 'state' as state, r.value ->> 'text' as text
from (select * from policy limit 1) p cross join jsonb_each(p.vocabulary -> 'reasons') r;

-- The ledger's open rows. A row in the future is the mistake of a clock: `since` is then the beginning of the episode that it names.
-- decisions.md#times-in-the-future
create view open_recoveries as
select r.id, r.kind, r.subject_id, r.action, r.blocked_subject,
       case when r.created_at > statement_timestamp() + make_interval(secs => coalesce((select clock_ahead_max_seconds from policy), 0))
            then r.episode_began_at else r.created_at end as since
from recoveries r where r.settled_at is null;

-- The exemptions of agents.
create view agent_exemptions as
select subject_id as agent_id, reason, until from exemptions where kind = 'agent';
insert into __diesel_schema_migrations (version) values ('20261124001002');

-- hosts/prefect/postgres/2026-11-24-001251_work
-- Prefect's flow runs as issues, and its deployments as their agents. docs/prefect.md says what each state of Prefect's becomes.

create view host_behavior as
select 0::float8 as run_end_grace_seconds,
       'press Retry in Prefect''s UI, or run `prefect flow-run retry`. A run without a deployment is started anew where it was started'
           as resume_advice;

-- The work queues from which no worker takes runs, each with the reason.
create view paused_queues as
select q.id, case when q.is_paused then 'its work queue ' || left(q.name, 200) else 'its work pool ' || left(p.name, 200) end
           || ' is paused' as reason
from public.work_queue q join public.work_pool p on p.id = q.work_pool_id
where q.is_paused or p.is_paused;

-- Prefect's deployments. Subqueries in place of joins, so that a lock of an agent locks its deployment and nothing else.
create view agents as
select d.id,
       (select left(f.name, 500) from public.flow f where f.id = d.flow_id) || '/' || left(d.name, 499) as name,
       case when d.paused or exists (select from paused_queues q where q.id = d.work_queue_id) then 'paused' else 'active' end as status
from public.deployment d;

-- Whether a flow run's process is alive. The process sends a heartbeat every three minutes, unless its operator chose another time; it is
-- silent after three missed ones, and ten minutes. Without heartbeats (switched off, or an older Prefect) only its flow's log and its tasks
-- show that it lives, and a flow may be quiet for long.
create view signs_of_life as
select f.id as flow_run_id,
       heartbeat.at is not null as has_heartbeats,
       greatest(f.state_timestamp, heartbeat.at, tasks.last_at) > silent.before
           or exists (select from public.log l where l.flow_run_id = f.id and l.timestamp > silent.before) as is_alive,
       greatest(f.created, f.state_timestamp, heartbeat.at, tasks.last_at,
                (select max(l.timestamp) from public.log l where l.flow_run_id = f.id)) as last_at
from public.flow_run f
cross join lateral (
    -- The filter keeps PostgreSQL from looking for the maximum in the index by time, through the task runs of all flow runs.
    select max(t.updated) filter (where true) as last_at from public.task_run t where t.flow_run_id = f.id
) tasks
cross join lateral (
    select max(h.at) as at, max(h.at) - min(h.at) as every
    from (select e.occurred as at from public.events e
          where e.event = 'prefect.flow-run.heartbeat' and e.resource_id = 'prefect.flow-run.' || f.id::text
            -- Outside of these years two times may have no interval. A plain bound on the column would have PostgreSQL use its index.
            and extract(year from e.occurred) between 1 and 9999
          order by e.occurred desc limit 2) h
) heartbeat
cross join lateral (
    select statement_timestamp() - case when heartbeat.at is null then interval '1 hour'
                                        else least(greatest(3 * heartbeat.every, interval '10 minutes'), interval '1 hour') end as before
) silent;

create view issues as
select f.id,
       'default'::text as tenant,
       -- An index of Prefect's bounds the length of this name.
       f.name as identifier,
       (select left(flow.name, 500) from public.flow where flow.id = f.flow_id)
           || coalesce('/' || (select left(d.name, 499) from public.deployment d where d.id = f.deployment_id), '') as title,
       case when f.state_type in ('RUNNING', 'PAUSED') then 'in_progress'
            -- A flow run that was at work before, and is to be started again.
            when f.state_type in ('SCHEDULED', 'PENDING') and f.start_time is not null then 'in_progress'
            when f.state_type in ('SCHEDULED', 'PENDING') then 'todo'
            when f.state_type = 'COMPLETED' then 'done'
            -- A process that died unseen, or was found dead: a person has to look.
            when f.state_type = 'CRASHED' then 'blocked'
            else coalesce(lower(f.state_type::text), 'todo') end as status,
       -- A run without a deployment gets an agent that does not exist, and `unreachable` says why.
       coalesce(f.deployment_id, f.flow_id) as assignee_agent_id,
       null::text as assignee_user_id,
       null::uuid as checkout_run_id,
       null::text as unblock_action,
       case when f.state_type <> 'PAUSED' then null
            when exists (select from public.flow_run_input i where i.flow_run_id = f.id)
                then 'input by a person, it is ' || left(coalesce(f.state_name, f.state_type::text), 100)
            else 'somebody resumes it, it is ' || left(coalesce(f.state_name, f.state_type::text), 100) end as waiting_for,
       null::timestamptz as wait_until,
       f.start_time as started_at,
       f.created as created_at,
       (select s.last_at from signs_of_life s where s.flow_run_id = f.id) as updated_at,
       -- A run's queue may be another than its deployment's.
       (select q.reason from paused_queues q where q.id = f.work_queue_id) as obstacle,
       case when f.state_type = 'SCHEDULED' and f.next_scheduled_start_time > statement_timestamp()
            then 'it is ' || left(coalesce(f.state_name, f.state_type::text), 100) || ', for '
                 || coalesce(to_char(f.next_scheduled_start_time at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), 'ever') end
           as host_plan,
       case when f.deployment_id is not null then null
            when f.parent_task_run_id is not null then 'it is a subflow in another run''s process, and only that run can start it again'
            when f.work_queue_id is not null then 'its deployment was deleted, and no worker takes up a run without one'
            else 'it has no deployment: no worker takes it up' end as unreachable
from public.flow_run f;

-- The flow runs in progress, found by Prefect's index on the state; no index serves for the status above.
create view open_issues as
select i.* from public.flow_run f join issues i on i.id = f.id
where f.state_type in ('RUNNING', 'PAUSED', 'PENDING') or f.state_type = 'SCHEDULED' and f.start_time is not null;
insert into __diesel_schema_migrations (version) values ('20261124001251');

-- hosts/prefect/postgres/2026-11-24-001252_runs_and_wakes
-- The history of a flow run's states, as runs and wakes. The states are read in their order, by Prefect's index on run and time.

-- A run of an issue is a stretch in which its flow run was RUNNING. Its id is that of the state before, which was its wake.
create view runs as
select a.id,
       coalesce(f.deployment_id, f.flow_id) as agent_id,
       a.flow_run_id as issue_id,
       a.id as wake_id,
       -- A state that follows RUNNING directly resumes it: Prefect's own retry of a flow that failed, or sweep's wake.
       case when before.type = 'RUNNING' then 'retry' end as retry_reason,
       case when f.state_id is distinct from began.id then
                case coalesce(ended.type, f.state_type)
                    when 'COMPLETED' then 'succeeded' when 'FAILED' then 'failed' when 'CRASHED' then 'failed'
                    when 'CANCELLED' then 'cancelled' when 'CANCELLING' then 'cancelled' else 'interrupted' end
            when life.is_alive then 'running'
            when life.has_heartbeats then 'interrupted: its heartbeats have stopped'
            else 'interrupted: it shows nothing, and no heartbeat of it is known' end as status,
       began.timestamp as created_at,
       case when f.state_id is distinct from began.id then coalesce(ended.timestamp, f.state_timestamp)
            when life.is_alive then null
            else life.last_at end as finished_at
from public.flow_run_state a
join public.flow_run f on f.id = a.flow_run_id
join signs_of_life life on life.flow_run_id = f.id
left join lateral (
    select s.type from public.flow_run_state s where s.flow_run_id = a.flow_run_id and s.timestamp < a.timestamp
    order by s.timestamp desc limit 1
) before on true
cross join lateral (
    select s.id, s.type, s.timestamp from public.flow_run_state s
    where s.flow_run_id = a.flow_run_id and s.timestamp >= a.timestamp and s.type not in ('SCHEDULED', 'PENDING')
    order by s.timestamp limit 1
) began
left join lateral (
    select s.type, s.timestamp from public.flow_run_state s where s.flow_run_id = a.flow_run_id and s.timestamp > began.timestamp
    order by s.timestamp limit 1
) ended on true
where a.type in ('SCHEDULED', 'PENDING', 'RUNNING') and before.type in ('SCHEDULED', 'PENDING') is not true and began.type = 'RUNNING';

-- The wakes that sweep made: states whose ids the ledger has.
create view wakes as
select s.id, coalesce(f.deployment_id, f.flow_id) as agent_id, f.id as issue_id, 'issue_continuation_needed' as reason, '{}'::jsonb as payload,
       'sweep' as requested_by, case when f.state_id = s.id then 'queued' else 'completed' end as status, r.created_at
from public.flow_run_state s
join public.flow_run f on f.id = s.flow_run_id
join recoveries r on r.kind = 'issue' and r.subject_id = f.id and r.wake_id = s.id;

-- Flow runs that are due and have not begun, whoever scheduled them. sweep's own view of pending wakes would read the history of all runs.
create view pending_wakes as
select f.state_id as id, f.id as issue_id,
       case f.state_type when 'SCHEDULED' then f.next_scheduled_start_time else f.state_timestamp end as created_at,
       'it is ' || left(coalesce(f.state_name, f.state_type::text), 100)
           || coalesce(' in the work queue ' || (select left(q.name, 200) from public.work_queue q where q.id = f.work_queue_id), '') as detail
from public.flow_run f
where f.state_type = 'PENDING' or f.state_type = 'SCHEDULED' and f.next_scheduled_start_time <= statement_timestamp();

create view untaken_wakes as
select w.id, 'issue' as kind, i.id as subject_id, i.tenant, i.identifier::text as identifier, i.title, i.assignee_agent_id as agent_id,
       a.name as agent_name,
       case when i.obstacle is not null then 'paused' else coalesce(a.status, 'terminated') end as agent_status, w.created_at
from pending_wakes w
join issues i on i.id = w.issue_id
left join agents a on a.id = i.assignee_agent_id;

-- The times at which wakes were taken up, by Prefect's indexes on these columns; the history of states has no such index.
create view wake_pickups as
select f.state_id as wake_id, f.start_time as taken_at from public.flow_run f where f.start_time is not null
union all
select f.state_id, f.state_timestamp from public.flow_run f where f.state_type = 'RUNNING' and f.run_count > 1;

-- Moves a flow run into a state. The new state gets a time after all others, even if another machine's clock is ahead.
-- decisions.md#times-in-the-future
create function enter_state(run uuid, state uuid, state_type public.state_type, state_name text, message text, details jsonb)
returns void language plpgsql security definer set search_path = sweep, pg_temp as $$
declare
    at timestamptz := greatest(clock_timestamp(),
        (select max(s.timestamp) + interval '1 microsecond' from public.flow_run_state s where s.flow_run_id = run));
begin
    insert into public.flow_run_state (id, flow_run_id, type, name, timestamp, message, state_details)
    values (state, run, state_type, state_name, at, message, jsonb_build_object('flow_run_id', run) || details);
    update public.flow_run f
    set state_id = state, state_type = enter_state.state_type, state_name = enter_state.state_name, state_timestamp = at,
        updated = clock_timestamp()
    where f.id = run;
end $$;

-- Writes a wake as Prefect's own Retry does: a state that the workers of its queue poll for. The trigger examines the flow run again; the
-- sweep has locked its row and its deployment's.
create function insert_wake() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    if not exists (
        select from issues i join agents a on a.id = i.assignee_agent_id join public.flow_run f on f.id = i.id
        where i.id = new.issue_id and a.id = new.agent_id and a.status = 'active' and f.state_type = 'RUNNING'
          and i.unreachable is null and i.obstacle is null
          and not exists (select from runs r where r.issue_id = i.id and r.status = 'running')
    ) then
        raise exception 'flow run % is no longer as it was seen', new.issue_id using errcode = 'serialization_failure';
    end if;
    perform enter_state(new.issue_id, new.id, 'SCHEDULED', 'AwaitingRetry',
                        'sweep: nobody was at work on it any more, so it is started once more',
                        jsonb_build_object('scheduled_time', clock_timestamp()));
    -- The policy of Prefect's own Retry: without it, workers leave the run to the process that was to try it again.
    update public.flow_run
    set next_scheduled_start_time = clock_timestamp(),
        empirical_policy = empirical_policy || '{"retry_type": "reschedule", "resuming": false, "pause_keys": []}'
    where id = new.issue_id;
    return new;
-- The detail of this error would show the host's whole row to a role that may not read it.
exception when integrity_constraint_violation then
    raise exception using message = sqlerrm, errcode = sqlstate;
end $$;
create trigger insert_wake instead of insert on wakes for each row execute function insert_wake();

-- Escalates a flow run: sets it CRASHED, and its timeline says what to do. That frees its place under the limits that count runs at
-- work, and a person can press Retry.
create function update_issue() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    if new.status is distinct from 'blocked' or old.status <> 'in_progress' then
        raise exception 'sweep sets a flow run crashed that was in progress, and nothing else';
    end if;
    perform enter_state(old.id, gen_random_uuid(), 'CRASHED', 'Crashed',
                        'sweep: this run needs a person. ' || left(new.unblock_action, 2000), '{}');
    update public.flow_run set end_time = state_timestamp, next_scheduled_start_time = null where id = old.id;
    return new;
-- The detail of this error would show the host's whole row to a role that may not read it.
exception when integrity_constraint_violation then
    raise exception using message = sqlerrm, errcode = sqlstate;
end $$;
create trigger update_issue instead of update on issues for each row execute function update_issue();

-- The artifacts of flow runs, which people read beside the states, as comments.
create view comments as
select a.id, a.flow_run_id as issue_id, 'somebody' as author, left(a.data #>> '{}', 1000) as body
from public.artifact a where a.type = 'markdown' and a.flow_run_id is not null;

create function insert_comment() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    insert into public.artifact (id, type, flow_run_id, description, data)
    select new.id, 'markdown', f.id, 'sweep: this run needs a person', to_json(new.body) from public.flow_run f where f.id = new.issue_id;
    return case when found then new end;
end $$;
create trigger insert_comment instead of insert on comments for each row execute function insert_comment();

-- Without this, anybody could put one of these functions on a table of their own, and write with its owner's rights.
revoke execute on function enter_state, insert_wake, update_issue, insert_comment from public;
insert into __diesel_schema_migrations (version) values ('20261124001252');

-- facts/shared/postgres/2026-11-24-001351_runs_and_wakes
-- The runs that work on issues and steps, and the wakes that are on their way.

-- The runs of each issue. A continuation is a run that sweep or the host started to resume work; any other retry belongs to the
-- episode as well: decisions.md#a-retry-belongs-to-its-episode
-- The scalar subqueries are no `exists`, which PostgreSQL could plan as a hash of all wakes, built anew for every issue.
create view issue_runs as
select r.id, r.issue_id, r.wake_id, r.status, r.created_at, r.finished_at, r.retry_reason,
       r.status in ('queued', 'scheduled_retry', 'running') as live,
       coalesce(r.retry_reason = 'issue_continuation_needed', false)
           or coalesce((select w.reason = 'issue_continuation_needed' from wakes w where w.id = r.wake_id), false) as is_continuation,
       coalesce((select w.requested_by = 'sweep' from wakes w where w.id = r.wake_id), false) as is_ours
from runs r
where r.issue_id is not null;
insert into __diesel_schema_migrations (version) values ('20261124001351');

-- facts/shared/both/2026-11-24-001352_shared_by_kinds
-- Views that the facts of all kinds share. docs/host-reference.md explains every column.

-- sweep's wakes that were dropped, or whose agent was terminated, before any run: none of them is an attempt.
create view unserved_continuations as
select c.kind, c.subject_id, c.created_at
from recoveries c join wakes w on w.id = c.wake_id join agents a on a.id = w.agent_id
where c.action = 'continue'
  and (w.status in ('cancelled', 'skipped') or a.status = 'terminated' and w.status in ('queued', 'deferred', 'claimed'))
  and not exists (select 1 from runs r where r.wake_id = w.id);

-- Continuations that were not needed: a run that had begun before the wake, and was not started by it, reported afterwards, so its owner was
-- alive. Only success is a report, since others too fail, time out, interrupt or cancel a run. The latest of the earlier runs are read: all
-- of them for each continuation would cost the product of both numbers.
create view false_rescues as
select recovery_id, subject_id, kind, continued_at, reported_at
from (
    select c.id as recovery_id, c.subject_id, c.kind, c.created_at as continued_at, (
        select min(r.finished_at)
        from (
            select * from (select r.* from runs r where r.issue_id = i.id and r.created_at < c.created_at order by r.created_at desc limit 100) r
        ) r
        where r.status = 'succeeded' and c.created_at < r.finished_at and r.wake_id is distinct from c.wake_id
    ) as reported_at
    from recoveries c left join issues i on c.kind = 'issue' and i.id = c.subject_id
    where c.action = 'continue'
) c
where reported_at is not null;
insert into __diesel_schema_migrations (version) values ('20261124001352');

-- facts/issue/both/2026-11-24-001353_issue_candidates
-- The candidates among the issues.

-- The issues in progress, healthy or not. The candidates are a share of them.
create view issue_subjects as
select i.id as subject_id, i.assignee_agent_id as group_id, i.tenant from open_issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null;

-- Issues in progress that an agent has, and on which at first sight nobody works. A wake hides its issue for a minute only:
-- decisions.md#a-wake-hides-its-issue-for-a-minute. The tenant is in the scan, so that one company can be
-- swept alone; the agent is the group, so that its oldest work is examined first however many workers there are.
create view unattended_issues as
select i.id as subject_id, i.assignee_agent_id as group_id, i.updated_at as since, i.tenant
from open_issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null
  and not exists (select 1 from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running'))
  -- Two comparisons: of a `between` PostgreSQL expects so few rows that it would compare each issue with each wake.
  and not exists (select 1 from pending_wakes w where w.issue_id = i.id
                  and w.created_at > statement_timestamp() - make_interval(secs => 60) and (w.created_at > statement_timestamp()) is not true);

create view issue_candidates as
select subject_id, group_id, since, tenant from unattended_issues
union all
select i.id, coalesce(i.assignee_agent_id, i.id), i.updated_at, i.tenant
from recoveries r join issues i on i.id = r.subject_id
where r.kind = 'issue' and r.settled_at is null and not (r.blocked_subject and i.status = 'blocked')
  and not exists (select 1 from unattended_issues u where u.subject_id = i.id);
insert into __diesel_schema_migrations (version) values ('20261124001353');

-- facts/issue/postgres/2026-11-24-001354_issue_facts
-- The facts of an issue that decide. docs/host-reference.md explains every column.

-- The continuations that are on their way to an issue: its own wakes, those of the steps of its plans, and relaunches of its sessions.
-- decisions.md#linked-work
create view issue_continuations as
select w.issue_id, null::id as session_id, w.created_at, w.detail from pending_wakes w where w.issue_id is not null;

-- The oldest continuation that is on its way to an issue.
create view issue_pending as
select c.issue_id, min(c.created_at) as created_at, (array_agg(c.detail order by c.created_at))[1] as detail
from issue_continuations c group by c.issue_id;

create view issue_facts as
select
    i.id as subject_id,
    i.tenant,
    i.identifier,
    left(i.title, 1000) as title,
    i.status,
    i.assignee_agent_id as agent_id,
    left(a.name, 1000) as agent_name,
    a.status as agent_status,
    i.assignee_user_id is not null as assigned_to_user,
    exists (select from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running'))
        or coalesce((select r.status in ('queued', 'scheduled_retry', 'running') from runs r where r.id = i.checkout_run_id), false)
        as has_live_run,
    pending.created_at as pending_wake_since,
    pending.detail as pending_wake,
    case when i.waiting_for is not null and coalesce(i.wait_until > statement_timestamp(), true) then left(i.waiting_for, 1000)
         when i.wait_until > statement_timestamp() then coalesce('until ' || to_char(i.wait_until at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), 'for ever') end
        as declared_wait,
    left(i.obstacle, 1000) as obstacle,
    run.last_id as last_run_id,
    run.last_ended_at as last_run_ended_at,
    run.last_end as last_run_end,
    null::text as last_run_error,
    null::id as last_run_agent_id,
    left(i.host_plan, 1000) as host_plan,
    left(i.unreachable, 1000) as unreachable,
    null::text as unstarted,
    behavior.run_end_grace_seconds,
    behavior.resume_advice,
    null::text as resume_commands,
    greatest(i.updated_at, run.last_sign_at
    ) as idle_since,
    episode.began_at as episode_began_at,
    continuation.since_episode - unserved.since_episode as attempts,
    unserved.since_episode as attempts_unserved,
    continuation.last_day as attempts_last_day,
    continuation.last_at as last_attempt_at,
    run.last_continuation_ended_at as last_attempt_ended_at,
    coalesce(o.action = 'escalate' and not o.blocked_subject and o.since >= episode.began_at, false) as escalated,
    escalation.last_day as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    statement_timestamp() as observed_at
from issues i
cross join host_behavior behavior
left join agents a on a.id = i.assignee_agent_id
left join issue_pending pending on pending.issue_id = i.id
left join open_recoveries o on o.kind = 'issue' and o.subject_id = i.id
                      and not (o.blocked_subject and i.status = 'blocked')
-- One pass each over an issue's runs, its escalations and its continuations. The latest thousand runs tell enough.
left join lateral (
    select (array_agg(r.id order by r.created_at desc, r.id))[1] as last_id,
           max(coalesce(r.finished_at, r.created_at)) as last_sign_at,
           max(r.finished_at) filter (where not r.live) as last_ended_at,
           (array_agg('run ' || left(r.id::text, 8) || ' ' || replace(r.status, '_', ' ') order by r.created_at desc, r.id)
               filter (where not r.live))[1] as last_end,
           max(r.finished_at) filter (where r.is_continuation or r.is_ours) as last_continuation_ended_at,
           max(r.created_at) filter (where r.retry_reason is null and not r.is_continuation and not r.is_ours) as last_own_at,
           -- The continuations that the host queued itself; the ledger counts sweep's own.
           array_agg(r.created_at) filter (
               where r.is_continuation
                 and not exists (select from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.wake_id = r.wake_id)
           ) as continued_at
    from (select * from issue_runs r where r.issue_id = i.id order by r.created_at desc, r.id limit 1000) r
) run on true
left join lateral (
    -- An escalation in the future is a clock's mistake and began no episode: decisions.md#times-in-the-future
    select max(e.created_at) filter (where e.created_at <= statement_timestamp()) as last_at,
           count(*) filter (where e.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as last_day
    from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
) escalation on true
cross join lateral (
    select greatest(coalesce(i.started_at, i.created_at), run.last_own_at, escalation.last_at) as began_at
) episode
-- Every continuation counts as an attempt, sweep's and the host's alike; the ledger's number outlives runs that the host prunes.
left join lateral (
    select greatest(count(*) filter (where c.created_at >= episode.began_at),
                    max(c.attempt) filter (where c.created_at >= episode.began_at)) as since_episode,
           count(*) filter (where c.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as last_day,
           max(c.created_at) as last_at
    from (select r.created_at, r.attempt from recoveries r where r.kind = 'issue' and r.subject_id = i.id and r.action = 'continue'
          union all
          select unnest(run.continued_at), null) c
) continuation on true
left join lateral (
    select count(*) as since_episode from unserved_continuations c
    where c.kind = 'issue' and c.subject_id = i.id and c.created_at >= episode.began_at
) unserved on true;
insert into __diesel_schema_migrations (version) values ('20261124001354');

-- board/agents/2026-11-24-001400_agent_names
-- The names of agents. A count by agent joins them last, since there may be very many rows.
create view agent_names as
select id as agent_id, substr(name, 1, 1000) as agent_name from agents;
insert into __diesel_schema_migrations (version) values ('20261124001400');

-- board/issue/2026-11-24-001402_issue_state
-- The facts and exemptions by which sweep decides.
create view issue_decided_facts as
select f.*, e.reason as exemption, e.until as exemption_until, ea.reason as agent_exemption, ea.until as agent_exemption_until,
       et.reason as tenant_exemption, et.until as tenant_exemption_until,
       -- take_issue fills these in: whether it holds the subject, and the agent and the issue that it holds with it.
       false as held, cast(null as id) as held_agent_id, cast(null as id) as held_issue_id
from issue_facts f
left join exemptions e on e.kind = 'issue' and e.subject_id = f.subject_id
left join agent_exemptions ea on ea.agent_id = f.agent_id
left join tenant_exemptions et on et.tenant = f.tenant;

-- Issues that sweep blocked and no person has taken back. There may be very many, so nothing here reads their facts, and the cross join
-- keeps SQLite from starting with the issues, all of which it would have to sort.
create view escalated_issues as
select r.subject_id, i.tenant, i.identifier, substr(i.title, 1, 1000) as title, i.assignee_agent_id as agent_id,
       substr(a.name, 1, 1000) as agent_name, r.reason, r.attempt, r.created_at as since,
       (select max(c.created_at) from recoveries c where c.kind = 'issue' and c.subject_id = r.subject_id and c.action = 'continue')
           as last_attempt_at
from recoveries r
cross join issues i
left join agents a on a.id = i.assignee_agent_id
where i.id = r.subject_id and i.status = 'blocked' and r.kind = 'issue' and r.settled_at is null and r.blocked_subject;


create view issue_outlines with (security_barrier) as
select s.subject_id, s.tenant, s.group_id as agent_id, f.agent_status, f.observed_at, f.reason
from issue_subjects s
cross join lateral (
        select f.agent_status, f.observed_at, case
            when f.has_live_run then 'live_run' end as reason
        from issue_facts f left join (select * from policy limit 1) p on true
        where f.subject_id = s.subject_id and true offset 0
    ) f;


-- Why each issue in progress is in its state.
create view issue_reasons as
select o.subject_id, o.tenant, o.agent_id, f.idle_since, f.open_recovery_action, f.pending_wake_since,
       coalesce(o.reason, f.reason) as reason
from issue_outlines o
left join exemptions e on e.kind = 'issue' and e.subject_id = o.subject_id
                          and (e.until is null or o.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = o.agent_id and (ea.until is null or o.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = o.tenant and (et.until is null or o.observed_at < et.until)
left join lateral (
        select f.idle_since, f.open_recovery_action, f.pending_wake_since, case
            when f.pending_wake_since between f.observed_at - make_interval(secs => p.wake_stuck_after_seconds)
                 and f.observed_at + make_interval(secs => p.clock_ahead_max_seconds) then 'pending_wake'
            when f.pending_wake_since is not null then 'stuck_wake'
            when f.declared_wait is not null then 'declared_wait'
            when f.host_plan is not null then 'host_plan'
            when f.observed_at - make_interval(secs => f.run_end_grace_seconds) <= f.last_run_ended_at then 'recent'
            when f.observed_at < f.episode_began_at
                 or f.observed_at - make_interval(secs => p.orphan_grace_seconds) <= f.idle_since then 'recent'
            when e.reason is not null or ea.reason is not null or et.reason is not null then 'exempt'
            when o.agent_id is not null and o.agent_status is null and f.unreachable is null then 'no_such_agent'
            when o.agent_id is not null and not (p.vocabulary -> 'wakeable' ? o.agent_status) is true then 'unavailable'
            when f.obstacle is not null then 'obstacle'
            when f.escalated then 'escalated'
            -- A subject that has used up its escalations of a day is left.
            when greatest(p.attempts_per_day_max, 1) <= f.escalations_last_day
                 and (f.unreachable is not null or p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day) then 'escalated'
            else 'orphaned' end as reason
        from issue_facts f left join (select * from policy limit 1) p on true
        where f.subject_id = case when o.reason is null then o.subject_id end and true offset 0
    ) f on true;

create view issue_states as
select w.subject_id, w.tenant, w.agent_id, w.reason,
       case when t.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else t.state end as state,
       case
           when w.reason in ('pending_wake', 'stuck_wake') then w.pending_wake_since
           when w.reason = 'escalated' then coalesce((
               select r.created_at from recoveries r
               where r.kind = 'issue' and r.subject_id = w.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1), w.idle_since)
           else w.idle_since end as since
from issue_reasons w
left join board_texts t on t.reason = w.reason;

create view issue_details as
select f.subject_id, t.reason, f.identifier, f.title, f.agent_name, f.idle_since,
       case t.reason
           when 'declared_wait' then f.declared_wait
           when 'host_plan' then f.host_plan
           when 'obstacle' then f.obstacle
           when 'exempt' then coalesce(e.reason, ea.reason, et.reason)
           when 'unavailable' then replace(replace(
               t.text, '{status}', replace(f.agent_status, '_', ' ')), '{agent}', coalesce(f.agent_name, ''))
           when 'escalated' then (
               select r.reason from recoveries r
               where r.kind = 'issue' and r.subject_id = f.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1)
           else t.text end as detail
from issue_facts f
cross join board_texts t
left join exemptions e on e.kind = 'issue' and e.subject_id = f.subject_id
                          and (e.until is null or f.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = f.agent_id and (ea.until is null or f.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = f.tenant and (et.until is null or f.observed_at < et.until);

-- The state of each issue in progress, and of those that sweep blocked.
create view issue_work_state as
select w.subject_id, w.tenant, d.identifier, d.title, w.agent_id, d.agent_name, w.state, d.detail, coalesce(w.since, d.idle_since) as since, true as in_progress
from issue_states w
left join lateral (
    select * from issue_details d where d.subject_id = w.subject_id and d.reason = w.reason offset 0
) d on true
union all
select e.subject_id, e.tenant, e.identifier, e.title, e.agent_id, e.agent_name, t.state, e.reason, e.since, false
from escalated_issues e
left join board_texts t on t.reason = 'escalated';
insert into __diesel_schema_migrations (version) values ('20261124001402');

-- take/issue/2026-11-24-001405_take_issue
-- Locks the issue with its agent, so that a pause and a wake exclude each other.
create function take_issue(wanted id) returns setof issue_decided_facts language plpgsql as $$
#variable_conflict use_variable
declare
    agent id;
    issue id;
    is_held boolean;
    facts issue_decided_facts;
begin
    select (select a.id from agents a where a.id = i.assignee_agent_id for share skip locked), null into agent, issue
    from issues i where i.id = wanted for update of i skip locked;
    is_held := found;
    set local sweep.facts_of = 'one';
    select * into facts from issue_decided_facts f where f.subject_id = wanted;
    if found then
        facts.held := is_held;
        facts.held_agent_id := agent;
        facts.held_issue_id := issue;
        return next facts;
    end if;
end $$;
revoke execute on function take_issue from public;
comment on function take_issue is 'called by sweeps';
insert into __diesel_schema_migrations (version) values ('20261124001405');

-- take/all/2026-11-24-001407_locks
-- To lock a row, a role needs the right to update one of its columns, and is given that on the id. An update by this right could
-- rename the row, and a host's trigger may write more. So only a table's owner may make an update that changes the id, or nothing.
create function refuse_mere_update() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    if new.id = old.id and new *<> old
       or (select relkind <> 'v' and pg_has_role(current_user, relowner, 'usage') from pg_class where oid = tg_relid) then
        return new;
    end if;
    raise exception 'this right on % is there to lock the row %', tg_table_name, old.id using errcode = 'insufficient_privilege';
end $$;
revoke execute on function refuse_mere_update from public;

-- Triggers run in the order of their names, and this name begins with the first printable sign. A host's view without a trigger for updates
-- is updated without this one; the view agents is never updated.
do $$
declare
    name text;
    kind "char";
begin
    for name, kind in
        select relname, relkind from pg_class c
        where relnamespace = 'sweep'::regnamespace
          and (relkind in ('r', 'p') and relname in ('agents', 'issues', 'plan_steps', 'sessions')
               or relkind = 'v' and (relname = 'agents' or relname in ('issues', 'plan_steps', 'sessions') and exists (
                   select from pg_trigger where tgrelid = c.oid and tgtype & 16 > 0)))
    loop
        execute case when kind = 'v'
            then format('create trigger "!a_lock_is_no_update" instead of update on %I for each row execute function refuse_mere_update()', name)
            else format('create trigger "!a_lock_is_no_update" before update of id on %I for each row when (new.id is distinct from old.id) '
                        'execute function refuse_mere_update()', name) end;
    end loop;
end $$;
insert into __diesel_schema_migrations (version) values ('20261124001407');

insert into host (name, files, relations)
values ('prefect', null, (select jsonb_agg(relname order by relname) from pg_class
    where relnamespace = 'sweep'::regnamespace and relkind in ('r', 'v')))
on conflict (only_row) do update
    set name = excluded.name, files = excluded.files, relations = excluded.relations;
UPDATE policy SET vocabulary = '{"wakeable":["active","idle","running","error"],"finished":["done","cancelled"],"needs_person":["waiting","exhausted"],"reasons":{"crashed":{"state":"crashed","text":"it crashed with exit code {exit_code}"},"crashed_unseen":{"state":"crashed","text":"it crashed by a signal, or unseen"},"declared_wait":{"state":"waiting","text":"it waits: "},"escalated":{"state":"escalated","text":"escalated, a person has not answered yet"},"escalated_crash":{"state":"escalated","text":"it crashed with exit code {exit_code}"},"escalated_crash_unseen":{"state":"escalated","text":"it crashed by a signal, or unseen"},"exempt":{"state":"exempt","text":"exempt: "},"host_plan":{"state":"active","text":"its host is not done with its last run: "},"live_run":{"state":"active","text":"a run is live"},"no_such_agent":{"state":"skipped","text":"its agent does not exist"},"obstacle":{"state":"skipped","text":""},"orphaned":{"state":"orphaned","text":"nobody is working on it"},"pending_command":{"state":"queued","text":"a command is on its way to it"},"pending_wake":{"state":"queued","text":"a wake is queued"},"recent":{"state":"active","text":"it is not idle for long enough"},"silent":{"state":"silent","text":"it shows no sign of life"},"stalled":{"state":"stalled","text":"nobody is working on it"},"stuck_wake":{"state":"queued","text":"stuck wake"},"unavailable":{"state":"skipped","text":"{agent} is {status}"}}}', clock_ahead_max_seconds = 60;
INSERT INTO policy (attempts_max, attempts_per_day_max, clock_ahead_max_seconds, nudge_delay_seconds, orphan_grace_seconds, run_silent_after_seconds, session_silent_after_seconds, step_stalled_after_seconds, vocabulary, wake_stuck_after_seconds) VALUES (1, 4, 60, 120, 120, 3600, 300, 1800, '{"wakeable":["active","idle","running","error"],"finished":["done","cancelled"],"needs_person":["waiting","exhausted"],"reasons":{"crashed":{"state":"crashed","text":"it crashed with exit code {exit_code}"},"crashed_unseen":{"state":"crashed","text":"it crashed by a signal, or unseen"},"declared_wait":{"state":"waiting","text":"it waits: "},"escalated":{"state":"escalated","text":"escalated, a person has not answered yet"},"escalated_crash":{"state":"escalated","text":"it crashed with exit code {exit_code}"},"escalated_crash_unseen":{"state":"escalated","text":"it crashed by a signal, or unseen"},"exempt":{"state":"exempt","text":"exempt: "},"host_plan":{"state":"active","text":"its host is not done with its last run: "},"live_run":{"state":"active","text":"a run is live"},"no_such_agent":{"state":"skipped","text":"its agent does not exist"},"obstacle":{"state":"skipped","text":""},"orphaned":{"state":"orphaned","text":"nobody is working on it"},"pending_command":{"state":"queued","text":"a command is on its way to it"},"pending_wake":{"state":"queued","text":"a wake is queued"},"recent":{"state":"active","text":"it is not idle for long enough"},"silent":{"state":"silent","text":"it shows no sign of life"},"stalled":{"state":"stalled","text":"nobody is working on it"},"stuck_wake":{"state":"queued","text":"stuck wake"},"unavailable":{"state":"skipped","text":"{agent} is {status}"}}}', 3600) ON CONFLICT DO NOTHING;
do $$
declare
    refusal text;
begin
    for refusal in
-- Every query of this folder begins with this text: which roles this role trusts, and what the relations and triggers in `roots` run.
-- A role trusts superusers, who may do everything anyway, and those whose rights are its own; a superuser is not asked whether he
-- wants to be a member of a role, and trusts only superusers. The right to administer a role (PostgreSQL 16) gives none of its rights.
with recursive me as (
    select oid, rolname, rolsuper from pg_roles where rolname = session_user
), trusted (role) as (
    select r.oid from pg_roles r, me
    where r.rolsuper or not me.rolsuper and pg_has_role(
        me.oid, r.oid, case when current_setting('server_version_num')::int < 160000 then 'member' else 'usage, set' end)
-- What these run, with what uses each: all that belongs to a table or type (defaults, constraints, triggers, rules, policies,
-- indexes), the tables that inherit from a table or refer to it by a key, and all that any of these uses: functions, types, operators,
-- other tables. A table to which a key refers runs nothing, and neither does the row type of a table.
), reached (class, id, user_class, user_id, user_column) as (
    select class, id, class, id, 0 from roots
    union
    select further.* from reached r cross join lateral (
        select classid, objid, classid, objid, 0 from pg_depend
        where refclassid = r.class and refobjid = r.id and deptype in ('a', 'i')
          and not (refclassid = 'pg_class'::regclass and classid = 'pg_type'::regclass)
        union all
        select r.class, inhrelid, r.class, inhrelid, 0 from pg_inherits where r.class = 'pg_class'::regclass and inhparent = r.id
        union all
        select r.class, conrelid, 'pg_constraint'::regclass, oid, 0 from pg_constraint
        where r.class = 'pg_class'::regclass and contype = 'f' and confrelid = r.id
        union all
        select refclassid, refobjid, classid, objid, objsubid from pg_depend
        where classid = r.class and objid = r.id and refclassid not in ('pg_namespace'::regclass, 'pg_extension'::regclass)
          and not (refclassid = 'pg_class'::regclass
                   and (classid = 'pg_constraint'::regclass or deptype in ('a', 'i') and classid <> 'pg_type'::regclass))
    ) further
), uses (class, id, used_by) as (
    select class, id, case when user_id <> id then
        (select format(', which the %s %s uses,', type, identity) from pg_identify_object(user_class, user_id, user_column)) end
    from reached
-- Objects of this database that belong to roles that are not trusted. The list of owners leaves out what belongs to PostgreSQL's own
-- roles, such as the schema public: a schema runs nothing.
), foreign_owned (class, id, owner) as (
    select * from (
        select classid, objid, refobjid from pg_shdepend
        where dbid = (select oid from pg_database where datname = current_database()) and refclassid = 'pg_authid'::regclass and deptype = 'o'
        union
        select 'pg_class'::regclass, oid, relowner from pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        union
        select 'pg_proc'::regclass, oid, proowner from pg_proc
        union
        select 'pg_type'::regclass, oid, typowner from pg_type where typrelid = 0 and typelem = 0
        union
        select 'pg_operator'::regclass, oid, oprowner from pg_operator
    ) owned (class, id, owner)
    where owner not in (select role from trusted)
-- Rights of such roles on relations, and on parts of these: on columns.
), foreign_rights (relation, part, privilege, grantee) as (
    select * from (
        select oid, null, privilege_type, acl.grantee from pg_class, aclexplode(relacl) acl
        union all
        select attrelid, attname, privilege_type, acl.grantee from pg_attribute, aclexplode(attacl) acl
    ) granted (relation, part, privilege, grantee)
    where grantee not in (select role from trusted)
), names (role, name) as (
    select 0::oid, 'public' union all select oid, quote_ident(rolname) from pg_roles
),
-- Who owns a relation of the schema sweep, or a function, may have it run something of his own, with the rights of the role that
-- migrates; and so may the owner of anything that sweep's tables or their triggers use, and a role that may put a trigger or a key
-- there. So all of it must belong to a role that is trusted, nobody else may add to it, and of the ledger nobody else may write
-- what deploy/postgres/role.sql lets nobody write. One sentence about the first thing that is otherwise; no row when all is well.
here as (
    select oid, nspowner, nspacl from pg_namespace where nspname = 'sweep'
), relations as (
    select c.* from pg_class c join here on relnamespace = here.oid
), roots (class, id) as (
    select 'pg_class'::regclass::oid, oid from relations where relkind in ('r', 'p')
    union all
    select 'pg_trigger'::regclass, t.oid from pg_trigger t join relations r on r.oid = tgrelid
    union all
    select 'pg_event_trigger'::regclass, oid from pg_event_trigger
), things (place, class, id, owner, used_by) as (
    select 1, 'pg_namespace'::regclass::oid, oid, nspowner, null from here
    where nspowner not in (select role from trusted) or not pg_has_role(
        session_user, nspowner, case when current_setting('server_version_num')::int < 160000 then 'member' else 'set' end)
    union all
    select 2, class, id, owner, null from foreign_owned join pg_depend on classid = class and objid = id
    join here on refclassid = 'pg_namespace'::regclass and refobjid = here.oid
    union all
    select 3, class, id, owner, used_by from foreign_owned join uses using (class, id)
), ledger (relation, writes) as (
    values ('host', ''), ('__diesel_schema_migrations', ''), ('recoveries', 'INSERT'), ('recoveries.settled_at', 'UPDATE'),
           ('sweeps', 'INSERT UPDATE'), ('policy', 'INSERT UPDATE'), ('failures', 'INSERT UPDATE'), ('notifications', 'INSERT UPDATE'),
           ('exemptions', 'INSERT UPDATE DELETE'), ('tenant_exemptions', 'INSERT UPDATE DELETE')
), written_views (relation) as (
    -- A host's work stands in views that are written to; all other views are there to be read.
    values ('plans'), ('plan_steps'), ('agents'), ('issues'), ('sessions'), ('wakes'), ('session_commands'), ('comments'), ('activity')
), writers (role) as (
    select 'pg_write_all_data'::regrole::oid union select member from pg_auth_members join writers on roleid = role
), grants (what, privilege, grantee) as (
    select 'sweep.' || relname, privilege, grantee from foreign_rights join relations r on r.oid = relation
    where privilege in ('TRIGGER', 'TRUNCATE', 'REFERENCES', 'MAINTAIN')
       -- Everybody is none of that file's roles. Of a host's own table in this schema its owner says what others may write.
       or privilege in ('INSERT', 'UPDATE', 'DELETE')
          and case when grantee = 0 then relkind <> 'r' or relname in (select l.relation from ledger l)
                   when relname in (select l.relation from ledger l) then not exists (
                  select from ledger l where l.relation in (relname, relname || '.' || part) and privilege = any (string_to_array(writes, ' ')))
              else relkind in ('v', 'S') and relname not in (select w.relation from written_views w) end
    union all
    select 'function ' || identity, privilege_type, grantee
    from pg_proc f join here on pronamespace = here.oid, aclexplode(coalesce(proacl, acldefault('f', proowner))),
         pg_identify_object('pg_proc'::regclass, f.oid, 0)
    where grantee not in (select role from trusted) and prosecdef and (grantee = 0 or coalesce(obj_description(f.oid, 'pg_proc'), '') not in ('called by views', 'called by sweeps'))
), refusals (place, what, sentence) as (
    select place, identity, format(
        'the %1$s %2$s%3$s belongs to %4$I, and this role, %5$I, is %6$s: what stands there would run with this role''s rights. '
        'If it is not sweep''s, drop it%7$s; if it is, migrate as %4$I',
        type, identity, used_by, pg_get_userbyid(owner), me.rolname,
        case when me.rolsuper then 'a superuser who does not own it' else 'no member of that role' end,
        case when used_by is null then ' (drop schema sweep cascade)' end)
    from me, things cross join lateral pg_identify_object(class, id, 0)
    union all
    select 4, '', format(
        'the role %1$s may create in the schema sweep, and what it makes there would run with the rights of others: '
        'revoke create on schema sweep from %1$s', name)
    from here cross join aclexplode(nspacl) acl join names on role = acl.grantee
    where acl.privilege_type = 'CREATE' and acl.grantee not in (select role from trusted)
    union all
    select 5, what, format(
        'the role %1$s has the right %2$s on %3$s, which deploy/postgres/role.sql gives to nobody: revoke %2$s on %3$s from %1$s',
        name, privilege, what)
    from grants join names on role = grantee
    union all
    select 6, r.rolname, format(
        'this role, %1$I, is a superuser, and %2$I may write all tables, also what a migration runs: revoke pg_write_all_data from %2$I, '
        'or use a role that is none',
        me.rolname, r.rolname)
    from me, pg_roles r join writers on r.oid = role where me.rolsuper and not r.rolsuper and r.rolname <> 'pg_write_all_data'
)
select sentence from refusals order by place, what, sentence limit 1
    loop
        raise exception '%', refusal;
    end loop;
    for refusal in
-- Every query of this folder begins with this text: which roles this role trusts, and what the relations and triggers in `roots` run.
-- A role trusts superusers, who may do everything anyway, and those whose rights are its own; a superuser is not asked whether he
-- wants to be a member of a role, and trusts only superusers. The right to administer a role (PostgreSQL 16) gives none of its rights.
with recursive me as (
    select oid, rolname, rolsuper from pg_roles where rolname = session_user
), trusted (role) as (
    select r.oid from pg_roles r, me
    where r.rolsuper or not me.rolsuper and pg_has_role(
        me.oid, r.oid, case when current_setting('server_version_num')::int < 160000 then 'member' else 'usage, set' end)
-- What these run, with what uses each: all that belongs to a table or type (defaults, constraints, triggers, rules, policies,
-- indexes), the tables that inherit from a table or refer to it by a key, and all that any of these uses: functions, types, operators,
-- other tables. A table to which a key refers runs nothing, and neither does the row type of a table.
), reached (class, id, user_class, user_id, user_column) as (
    select class, id, class, id, 0 from roots
    union
    select further.* from reached r cross join lateral (
        select classid, objid, classid, objid, 0 from pg_depend
        where refclassid = r.class and refobjid = r.id and deptype in ('a', 'i')
          and not (refclassid = 'pg_class'::regclass and classid = 'pg_type'::regclass)
        union all
        select r.class, inhrelid, r.class, inhrelid, 0 from pg_inherits where r.class = 'pg_class'::regclass and inhparent = r.id
        union all
        select r.class, conrelid, 'pg_constraint'::regclass, oid, 0 from pg_constraint
        where r.class = 'pg_class'::regclass and contype = 'f' and confrelid = r.id
        union all
        select refclassid, refobjid, classid, objid, objsubid from pg_depend
        where classid = r.class and objid = r.id and refclassid not in ('pg_namespace'::regclass, 'pg_extension'::regclass)
          and not (refclassid = 'pg_class'::regclass
                   and (classid = 'pg_constraint'::regclass or deptype in ('a', 'i') and classid <> 'pg_type'::regclass))
    ) further
), uses (class, id, used_by) as (
    select class, id, case when user_id <> id then
        (select format(', which the %s %s uses,', type, identity) from pg_identify_object(user_class, user_id, user_column)) end
    from reached
-- Objects of this database that belong to roles that are not trusted. The list of owners leaves out what belongs to PostgreSQL's own
-- roles, such as the schema public: a schema runs nothing.
), foreign_owned (class, id, owner) as (
    select * from (
        select classid, objid, refobjid from pg_shdepend
        where dbid = (select oid from pg_database where datname = current_database()) and refclassid = 'pg_authid'::regclass and deptype = 'o'
        union
        select 'pg_class'::regclass, oid, relowner from pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        union
        select 'pg_proc'::regclass, oid, proowner from pg_proc
        union
        select 'pg_type'::regclass, oid, typowner from pg_type where typrelid = 0 and typelem = 0
        union
        select 'pg_operator'::regclass, oid, oprowner from pg_operator
    ) owned (class, id, owner)
    where owner not in (select role from trusted)
-- Rights of such roles on relations, and on parts of these: on columns.
), foreign_rights (relation, part, privilege, grantee) as (
    select * from (
        select oid, null, privilege_type, acl.grantee from pg_class, aclexplode(relacl) acl
        union all
        select attrelid, attname, privilege_type, acl.grantee from pg_attribute, aclexplode(attacl) acl
    ) granted (relation, part, privilege, grantee)
    where grantee not in (select role from trusted)
), names (role, name) as (
    select 0::oid, 'public' union all select oid, quote_ident(rolname) from pg_roles
),
-- sweep writes to a host's tables by functions that run with their owner's rights, and with them runs all that these tables use. So
-- the tables, all that they use, and the rights to put triggers there must belong to roles that are trusted, unless the operator names
-- the host. A superuser lends far more than that to everybody who may change what is run. A copy runs what stands anywhere in the
-- database. These functions call the tables by their names: whoever owns a schema of tables can put others in their place, and
-- counts like the tables' owner. One sentence about the first thing that is otherwise; no row when all is well.
roots (class, id) as (
    select 'pg_class'::regclass::oid, oid from pg_class
    where relnamespace = to_regnamespace('public') and relkind in ('r', 'p') and relname::text = any ('{"artifact","deployment","events","flow","flow_run","flow_run_input","flow_run_state","log","task_run","work_pool","work_queue"}')
    union all
    select 'pg_class'::regclass, oid from pg_class where relnamespace = to_regnamespace('sweep') and relkind = 'v'
), schemas (name, owner, is_of_database, owner_of_tables) as (
    -- PostgreSQL's own role pg_database_owner is the database's owner.
    select nspname, case when nspowner = 'pg_database_owner'::regrole then datdba else nspowner end,
           nspowner = 'pg_database_owner'::regrole,
           -- Where none of the tables that the host names is in the schema public, this role is as good.
           coalesce((select min(pg_get_userbyid(relowner)::text) from pg_class join roots on id = oid where relkind in ('r', 'p')), session_user)
    from pg_namespace n join pg_database on datname = current_database()
    where exists (select from reached join pg_class c on c.oid = id where class = 'pg_class'::regclass and relnamespace = n.oid)
), things (place, what, owner, remedy) as (
    select case when id in (select id from roots) then 1 else 2 end,
           (select format('the %s %s%s', type, identity, used_by) from pg_identify_object(class, id, 0)),
           owner,
           case when false then 'Expected a database in which everything belongs to this role'
                when id in (select id from roots) then
                    format('Migrate as %1$I (after grant create on database %2$I to %1$I)', pg_get_userbyid(owner), current_database())
                else 'Give that to the tables'' owner' end
    from foreign_owned left join uses using (class, id) where uses.id is not null or false
    union all
    select 3, format('the right %s on %s', privilege, relation::regclass), grantee,
           -- To revoke a right on a table takes those on its columns as well.
           format('Revoke trigger, references on %s from %s', relation::regclass, name)
    from foreign_rights join names on role = grantee
    where privilege in ('TRIGGER', 'REFERENCES')
      and (false or relation in (select id from reached where class = 'pg_class'::regclass))
    union all
    select 4, format('the schema %I', name), owner,
           format('Run alter schema %I owner to %I', name, owner_of_tables)
               || case when is_of_database then format(', or alter database %I owner to %I', current_database(), owner_of_tables) else '' end
    from schemas where owner not in (select role from trusted)
)
select case when rolsuper then format('this role, %1$I, is a superuser, and %2$s belongs to %3$s', rolname, what, name)
            else format('%2$s belongs to %3$s, and this role, %1$I, is no member of that role', rolname, what, name) end
    || format(': whoever may %s would get ',
              case place when 4 then 'put other tables in the place of the host''s' else 'change what the host''s tables run' end)
    || case when rolsuper then 'a superuser''s rights. ' else 'this role''s rights. ' end
    || remedy
    || case when false then '' when rolsuper then ', or add --as-superuser'
            else ', or name the host if you trust that role: --host prefect' end
from me, things join names on role = owner
where case when rolsuper then not false else not false end
order by place, what limit 1
    loop
        raise exception '%', refusal;
    end loop;
    perform set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = 'sweep';
end $$;
commit;
