"""The flow of the tests: it hangs in its first runs, so that somebody can kill it, and finishes in the next one."""

import json
import os
import time

from prefect import flow
from prefect.runtime import flow_run


def note(event: str) -> None:
    line = {"run": flow_run.id, "turn": flow_run.run_count, "event": event, "pid": os.getpid()}
    with open(os.environ["FLOWS_JOURNAL"], "a", encoding="utf-8") as journal:
        journal.write(json.dumps(line) + "\n")


@flow
def work(hangs: int = 0) -> None:
    note("begins")
    time.sleep(3600 if flow_run.run_count <= hangs else 1)
    note("ends")
