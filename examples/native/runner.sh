#!/usr/bin/env bash
# A runner for sweep's own tables on PostgreSQL, explained in docs/native.md: takes the oldest wake, has COMMAND do the work, writes how
# it ended. Exits with 1 when no wake is queued, or when the run was taken from it.    DATABASE_URL=postgres://… examples/native/runner.sh COMMAND…
set -euo pipefail
lease=${LEASE_SECONDS:-300} over=10 run='' ended=''
ask() {  # tries again until the lease is over, which begins anew with each answer
    until asked=$SECONDS; answer=$(PGOPTIONS='-c search_path=sweep' timeout --foreground $((over > SECONDS ? over - SECONDS : 1)) \
          psql "$DATABASE_URL" -XAqt -v ON_ERROR_STOP=1 -v run="$run" -v lease="$lease" -v ended="$ended" <<<"$1"); do
        if ((SECONDS < over)); then sleep 1; else exit 2; fi
    done; over=$((asked + lease))
}
end() {  # ends COMMAND and all that it has started, within five seconds
    trap '' HUP INT TERM; kill -- -$work || kill $work || return 0
    for _ in {1..50}; do kill -0 -- -$work || return 0; sleep 0.1; done; kill -KILL -- -$work || :
} 2>/dev/null

ask "with wake as (update wakes set status = 'completed', updated_at = now() where id = (
         select id from wakes where status = 'queued' order by created_at limit 1 for update skip locked) returning *)
     insert into runs (wake_id, agent_id, issue_id, plan_step_id, status, heartbeat_at, lease_seconds)
     select id, agent_id, issue_id, plan_step_id, 'running', now(), :lease from wake returning id, issue_id, plan_step_id"
IFS='|' read -r run issue step <<<"$answer"; if [[ -z $run ]]; then exit 1; fi
trap end EXIT; trap 'exit 143' HUP INT TERM; ISSUE=$issue STEP=$step setsid "$@" & work=$!
until timeout --foreground $((lease * 1000 / 3))e-3 tail --pid=$work -f /dev/null & wait $!; do  # three signs of life in a lease; signals end `wait`
    ask "update runs set heartbeat_at = now() where id = :'run' and status = 'running' returning id"; [[ $answer ]] || exit 1
done
if wait $work; then ended=succeeded; else ended=failed; fi
end; trap - EXIT HUP INT TERM
ask "with run as (update runs set status = :'ended', finished_at = now() where id = :'run' and status = 'running' returning *),
     step as (update plan_steps s set status = 'completed', updated_at = now() from run where s.id = run.plan_step_id and run.status = 'succeeded')
     update issues i set status = 'in_review', updated_at = now() from run where i.id = run.issue_id and run.plan_step_id is null and run.status = 'succeeded'"
