#!/usr/bin/env bash
# A runner for sweep's own tables on PostgreSQL, explained in docs/native.md: takes the oldest wake, has COMMAND do the work, writes how
# it ended. Exits with 1 when no wake is queued.    DATABASE_URL=postgres://… examples/native/runner.sh COMMAND…
set -euo pipefail
query() { PGOPTIONS='-c search_path=sweep' psql "$DATABASE_URL" -XAqt -v ON_ERROR_STOP=1 "$@"; }

taken=$(query <<'SQL'
with wake as (
    update wakes set status = 'completed', updated_at = now()
    where id = (select id from wakes where status = 'queued' order by created_at limit 1 for update skip locked) returning *
)
insert into runs (wake_id, agent_id, issue_id, plan_step_id, status)
select id, agent_id, issue_id, plan_step_id, 'running' from wake returning id, issue_id, plan_step_id
SQL
)
if [[ -z $taken ]]; then exit 1; fi
IFS='|' read -r run issue step <<<"$taken"
if ISSUE=$issue STEP=$step "$@"; then ended=succeeded; else ended=failed; fi

query -v run="$run" -v ended="$ended" <<'SQL'
with run as (update runs set status = :'ended', finished_at = now() where id = :'run' returning *),
     step as (update plan_steps s set status = 'completed', updated_at = now() from run
              where s.id = run.plan_step_id and run.status = 'succeeded')
update issues i set status = 'in_review', updated_at = now() from run
where i.id = run.issue_id and run.plan_step_id is null and run.status = 'succeeded'
SQL
