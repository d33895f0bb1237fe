-- Every query of this folder begins with this text: which roles this role trusts, and what the relations and triggers in `roots` run.
-- A role trusts superusers, who may do everything anyway, and those whose rights are its own; a superuser is not asked whether he
-- wants to be a member of a role, and trusts only superusers. The right to administer a role (PostgreSQL 16) gives none of its rights.
with recursive me as (
    select oid, rolname, rolsuper from pg_roles where rolname = session_user
), trusted (role) as (
    select r.oid from pg_roles r, me
    where r.rolsuper or not me.rolsuper and pg_has_role(
        me.oid, r.oid, case when current_setting('server_version_num')::int < 160000 then 'member' else 'usage, set' end)
-- Everything that belongs to a table or a type (defaults, constraints, triggers, rules, policies, indexes), the tables that inherit
-- from one, and the functions, operators and types that any of these use; with the one that uses each.
), reached (class, id, user_class, user_id, user_column) as (
    select class, id, class, id, 0 from roots
    union
    select further.* from reached r cross join lateral (
        select classid, objid, classid, objid, 0 from pg_depend
        where refclassid = r.class and refobjid = r.id and deptype in ('a', 'i')
        union all
        select r.class, inhrelid, r.class, inhrelid, 0 from pg_inherits where r.class = 'pg_class'::regclass and inhparent = r.id
        union all
        select refclassid, refobjid, classid, objid, objsubid from pg_depend
        where classid = r.class and objid = r.id and refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass)
    ) further
-- Objects of this database that belong to roles that are not trusted.
), foreign_owned (class, id, owner) as (
    select classid, objid, refobjid from pg_shdepend
    where dbid = (select oid from pg_database where datname = current_database())
      and refclassid = 'pg_authid'::regclass and deptype = 'o' and refobjid not in (select role from trusted)
),
