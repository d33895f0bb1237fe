-- sweep writes to a host's tables by functions that run with their owner's rights, and with them runs all that these tables use. So
-- the tables, all that they use, and the rights to put triggers there must belong to roles that are trusted, unless the operator names
-- the host. A superuser lends far more than that to everybody who may change what is run. A copy runs what stands anywhere in the
-- database. These functions call the tables by their names: whoever owns a schema of tables can put others in their place, and
-- counts like the tables' owner. One sentence about the first thing that is otherwise; no row when all is well.
roots (class, id) as (
    select 'pg_class'::regclass::oid, oid from pg_class
    where relnamespace = to_regnamespace('public') and relkind in ('r', 'p') and relname::text = any ('TABLES')
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
           case when IS_COPIED then 'Expected a database in which everything belongs to this role'
                when id in (select id from roots) then
                    format('Migrate as %1$I (after grant create on database %2$I to %1$I)', pg_get_userbyid(owner), current_database())
                else 'Give that to the tables'' owner' end
    from foreign_owned left join uses using (class, id) where uses.id is not null or IS_COPIED
    union all
    select 3, format('the right %s on %s', privilege, relation::regclass), grantee,
           -- To revoke a right on a table takes those on its columns as well.
           format('Revoke trigger, references on %s from %s', relation::regclass, name)
    from foreign_rights join names on role = grantee
    where privilege in ('TRIGGER', 'REFERENCES')
      and (IS_COPIED or relation in (select id from reached where class = 'pg_class'::regclass))
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
    || case when IS_COPIED then '' when rolsuper then ', or add --as-superuser'
            else ', or name the host if you trust that role: --host HOST' end
from me, things join names on role = owner
where case when rolsuper then not AS_SUPERUSER else not IS_NAMED end
order by place, what limit 1
