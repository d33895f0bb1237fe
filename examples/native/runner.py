#!/usr/bin/env python3
"""examples/native/runner.sh for sweep's own tables in a SQLite file; see docs/native.md.    runner.py FILE COMMAND…"""
import contextlib, os, signal, sqlite3, subprocess, sys, time, uuid

NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
LEASE = int(os.environ.get("LEASE_SECONDS", 300))
for number in (signal.SIGALRM, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):  # SIGALRM: the lease is over
    signal.signal(number, lambda number, _: sys.exit(128 + number))
signal.alarm(10)
db = sqlite3.connect(sys.argv[1], timeout=1, isolation_level=None)
db.execute("pragma foreign_keys = on")


def commit(change, *values):
    """Tries again until the lease is over, which begins anew with each commit."""
    while True:
        began = time.monotonic()
        try:
            with db:
                db.execute("begin immediate")  # there is no SKIP LOCKED: the second runner waits until this one has committed
                changed = change(*values)
        except sqlite3.Error as error:
            print(error, file=sys.stderr)
            time.sleep(0.1)
        else:
            signal.setitimer(signal.ITIMER_REAL, max(0.1, began + LEASE - time.monotonic()))
            return changed


def take():
    wake = db.execute("select id, agent_id, issue_id, plan_step_id from wakes where status = 'queued' order by created_at").fetchone()
    if wake is None:
        sys.exit(1)
    (wake_id, agent, issue, step), run = wake, str(uuid.uuid4())
    db.execute(f"update wakes set status = 'completed', updated_at = {NOW} where id = ?", [wake_id])
    db.execute("insert into runs (id, wake_id, agent_id, issue_id, plan_step_id, status, heartbeat_at, lease_seconds) "
               f"values (?, ?, ?, ?, ?, 'running', {NOW}, ?)", [run, wake_id, agent, issue, step, LEASE])
    return run, issue, step


def change_run(change, *values):
    if not db.execute(f"update runs set {change} where id = ? and status = 'running'", values).rowcount:
        sys.exit(1)  # a sweep has taken the run, and somebody else goes on with the work


def finish(worked, run, issue, step):
    change_run(f"status = ?, finished_at = {NOW}", "succeeded" if worked else "failed", run)
    if worked and step:
        db.execute(f"update plan_steps set status = 'completed', updated_at = {NOW} where id = ?", [step])
    elif worked:
        db.execute(f"update issues set status = 'in_review', updated_at = {NOW} where id = ?", [issue])


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


run, issue, step = commit(take)
work = subprocess.Popen(sys.argv[2:], env={**os.environ, "ISSUE": issue or "", "STEP": step or ""}, start_new_session=True)
try:
    while True:
        try:
            worked = work.wait(LEASE / 3) == 0
            break
        except subprocess.TimeoutExpired:  # three signs of life in the time of a lease
            commit(change_run, f"heartbeat_at = {NOW}", run)
finally:
    end(work)
commit(finish, worked, run, issue, step)
