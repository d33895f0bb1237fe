-- A restore that went wrong: thirty issues are being worked on, and the runs that would say so are missing.

with recursive lost (n) as (select 1 union all select n + 1 from lost where n < 30)
insert into issues (id, tenant, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
select printf('15500000-0000-4000-8000-%012d', 100 + n), 'acme', 'ACM-' || (100 + n), 'Migrate customer ' || n, 'in_progress',
       printf('a6e00000-0000-4000-8000-%012d', 1 + n % 4), at, at, at
from lost, (select strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 hour') as at);
