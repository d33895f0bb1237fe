#!/usr/bin/env python3
"""A worker for sweep's own tables on PostgreSQL, explained in docs/native.md: has COMMAND do the work of each wake, one after the other.
It says by its name when it starts again, so that a run which an earlier start left behind is lost at once.
    DATABASE_URL=postgres://… worker.py NAME COMMAND…"""
import contextlib, os, signal, subprocess, sys, time

import psycopg  # Debian: python3-psycopg

(name, *command), lease = sys.argv[1:], int(os.environ.get("LEASE_SECONDS", 300))
for number in (signal.SIGALRM, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):  # SIGALRM: the lease is over
    signal.signal(number, lambda number, _: sys.exit(128 + number))
signal.alarm(10)
TAKE = """
    with wake as (
        update wakes set status = 'completed', updated_at = now()
        where id = (select id from wakes where status = 'queued' order by created_at limit 1 for update skip locked) returning *
    )
    insert into runs (wake_id, agent_id, issue_id, plan_step_id, status, worker_id, heartbeat_at, lease_seconds)
    select id, agent_id, issue_id, plan_step_id, 'running', %s, now(), %s from wake returning id, issue_id, plan_step_id"""
LIVE = "update runs set heartbeat_at = now() where id = %s and status = 'running' returning id"
END = """
    with run as (update runs set status = %s, finished_at = now() where id = %s and status = 'running' returning *),
         step as (update plan_steps s set status = 'completed', updated_at = now() from run
                  where s.id = run.plan_step_id and run.status = 'succeeded'),
         issue as (update issues i set status = 'in_review', updated_at = now() from run
                   where i.id = run.issue_id and run.plan_step_id is null and run.status = 'succeeded')
    select id from run"""


def ask(sql, *values):
    """Tries again until the lease is over, which begins anew with each answer. Each statement has its own connection."""
    while True:
        asked = time.monotonic()
        try:
            with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, options="-c search_path=sweep") as db:
                answer = db.execute(sql, values).fetchone()
        except psycopg.Error as error:
            print(error, file=sys.stderr)
            time.sleep(1)
        else:
            signal.setitimer(signal.ITIMER_REAL, max(0.1, asked + lease - time.monotonic()))
            return answer


def end(work):
    """Ends the command and all that it has started, within five seconds."""
    with contextlib.suppress(ProcessLookupError):  # nothing of it is left
        try:
            os.killpg(work.pid, signal.SIGTERM)
            for _ in range(50):
                work.poll()
                os.killpg(work.pid, 0)
                time.sleep(0.1)
        finally:
            os.killpg(work.pid, signal.SIGKILL)


(worker,) = ask("insert into workers (name) values (%s) returning id", name)
while taken := ask(TAKE, worker, lease):
    run, issue, step = taken
    env = {**os.environ, "ISSUE": str(issue or ""), "STEP": str(step or "")}
    work, worked = subprocess.Popen(command, env=env, start_new_session=True), None
    try:
        while worked is None:
            try:
                worked = work.wait(lease / 3) == 0
            except subprocess.TimeoutExpired:  # three signs of life in the time of a lease
                if not ask(LIVE, run):
                    break  # a sweep has taken the run
    finally:
        end(work)
    ask(END, "succeeded" if worked else "failed", run)
