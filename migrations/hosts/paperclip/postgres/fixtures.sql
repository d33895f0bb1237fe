-- How `sweep host verify` makes work in Paperclip's tables: docs/hosts.md lists the blocks.

-- fixture agent
insert into companies (id, name, issue_prefix, default_responsible_user_id)
values ('00000000-0000-4000-8000-000000000001', 'Acme', 'ACM', 'user-1') on conflict do nothing;
insert into agents (id, company_id, name, status) values ({{ agent }}, '00000000-0000-4000-8000-000000000001', 'Ada', 'idle');

-- fixture agent: paused
update agents set status = 'paused' where id = {{ agent }};

-- fixture issue
insert into issues (id, company_id, title, status, assignee_agent_id, started_at, created_at, updated_at)
values ({{ issue }}, '00000000-0000-4000-8000-000000000001', 'Mend the fence', 'in_progress', {{ agent }}, {{ at }}, {{ at }}, {{ at }});

-- fixture issue: at work
insert into heartbeat_runs (id, company_id, agent_id, status, context_snapshot, created_at, started_at, updated_at)
values ({{ id }}, '00000000-0000-4000-8000-000000000001', {{ agent }}, 'running', jsonb_build_object('issueId', {{ issue }}), {{ at }}, {{ at }}, {{ at }});

-- fixture issue: stops
update heartbeat_runs set status = 'failed', created_at = least(created_at, {{ at }}), finished_at = {{ at }}, updated_at = {{ at }}
where context_snapshot ->> 'issueId' = {{ issue }} and status = 'running';
update agent_wakeup_requests set status = 'completed' where payload ->> 'issueId' = {{ issue }} and status = 'claimed';

-- fixture issue: queued
insert into agent_wakeup_requests (id, company_id, agent_id, source, status, payload, created_at, updated_at)
values ({{ id }}, '00000000-0000-4000-8000-000000000001', {{ agent }}, 'assignment', 'queued', jsonb_build_object('issueId', {{ issue }}), {{ at }}, {{ at }});
insert into heartbeat_runs (company_id, agent_id, status, wakeup_request_id, context_snapshot, created_at, updated_at)
values ('00000000-0000-4000-8000-000000000001', {{ agent }}, 'queued', {{ id }}, jsonb_build_object('issueId', {{ issue }}), {{ at }}, {{ at }});

-- fixture issue: wakes
select count(*) from heartbeat_runs where context_snapshot ->> 'issueId' = {{ issue }} and status = 'queued'

-- fixture issue: taken up
update heartbeat_runs set status = 'running', created_at = {{ at }}, started_at = {{ at }}, updated_at = {{ at }}
where context_snapshot ->> 'issueId' = {{ issue }} and status = 'queued';
update agent_wakeup_requests set status = 'claimed', created_at = {{ at }} where payload ->> 'issueId' = {{ issue }} and status = 'queued';

-- fixture issue: claimed
-- Paperclip's server went down between the wake and the work: the wake stays claimed, and the next start fails its run.
update heartbeat_runs set status = 'failed', created_at = {{ at }}, finished_at = {{ at }}, updated_at = {{ at }}
where context_snapshot ->> 'issueId' = {{ issue }} and status = 'queued';
update agent_wakeup_requests set status = 'claimed', created_at = {{ at }} where payload ->> 'issueId' = {{ issue }} and status = 'queued';

-- fixture issue: finished
update heartbeat_runs set status = 'succeeded', finished_at = {{ at }}, updated_at = {{ at }}
where context_snapshot ->> 'issueId' = {{ issue }} and status = 'running';
update agent_wakeup_requests set status = 'completed' where payload ->> 'issueId' = {{ issue }} and status = 'claimed';
update issues set status = 'done', updated_at = {{ at }} where id = {{ issue }};

-- fixture issue: escalated
select unblock_descriptor ->> 'action' from issues where id = {{ issue }} and status = 'blocked'

-- fixture issue: noted
insert into issue_comments (company_id, issue_id, author_user_id, body)
values ('00000000-0000-4000-8000-000000000001', {{ issue }}, 'user-1', {{ words }});

-- fixture issue: crowd
insert into issues (company_id, title, status, assignee_agent_id, created_at, updated_at)
select '00000000-0000-4000-8000-000000000001', 'Paint the fence', 'done', {{ agent }}, {{ at }}, {{ at }} from generate_series(1, {{ count }});
insert into heartbeat_runs (company_id, agent_id, status, context_snapshot, created_at, started_at, finished_at, updated_at)
select company_id, assignee_agent_id, 'succeeded', jsonb_build_object('issueId', id), {{ at }}, {{ at }}, {{ at }}, {{ at }}
from issues where assignee_agent_id = {{ agent }};

-- fixture issue: left, a person has it
update issues set assignee_user_id = 'user-1' where id = {{ issue }};

-- fixture issue: left, it is in review
update issues set status = 'in_review' where id = {{ issue }};

-- fixture issue: left, its monitor checks it later
update issues set monitor_next_check_at = now() + interval '1 hour' where id = {{ issue }};

-- fixture issue: left, it is hidden
update issues set hidden_at = {{ at }} where id = {{ issue }};

-- fixture issue: left, its run holds it still
insert into heartbeat_runs (id, company_id, agent_id, status, context_snapshot, created_at, started_at, finished_at, updated_at)
values ({{ id }}, '00000000-0000-4000-8000-000000000001', {{ agent }}, 'succeeded', jsonb_build_object('issueId', {{ issue }}), {{ at }}, {{ at }}, now() - interval '30 seconds', {{ at }});
update issues set execution_run_id = {{ id }} where id = {{ issue }};

-- fixture issue: left, a person stopped its run
insert into heartbeat_runs (id, company_id, agent_id, status, error_code, context_snapshot, created_at, started_at, finished_at, updated_at)
values ({{ id }}, '00000000-0000-4000-8000-000000000001', {{ agent }}, 'cancelled', 'operator_interrupted', jsonb_build_object('issueId', {{ issue }}), {{ at }}, {{ at }}, {{ at }}, {{ at }});

-- fixture issue: also, an old wake of the host's is queued
insert into agent_wakeup_requests (id, company_id, agent_id, source, status, payload, created_at)
values ({{ id }}, '00000000-0000-4000-8000-000000000001', {{ agent }}, 'assignment', 'queued', jsonb_build_object('issueId', {{ issue }}), now() - interval '2 hours');

-- fixture session
insert into heartbeat_runs (id, company_id, agent_id, status, context_snapshot, created_at, started_at, updated_at)
values ({{ session }}, '00000000-0000-4000-8000-000000000001', {{ agent }}, 'running', '{}', {{ at }}, {{ at }}, {{ at }});

-- fixture session: at work
update heartbeat_runs set last_output_at = {{ at }}, updated_at = {{ at }} where id = {{ session }};

-- fixture session: stops
update heartbeat_runs set last_output_at = {{ at }}, updated_at = {{ at }} where id = {{ session }};

-- fixture session: finished
update heartbeat_runs set status = 'succeeded', exit_code = 0, finished_at = {{ at }}, updated_at = {{ at }} where id = {{ session }};

-- fixture session: crowd
insert into heartbeat_runs (company_id, agent_id, status, context_snapshot, created_at, started_at, finished_at, updated_at)
select '00000000-0000-4000-8000-000000000001', {{ agent }}, 'succeeded', '{}', {{ at }}, {{ at }}, {{ at }}, {{ at }} from generate_series(1, {{ count }});

-- fixture session: left, a person snoozed it
insert into heartbeat_run_watchdog_decisions (id, company_id, run_id, decision, snoozed_until)
values ({{ id }}, '00000000-0000-4000-8000-000000000001', {{ session }}, 'snooze', now() + interval '1 hour');
