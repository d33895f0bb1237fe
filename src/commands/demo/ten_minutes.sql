-- Between two sweeps: every wake that sweep queued is answered by a run, every nudge is typed. Two of the runs do what they should, the
-- others fail, and one issue is taken over by a person. Then ten minutes pass: time is moved by dating every row back.

create temp table good_news (subject_id text, became text);
insert into good_news values
    ('15500000-0000-4000-8000-000000000012', 'in_review'),  -- ACM-12
    ('57e90000-0000-4000-8000-000000000102', 'completed');  -- Release 2.4, step 2

insert into runs (id, agent_id, issue_id, plan_step_id, wake_id, retry_reason, status, finished_at)
select printf('60000000-0000-4000-8000-%012d', 100 + row_number() over (order by id)),
       agent_id, issue_id, plan_step_id, id, reason,
       iif(coalesce(issue_id, plan_step_id) in (select subject_id from good_news), 'succeeded', 'failed'),
       strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
from wakes where requested_by = 'sweep' and status = 'queued';

update wakes set status = 'completed', updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
where requested_by = 'sweep' and status = 'queued';

update issues set status = became, updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
from good_news where id = subject_id;
update plan_steps set status = became, updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
from good_news where id = subject_id;
update issues set assignee_agent_id = null, assignee_user_id = 'Maria', updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
where identifier = 'ACM-16';
update plan_steps set status = 'in_progress', started_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
where id = '57e90000-0000-4000-8000-000000000103';
drop table good_news;

-- The machine of ACM-15's old run is back, and what the process there writes finds that the run was taken.
update runs set status = 'succeeded', finished_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
where id = '60000000-0000-4000-8000-000000000008' and status = 'running';
-- The agents at work say that they live.
update runs set heartbeat_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+10 minutes') where status = 'running';

update issues set
    wait_until = strftime('%Y-%m-%dT%H:%M:%fZ', wait_until, '-10 minutes'),
    started_at = strftime('%Y-%m-%dT%H:%M:%fZ', started_at, '-10 minutes'),
    created_at = strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-10 minutes'),
    updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', updated_at, '-10 minutes');
update plans set
    created_at = strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-10 minutes'),
    updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', updated_at, '-10 minutes');
update plan_steps set
    started_at = strftime('%Y-%m-%dT%H:%M:%fZ', started_at, '-10 minutes'),
    updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', updated_at, '-10 minutes');
update agents set
    created_at = strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-10 minutes'),
    updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', updated_at, '-10 minutes');
update runs set
    created_at = strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-10 minutes'),
    heartbeat_at = strftime('%Y-%m-%dT%H:%M:%fZ', heartbeat_at, '-10 minutes'),
    finished_at = strftime('%Y-%m-%dT%H:%M:%fZ', finished_at, '-10 minutes');
update wakes set
    created_at = strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-10 minutes'),
    updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', updated_at, '-10 minutes');
update comments set created_at = strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-10 minutes');
update activity set created_at = strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-10 minutes');
update recoveries set
    episode_began_at = strftime('%Y-%m-%dT%H:%M:%fZ', episode_began_at, '-10 minutes'),
    created_at = strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-10 minutes'),
    settled_at = strftime('%Y-%m-%dT%H:%M:%fZ', settled_at, '-10 minutes');
update sweeps set
    started_at = strftime('%Y-%m-%dT%H:%M:%fZ', started_at, '-10 minutes'),
    finished_at = strftime('%Y-%m-%dT%H:%M:%fZ', finished_at, '-10 minutes'),
    oldest_left_at = strftime('%Y-%m-%dT%H:%M:%fZ', oldest_left_at, '-10 minutes');

update sessions set
    created_at = strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-10 minutes'),
    started_at = strftime('%Y-%m-%dT%H:%M:%fZ', started_at, '-10 minutes'),
    last_activity_at = strftime('%Y-%m-%dT%H:%M:%fZ', last_activity_at, '-10 minutes'),
    last_progress_at = strftime('%Y-%m-%dT%H:%M:%fZ', last_progress_at, '-10 minutes'),
    ended_at = strftime('%Y-%m-%dT%H:%M:%fZ', ended_at, '-10 minutes');
update session_commands set status = 'delivered', created_at = strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-10 minutes');

-- Ada's session works on, Chiara's was woken up by the nudge, and Dmitri's still goes round in circles.
update sessions set last_activity_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-4 seconds') where identifier in ('ada-1', 'chiara-4', 'dmitri-2');
update sessions set last_progress_at = last_activity_at where identifier in ('ada-1', 'chiara-4');

-- Dmitri is still at it.
update issues set updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-5 seconds') where identifier = 'ACM-22';
