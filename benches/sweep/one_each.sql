-- One orphan in one transaction: the statements of a sweep, for pgbench. The stride and the number of agents are the company's.
\set number (:client_id * :each + :round) * :stride
\set round :round + 1
begin;
select (select a.id from agents a where a.id = i.assignee_agent_id for share skip locked), null::uuid
    from issues i where i.id = md5(:number::text)::uuid for update of i skip locked;
select * from issue_facts where subject_id = md5(:number::text)::uuid;
with wake as (
    insert into wakes (id, agent_id, issue_id, reason, payload, requested_by)
    values (gen_random_uuid(), md5('agent ' || :number::integer / :stride % :agents)::uuid, md5(:number::text)::uuid, 'issue_continuation_needed',
            jsonb_build_object('issueId', md5(:number::text)::uuid, 'retryOfRunId', md5(:number::text)::uuid, 'wakeReason', 'issue_continuation_needed',
                               'retryReason', 'issue_continuation_needed'), 'sweep')
    returning id)
insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, wake_id)
    select gen_random_uuid(), '00000000-0000-0000-0000-000000000000', 'issue', md5(:number::text)::uuid, 'continue', 'nobody is working on it',
           now(), 1, wake.id from wake;
commit;
