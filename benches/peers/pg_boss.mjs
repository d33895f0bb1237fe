// pg-boss: jobs whose worker was killed, and the supervision that gives them back.
//
//     pg_boss.mjs MODULES strand URL ITEMS      take as many jobs, then die as a crash would
//     pg_boss.mjs MODULES recover URL ITEMS     supervise once
//
// An instance supervises by itself, every 60 seconds; `supervise()` is such a pass, called at once. The queue has a
// heartbeat, by which pg-boss's documentation detects a dead worker.

import { createRequire } from "node:module";

const [modules, command, connectionString, items] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { PgBoss } = await import(require.resolve("pg-boss"));
const QUEUE = "work";

const strand = async (count) => {
    const boss = new PgBoss({ connectionString, supervise: false, schedule: false });
    await boss.start();
    await boss.createQueue(QUEUE, { heartbeatSeconds: 60 });
    await boss.insert(QUEUE, Array.from({ length: count }, (_, item) => ({ data: { item } })));
    const taken = await boss.fetch(QUEUE, { batchSize: count });
    if (taken.length !== count) throw new Error(`took ${taken.length} of ${count} jobs`);
    process.kill(process.pid, "SIGKILL");
};

const recover = async () => {
    const boss = new PgBoss({ connectionString, supervise: false, schedule: false });
    await boss.start();
    const began = performance.now();
    await boss.supervise(QUEUE);
    console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000 }));
    await boss.stop({ graceful: false });
    process.exit(0);
};

await (command === "strand" ? strand(Number(items)) : recover());
