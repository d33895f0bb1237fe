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
