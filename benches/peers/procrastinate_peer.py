"""procrastinate: jobs whose worker was killed, and the documented task that retries them.

    procrastinate_peer.py strand URL ITEMS      work on as many jobs at once, then die as a crash would
    procrastinate_peer.py recover URL ITEMS     get the stalled jobs, and retry each

What `recover` calls is the body of the periodic task that the documentation says to add to an application.
"""

import asyncio
import json
import os
import signal
import sys
import time

import procrastinate

app = procrastinate.App(connector=procrastinate.PsycopgConnector())
started = set()


@app.task(name="work")
async def work(item):
    started.add(item)
    await asyncio.sleep(3600)


async def die_when_all_have_started(items):
    while len(started) < items:
        await asyncio.sleep(0.1)
    os.kill(os.getpid(), signal.SIGKILL)


async def strand(items):
    await app.schema_manager.apply_schema_async()
    await work.batch_defer_async(*({"item": item} for item in range(items)))
    await asyncio.gather(app.run_worker_async(concurrency=items), die_when_all_have_started(items))


async def recover():
    began = time.monotonic()
    stalled = list(await app.job_manager.get_stalled_jobs())
    for job in stalled:
        await app.job_manager.retry_job(job)
    print(json.dumps({"seconds": time.monotonic() - began}))


async def main(command, url, items):
    with app.replace_connector(procrastinate.PsycopgConnector(conninfo=url)) as opened:
        async with opened.open_async():
            # Makes a first connection before anything is measured.
            await opened.check_connection_async()
            await (strand(items) if command == "strand" else recover())


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
