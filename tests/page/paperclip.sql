-- A company of Paperclip's, with one issue for each kind of row on the page. Times are in the past.
insert into companies (id, name, issue_prefix, default_responsible_user_id)
values ('c0000000-0000-4000-8000-000000000001', 'Acme', 'ACM', 'user-1');
insert into agents (id, company_id, name, status)
select ('a0000000-0000-4000-8000-00000000000' || n)::uuid, 'c0000000-0000-4000-8000-000000000001', name, status
from (values (1, 'Ada', 'idle'), (2, 'Bruno', 'idle'), (3, 'Femi', 'terminated')) v (n, name, status);
insert into issues (id, company_id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
select ('10000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'c0000000-0000-4000-8000-000000000001', 'ACM-' || n,
       'Mend fence ' || n || ' <b>& gate</b>', 'in_progress',
       ('a0000000-0000-4000-8000-00000000000' || case when n > 8 then 3 when n > 4 then 2 else 1 end)::uuid,
       now() - interval '5 hours', now() - interval '6 hours', now() - interval '4 hours' - n * interval '1 minute'
from generate_series(1, 10) n;
