-- The roles that sweep runs as, and the least that each needs:
--   sweeper         sweeps
--   sweep_reader    looks: dry runs, status, explain, metrics
--   sweep_operator  has something done: sweep wake, sweep session …, sweep step …, sweep exempt; and looks
--
--   psql -X -f deploy/postgres/role.sql "$OWNER_URL"
--
-- Run it as the schema's owner, who may create roles, after each `sweep migrate`: a new version may bring new relations. It can be run
-- as often as you like, on every host: what the host lacks is passed over. The roles have no password yet: \password sweeper. A role
-- of one of these names that is there already is taken, with its members: \drg, or \du before PostgreSQL 16, shows them.
\set ON_ERROR_STOP on
\set QUIET on
begin;
set local search_path = pg_catalog, pg_temp;
set local client_min_messages = warning;

do $$
declare
    owner name := (select pg_get_userbyid(nspowner) from pg_namespace where nspname = 'sweep');
    is_superuser boolean := (select rolsuper from pg_roles where rolname = session_user);
    name text;
begin
    if owner is null then
        raise exception 'there is no schema sweep: sweep migrate makes it';
    end if;
    -- A superuser is a member of every role, and would let the roles read what a stranger made.
    if owner <> session_user and (is_superuser or not pg_has_role(session_user, owner,
        case when current_setting('server_version_num')::int < 160000 then 'member' else 'usage, set' end)) then
        raise exception 'the schema sweep belongs to %: run this as that role, not as %', owner, session_user;
    end if;
    foreach name in array array['sweeper', 'sweep_reader', 'sweep_operator'] loop
        begin
            if to_regrole(name) is null then
                if not (select rolcreaterole or rolsuper from pg_roles where rolname = current_user) then
                    raise exception 'the role % may not create the role %: as a superuser, alter role % createrole', current_user, name, current_user;
                end if;
                execute format('create role %I login', name);
            end if;
        -- Roles belong to the whole server: another of its databases may be set up at the same moment.
        exception when duplicate_object or unique_violation then null;
        end;
    end loop;
end $$;

grant usage on schema sweep to sweeper, sweep_reader, sweep_operator;

-- Takes back what earlier versions granted.
revoke all on all tables in schema sweep from sweeper, sweep_reader, sweep_operator;
revoke all on all routines in schema sweep from public, sweeper, sweep_reader, sweep_operator;

-- All look at views, which read a host's own tables with their owner's rights.
select format('grant select on sweep.%I to sweeper, sweep_reader, sweep_operator', relation)
from unnest(array[
    '__diesel_schema_migrations', 'host', 'exemptions', 'agent_exemptions', 'tenant_exemptions', 'failures', 'interventions', 'recoveries', 'sweeps', 'ledger_days', 'upkeep', 'notifications', 'policy', 'false_rescues',
    'host_behavior', 'left_issues', 'host_clock', 'untaken_wakes', 'unheard_runs', 'wake_pickups',
    'session_candidates', 'session_subjects', 'session_facts', 'session_decided_facts', 'session_states', 'session_details', 'session_work_state', 'session_watchers',
    'issue_candidates', 'issue_subjects', 'issue_facts', 'issue_decided_facts', 'issue_states', 'issue_details', 'issue_work_state',
    'escalated_issues', 'agent_names',
    'step_candidates', 'step_subjects', 'step_facts', 'step_decided_facts', 'step_states', 'step_details', 'step_work_state'
]) relation
where to_regclass(format('sweep.%I', relation)) is not null
\gexec

-- Who calls a function stands in its comment, beside its definition. What views call runs with the rights of the role that looks; any
-- other function is called by triggers alone, and nobody is granted it.
select format('grant execute on routine %s to %s', oid::regprocedure, grantees)
from pg_proc
join (values ('called by views', 'sweeper, sweep_reader, sweep_operator'), ('called by sweeps', 'sweeper, sweep_operator'),
    ('called by upkeep', 'sweeper')) as called (by, grantees)
    on by = obj_description(oid, 'pg_proc')
where pronamespace = to_regnamespace('sweep')
\gexec

-- Column by column where a row is a host's. To lock a row takes the right to update some column of it: where nothing is ever
-- updated that is the id, which a trigger refuses to change. The only right to delete is the operator's, on exemptions.
with wanted (grantees, relation, privilege, columns) as (values
    ('sweeper, sweep_reader, sweep_operator', 'plans', 'select', 'id tenant title status'),
    ('sweeper, sweep_operator', 'plans', 'select', 'agent_id issue_id'),
    ('sweeper, sweep_operator', 'plans', 'update', 'status updated_at'),
    ('sweeper, sweep_operator', 'plan_steps', 'select', 'id plan_id'),
    ('sweeper, sweep_operator', 'plan_steps', 'update', 'id'),
    ('sweep_operator', 'plan_steps', 'select', 'status'),
    ('sweep_operator', 'plan_steps', 'update', 'status updated_at'),
    ('sweeper, sweep_reader, sweep_operator', 'agents', 'select', 'id name'),
    ('sweeper, sweep_operator', 'agents', 'update', 'id'),
    ('sweeper, sweep_reader, sweep_operator', 'issues', 'select', 'id identifier'),
    ('sweeper, sweep_operator', 'issues', 'select', 'assignee_agent_id'),
    ('sweeper', 'issues', 'select', 'status'),
    ('sweeper', 'issues', 'update', 'status unblock_action updated_at'),
    ('sweep_operator', 'issues', 'update', 'id'),
    ('sweeper, sweep_operator', 'sessions', 'select', 'id agent_id issue_id'),
    ('sweeper, sweep_operator', 'sessions', 'update', 'id'),
    ('sweeper, sweep_operator', 'run_locks', 'select', 'id'),
    ('sweeper, sweep_operator', 'run_locks', 'update', 'id'),
    ('sweeper, sweep_operator', 'subject_runs', 'select', 'kind subject_id id'),
    ('sweep_operator', 'sessions', 'select', 'status stall_paused ended_at'),
    ('sweep_operator', 'sessions', 'update', 'stall_paused last_activity_at'),
    ('sweeper, sweep_operator', 'wakes', 'insert', 'id agent_id issue_id plan_step_id reason payload requested_by'),
    ('sweeper, sweep_operator', 'session_commands', 'insert', 'id session_id command message requested_by'),
    ('sweeper', 'comments', 'insert', 'id issue_id author body'),
    ('sweeper, sweep_operator', 'activity', 'insert', 'actor action entity_type entity_id details'),
    -- The ledger is written once: all that changes in a row is when it was settled.
    ('sweeper, sweep_operator', 'recoveries', 'update', 'settled_at')
)
select format('grant %s (%s) on sweep.%I to %s', privilege, string_agg(format('%I', attname), ', '), relation, grantees)
from wanted
join pg_attribute on attrelid = to_regclass(format('sweep.%I', relation)) and attname = any (string_to_array(columns, ' '))
group by grantees, relation, privilege
\gexec

select format('grant %s on sweep.%I to %s', privilege, relation, grantees)
from (values
    ('sweeper, sweep_operator', 'recoveries', 'insert'),
    ('sweeper', 'sweeps', 'insert, update'),
    ('sweeper', 'policy', 'insert, update'),
    ('sweeper', 'ledger_days', 'insert, update'),
    ('sweeper', 'upkeep', 'update'),
    ('sweeper', 'failures', 'insert, update'),
    ('sweeper, sweep_operator', 'notifications', 'insert, update'),
    ('sweep_operator', 'exemptions', 'insert, update, delete'),
    ('sweep_operator', 'tenant_exemptions', 'insert, update, delete')
) as wanted (grantees, relation, privilege)
where to_regclass(format('sweep.%I', relation)) is not null
\gexec

commit;
