// graphile-worker: jobs whose workers were killed, and the documented call that unlocks them.
//
//     graphile_worker.mjs MODULES strand URL ITEMS      work on as many jobs at once, then die as a crash would
//     graphile_worker.mjs MODULES recover URL ITEMS     unlock what the dead workers have locked
//
// graphile-worker itself notices a dead worker after four hours; before that somebody has to name the worker's id. Here
// the ids are read from the locked jobs beforehand, which is not measured.

import { createRequire } from "node:module";

const [modules, command, connectionString, items] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { run, makeWorkerUtils, Logger } = await import(require.resolve("graphile-worker"));
const logger = new Logger(() => () => {});

const strand = async (count) => {
    const utils = await makeWorkerUtils({ connectionString, logger });
    await utils.migrate();
    await utils.addJobs(Array.from({ length: count }, (_, item) => ({ identifier: "work", payload: { item } })));
    let started = 0;
    const work = async () => {
        started += 1;
        if (started === count) process.kill(process.pid, "SIGKILL");
        await new Promise((resolve) => setTimeout(resolve, 3600_000));
    };
    await run({ connectionString, logger, concurrency: count, taskList: { work } });
};

const recover = async () => {
    const utils = await makeWorkerUtils({ connectionString, logger });
    const locked = "select distinct locked_by from graphile_worker._private_jobs where locked_by is not null";
    const { rows } = await utils.withPgClient((client) => client.query(locked));
    const dead = rows.map((row) => row.locked_by);
    const began = performance.now();
    await utils.forceUnlockWorkers(dead);
    console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000 }));
    await utils.release();
};

await (command === "strand" ? strand(Number(items)) : recover());
