-- Acme, a company that does not exist: what a control plane's database looks like after some ordinary bad days.
-- An id says what it is: ACM-12 is 15500000-0000-4000-8000-000000000012. Dates are relative to now.

with team (n, name, status) as (values
    (1, 'Ada',    'running'),
    (2, 'Bruno',  'idle'),
    (3, 'Chiara', 'idle'),
    (4, 'Dmitri', 'error'),
    (5, 'Esther', 'paused'),
    (6, 'Femi',   'terminated')
)
insert into agents (id, name, status)
select printf('a6e00000-0000-4000-8000-%012d', n), name, status from team;

with board (n, title, status, agent, person, waiting_for, wait_until, last_touched) as (values
    -- healthy
    ( 7, 'Call a workspace a team everywhere',     'done',        'Ada',    null,    null,                  null,     '-2 days'),
    ( 8, 'Launch the new pricing',                 'todo',        'Chiara', null,    null,                  null,     '-3 hours'),
    (10, 'Show invoices in local money',           'in_progress', 'Ada',    null,    null,                  null,     '-20 minutes'),
    (14, 'Reset a password by text message',       'in_review',   'Chiara', null,    null,                  null,     '-5 hours'),
    (20, 'Pass the SOC 2 audit',                   'in_progress', null,     'Maria', null,                  null,     '-1 day'),
    (21, 'Cache the product search',               'in_progress', 'Bruno',  null,    null,                  null,     '-1 hour'),
    (22, 'Tidy up the onboarding mails',           'in_progress', 'Dmitri', null,    null,                  null,     '-40 seconds'),
    -- waiting, and they say for what
    (17, 'Delete an account on request',           'in_progress', 'Ada',    null,    'approval by legal',   null,     '-26 hours'),
    (18, 'Move avatars to object storage',         'in_progress', 'Bruno',  null,    'ACM-8 blocks it',     null,     '-9 hours'),
    (19, 'Publish the spring newsletter',          'in_progress', 'Dmitri', null,    'tomorrow''s launch',  '+1 day', '-7 hours'),
    (23, 'Translate the help pages',               'in_progress', 'Chiara', null,    null,                  null,     '-4 hours'),
    -- in progress, they say, but nobody is on them
    (12, 'Import contacts from CSV',               'in_progress', 'Bruno',  null,    null,                  null,     '-200 minutes'),
    (13, 'Fix the flaky login test',               'in_progress', 'Chiara', null,    null,                  null,     '-70 minutes'),
    (15, 'Rate-limit the public API',              'in_progress', 'Ada',    null,    null,                  null,     '-28 hours'),
    (16, 'Answer support mail in Spanish',         'in_progress', 'Dmitri', null,    null,                  null,     '-72 minutes'),
    (26, 'Accept SEPA direct debit',               'in_progress', 'Chiara', null,    null,                  null,     '-54 hours'),
    -- agents sit at these in sessions, which may be no better
    (27, 'Redraw the settings page',               'in_progress', 'Chiara', null,    null,                  null,     '-50 minutes'),
    (28, 'Connect the billing service',            'in_progress', 'Dmitri', null,    null,                  null,     '-40 minutes'),
    (29, 'Index the archive',                      'in_progress', 'Bruno',  null,    null,                  null,     '-90 minutes'),
    -- nor on these, whose agents are not to be woken
    (24, 'Speed up the checkout',                  'in_progress', 'Esther', null,    null,                  null,     '-6 hours'),
    (25, 'Send the weekly churn report',           'in_progress', 'Femi',   null,    null,                  null,     '-4 days')
)
insert into issues (id, tenant, identifier, title, status, assignee_agent_id, assignee_user_id, waiting_for, wait_until,
                    started_at, created_at, updated_at)
select printf('15500000-0000-4000-8000-%012d', board.n), 'acme', 'ACM-' || board.n, title, board.status, agents.id, person,
       waiting_for, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', wait_until),
       iif(board.status = 'todo', null, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', last_touched, '-30 minutes')),
       strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-9 days'), strftime('%Y-%m-%dT%H:%M:%fZ', 'now', last_touched)
from board left join agents on agents.name = board.agent;

with work (n, identifier, status, began, ended) as (values
    (1, 'ACM-10', 'running',     '-20 minutes',  null),
    (2, 'ACM-12', 'failed',      '-200 minutes', '-184 minutes'),  -- it crashed
    (3, 'ACM-13', 'succeeded',   '-70 minutes',  '-47 minutes'),   -- so it says; the issue is still open
    (4, 'ACM-14', 'succeeded',   '-6 hours',     '-5 hours'),
    (5, 'ACM-16', 'timed_out',   '-72 minutes',  '-12 minutes'),
    (6, 'ACM-24', 'cancelled',   '-6 hours',     '-5 hours'),
    (7, 'ACM-26', 'interrupted', '-54 hours',    '-53 hours'),
    (8, 'ACM-15', 'running',     '-29 hours',    null)             -- its machine went away
)
insert into runs (id, agent_id, issue_id, status, created_at, finished_at)
select printf('60000000-0000-4000-8000-%012d', n), assignee_agent_id, issues.id, work.status,
       strftime('%Y-%m-%dT%H:%M:%fZ', 'now', began), strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ended)
from work join issues using (identifier);

-- Runs say that they live, and for how long they may be silent. The one of ACM-15 has said nothing for a day.
update runs set lease_seconds = 300, heartbeat_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', iif(issue_id like '%15', '-28 hours', '-10 seconds'))
where status = 'running';

-- The crashed run still holds its issue.
update issues set checkout_run_id = (select id from runs where issue_id = issues.id)
where identifier in ('ACM-10', 'ACM-12');

with requests (n, identifier, status, asked) as (values
    (1, 'ACM-21', 'queued',  '-20 seconds'),
    (2, 'ACM-23', 'queued',  '-3 hours'),     -- stuck: nobody claims it
    (3, 'ACM-10', 'claimed', '-21 minutes')
)
insert into wakes (id, agent_id, issue_id, reason, requested_by, status, created_at, updated_at)
select printf('3a4e0000-0000-4000-8000-%012d', n), assignee_agent_id, issues.id, 'issue_assigned', 'board', requests.status,
       strftime('%Y-%m-%dT%H:%M:%fZ', 'now', asked), strftime('%Y-%m-%dT%H:%M:%fZ', 'now', asked)
from requests join issues using (identifier);
update runs set wake_id = (select id from wakes where issue_id = runs.issue_id and status = 'claimed') where status = 'running';

with schemes (n, title, status, agent, identifier) as (values
    (1, 'Release 2.4',    'executing', 'Ada',    null),
    (2, 'Pricing page',   'executing', 'Chiara', 'ACM-8'),
    (3, 'SOC 2 evidence', 'executing', null,     'ACM-20'),  -- Maria's own tools pull it
    (4, 'Data migration', 'executing', 'Bruno',  null),
    (5, 'Office move',    'completed', 'Dmitri', null)
)
insert into plans (id, tenant, title, status, agent_id, issue_id, created_at, updated_at)
select printf('b1a00000-0000-4000-8000-%012d', n), 'acme', schemes.title, schemes.status, agents.id, issues.id,
       strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-3 days'), strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-8 hours')
from schemes left join agents on agents.name = schemes.agent left join issues using (identifier);

with steps (plan, position, title, status, stalled_after_seconds, began) as (values
    (1, 1, 'Freeze the branch',       'completed',   null,  '-4 hours'),
    (1, 2, 'Run the full test suite', 'in_progress', null,  '-2 hours'),
    (1, 3, 'Tag and publish',         'pending',     null,  null),
    (2, 1, 'Write the text',          'completed',   null,  '-3 hours'),
    (2, 2, 'Build the page',          'in_progress', 600,   '-14 minutes'),
    (2, 3, 'Measure who buys',        'pending',     null,  null),
    (3, 1, 'List the systems',        'completed',   null,  '-8 hours'),
    (3, 2, 'Export the access logs',  'in_progress', null,  '-6 hours'),
    (3, 3, 'Answer the auditors',     'pending',     null,  null),
    (4, 1, 'Copy the old tables',     'in_progress', 14400, '-90 minutes'),  -- it is slow, and said so
    (4, 2, 'Compare the copies',      'pending',     null,  null),
    (5, 1, 'Pack',                    'completed',   null,  '-3 days'),
    (5, 2, 'Unpack',                  'completed',   null,  '-2 days')
)
insert into plan_steps (id, plan_id, position, title, status, stalled_after_seconds, started_at, updated_at)
select printf('57e90000-0000-4000-8000-%012d', plan * 100 + position), printf('b1a00000-0000-4000-8000-%012d', plan),
       position, title, status, stalled_after_seconds, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', began),
       strftime('%Y-%m-%dT%H:%M:%fZ', 'now', coalesce(began, '-8 hours'))
from steps;

with terminals (n, identifier, title, directory, agent, issue, stall_paused, began, active, progressed, ended, exit_code, output) as (values
    (1, 'ada-1',    'claude "show invoices in local money"',  '/srv/acme/shop',     'Ada',    'ACM-10', 0, '-20 minutes', '-3 seconds',  '-3 seconds',  null,          null, 'test invoices::euro ... ok'),
    (2, 'chiara-4', 'claude "redraw the settings page"',      '/srv/acme/shop',     'Chiara', 'ACM-27', 0, '-50 minutes', '-12 minutes', '-12 minutes', null,          null, 'Shall I keep the old colours? (y/n)'),
    (3, 'dmitri-2', 'codex "connect the billing service"',    '/srv/acme/billing',  'Dmitri', 'ACM-28', 0, '-40 minutes', '-2 seconds',  '-25 minutes', null,          null, null),
    (4, 'bruno-7',  'aider --message "index the archive"',    '/srv/acme/archive',  'Bruno',  'ACM-29', 0, '-90 minutes', '-26 minutes', '-27 minutes', '-26 minutes', 137,  'Killed'),
    (5, 'esther-1', 'claude',                                 '/home/esther/acme',  'Esther', null,     0, '-7 hours',    '-6 hours',    '-6 hours',    null,          null, ''),
    (6, 'maria-1',  'codex',                                  '/home/maria/audit',  null,     null,     1, '-3 hours',    '-2 hours',    '-2 hours',    null,          null, '')  -- not to be disturbed
)
insert into sessions (id, tenant, identifier, title, directory, agent_id, issue_id, status, stall_paused, started_at, created_at, last_activity_at,
                      last_progress_at, ended_at, exit_code, recent_output)
select printf('5e551000-0000-4000-8000-%012d', n), 'acme', terminals.identifier, terminals.title, directory, agents.id, issues.id, 'active', stall_paused,
       strftime('%Y-%m-%dT%H:%M:%fZ', 'now', began), strftime('%Y-%m-%dT%H:%M:%fZ', 'now', began),
       strftime('%Y-%m-%dT%H:%M:%fZ', 'now', active), strftime('%Y-%m-%dT%H:%M:%fZ', 'now', progressed),
       strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ended), exit_code,
       coalesce(output, replace(hex(zeroblob(8)), '00', 'Error: connect ECONNREFUSED 10.0.0.7:5432' || char(10)))  -- eight times
from terminals left join agents on agents.name = terminals.agent left join issues on issues.identifier = terminals.issue;
