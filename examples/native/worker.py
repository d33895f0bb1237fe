#!/usr/bin/env python3
"""A worker for sweep's own tables on PostgreSQL, explained in docs/native.md: has COMMAND do the work of each wake, one after the other.
It says by its name when it starts again, so that a run which an earlier start left behind is lost at once.
    DATABASE_URL=postgres://… worker.py NAME COMMAND…"""
import os, subprocess, sys

import psycopg  # Debian: python3-psycopg

(name, *command), lease = sys.argv[1:], int(os.environ.get("LEASE_SECONDS", 300))
db = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, options="-c search_path=sweep")
(worker,) = db.execute("insert into workers (name) values (%s) returning id", [name]).fetchone()
TAKE = """
    with wake as (
        update wakes set status = 'completed', updated_at = now()
        where id = (select id from wakes where status = 'queued' order by created_at limit 1 for update skip locked) returning *
    )
    insert into runs (wake_id, agent_id, issue_id, plan_step_id, status, worker_id, heartbeat_at, lease_seconds)
    select id, agent_id, issue_id, plan_step_id, 'running', %s, now(), %s from wake returning id, issue_id, plan_step_id"""


def is_ours(change, *values):
    """Changes the run, unless a sweep has taken it."""
    return db.execute(f"update runs set {change} where id = %s and status = 'running'", values).rowcount == 1


while taken := db.execute(TAKE, [worker, lease]).fetchone():
    run, issue, step = taken
    work = subprocess.Popen(command, env={**os.environ, "ISSUE": str(issue or ""), "STEP": str(step or "")})
    while True:
        try:
            worked = work.wait(lease / 3) == 0
            break
        except subprocess.TimeoutExpired:  # three signs of life in the time of a lease
            if not is_ours("heartbeat_at = now()", run):
                work.terminate()
    with db.transaction():
        if is_ours("status = %s, finished_at = now()", "succeeded" if worked else "failed", run) and worked:
            if step:
                db.execute("update plan_steps set status = 'completed', updated_at = now() where id = %s", [step])
            else:
                db.execute("update issues set status = 'in_review', updated_at = now() where id = %s", [issue])
