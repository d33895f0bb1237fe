#!/usr/bin/env python3
"""examples/native/runner.sh for sweep's own tables in a SQLite file; see docs/native.md.    runner.py FILE COMMAND…"""
import os, sqlite3, subprocess, sys, uuid

NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
LEASE = int(os.environ.get("LEASE_SECONDS", 300))
db = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
db.execute("pragma foreign_keys = on")

db.execute("begin immediate")  # there is no SKIP LOCKED: the second runner waits until this one has committed
wake = db.execute("select id, agent_id, issue_id, plan_step_id from wakes where status = 'queued' order by created_at").fetchone()
if wake is None:
    sys.exit(1)
(wake_id, agent, issue, step), run = wake, str(uuid.uuid4())
db.execute(f"update wakes set status = 'completed', updated_at = {NOW} where id = ?", [wake_id])
db.execute("insert into runs (id, wake_id, agent_id, issue_id, plan_step_id, status, heartbeat_at, lease_seconds) "
           f"values (?, ?, ?, ?, ?, 'running', {NOW}, ?)", [run, wake_id, agent, issue, step, LEASE])
db.execute("commit")

work = subprocess.Popen(sys.argv[2:], env={**os.environ, "ISSUE": issue or "", "STEP": step or ""})
while True:
    try:
        worked = work.wait(LEASE / 3) == 0
        break
    except subprocess.TimeoutExpired:  # three signs of life in the time of a lease
        if not db.execute(f"update runs set heartbeat_at = {NOW} where id = ? and status = 'running'", [run]).rowcount:
            work.terminate()
            sys.exit(1)

db.execute("begin immediate")
end = f"update runs set status = ?, finished_at = {NOW} where id = ? and status = 'running'"
if not db.execute(end, ["succeeded" if worked else "failed", run]).rowcount:
    sys.exit(1)  # a sweep has taken the run, and somebody else goes on with the work
if worked and step:
    db.execute(f"update plan_steps set status = 'completed', updated_at = {NOW} where id = ?", [step])
elif worked:
    db.execute(f"update issues set status = 'in_review', updated_at = {NOW} where id = ?", [issue])
db.execute("commit")
