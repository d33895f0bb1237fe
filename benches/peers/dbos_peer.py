"""DBOS: workflows whose executor was killed, and the launch that recovers them.

    dbos_peer.py strand URL ITEMS      run as many workflows at once, then die as a crash would
    dbos_peer.py recover URL ITEMS     launch again under the same executor's id, until each workflow is enqueued again

As documented, a launched application recovers the pending workflows of its executor's id by itself, in the background.
It listens to no queue here, so that the workflows are enqueued again and other executors would run them: what is
measured is the recovery alone, and the launch.
"""

import asyncio
import json
import os
import signal
import sys
import time

import psycopg
from dbos import DBOS

QUEUE = "work"
started = set()


@DBOS.workflow()
async def work(item):
    started.add(item)
    await asyncio.sleep(3600)


def configure(url):
    DBOS(
        config={
            "name": "bench",
            "system_database_url": url,
            "executor_id": "dead",
            "application_version": "1",
            "log_level": "WARNING",
        }
    )


async def strand(url, items):
    configure(url)
    DBOS.launch()
    await DBOS.register_queue_async(QUEUE, polling_interval_sec=0.1)
    for item in range(items):
        await DBOS.enqueue_workflow_async(QUEUE, work, item)
    while len(started) < items:
        await asyncio.sleep(0.1)
    os.kill(os.getpid(), signal.SIGKILL)


def recover(url, items):
    configure(url)
    DBOS.listen_queues([])
    with psycopg.connect(url, autocommit=True) as db:
        began = time.monotonic()
        DBOS.launch()
        enqueued = "select count(*) from dbos.workflow_status where status = 'ENQUEUED'"
        while db.execute(enqueued).fetchone()[0] < items:
            time.sleep(0.02)
        print(json.dumps({"seconds": time.monotonic() - began}), flush=True)
    # DBOS's threads are of no use any more.
    os._exit(0)


command, url, items = sys.argv[1], sys.argv[2], int(sys.argv[3])
if command == "strand":
    asyncio.run(strand(url, items))
else:
    recover(url, items)
