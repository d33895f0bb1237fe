#!/usr/bin/env python3
"""examples/native/runner.sh for sweep's own tables in a SQLite file; see docs/native.md.    runner.py FILE COMMAND…"""
import os, sqlite3, subprocess, sys, uuid

NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
db = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
db.execute("pragma foreign_keys = on")

db.execute("begin immediate")  # there is no SKIP LOCKED: the second runner waits until this one has committed
wake = db.execute("select id, agent_id, issue_id, plan_step_id from wakes where status = 'queued' order by created_at").fetchone()
if wake is None:
    sys.exit(1)
(wake_id, agent, issue, step), run = wake, str(uuid.uuid4())
db.execute(f"update wakes set status = 'completed', updated_at = {NOW} where id = ?", [wake_id])
db.execute("insert into runs (id, wake_id, agent_id, issue_id, plan_step_id, status) values (?, ?, ?, ?, ?, 'running')",
           [run, wake_id, agent, issue, step])
db.execute("commit")

worked = subprocess.run(sys.argv[2:], env={**os.environ, "ISSUE": issue or "", "STEP": step or ""}).returncode == 0

db.execute("begin immediate")
db.execute(f"update runs set status = ?, finished_at = {NOW} where id = ?", ["succeeded" if worked else "failed", run])
if worked and step:
    db.execute(f"update plan_steps set status = 'completed', updated_at = {NOW} where id = ?", [step])
elif worked:
    db.execute(f"update issues set status = 'in_review', updated_at = {NOW} where id = ?", [issue])
db.execute("commit")
