-- sweep writes to a host's tables by functions that run with their owner's rights, and with them runs all that these tables use. So
-- the tables, all that they use, and the rights to put triggers there must belong to roles that are trusted, unless the operator names
-- the host. A superuser lends far more than that to everybody who may change what is run. A copy runs what stands anywhere in the
-- database. One sentence about the first thing that is otherwise; no row when all is well.
roots (class, id) as (
    select 'pg_class'::regclass::oid, oid from pg_class
    where relnamespace = to_regnamespace('public') and relkind in ('r', 'p') and relname::text = any ('TABLES')
    union all
    select 'pg_class'::regclass, oid from pg_class where relnamespace = to_regnamespace('sweep') and relkind = 'v'
), things (place, what, owner, remedy) as (
    select case when id in (select id from roots) then 1 else 2 end,
           (select format('the %s %s%s', type, identity, used_by) from pg_identify_object(class, id, 0)),
           owner, case when IS_COPIED then 'Expected a database in which everything belongs to this role'
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
)
select case when rolsuper then format('this role, %1$I, is a superuser, and %2$s belongs to %3$s', rolname, what, name)
            else format('%2$s belongs to %3$s, and this role, %1$I, is no member of that role', rolname, what, name) end
    || ': whoever may change what the host''s tables run would get '
    || case when rolsuper then 'a superuser''s rights. ' else 'this role''s rights. ' end
    || remedy
    || case when IS_COPIED then '' when rolsuper then ', or add --as-superuser'
            else ', or name the host if you trust that role: --host HOST' end
from me, things join names on role = owner
where case when rolsuper then not AS_SUPERUSER else not IS_NAMED end
order by place, what limit 1
