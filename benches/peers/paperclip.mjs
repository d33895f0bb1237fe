// Paperclip's own sweep of stranded issues: the call that its server makes when it starts and at each tick of its
// scheduler.
//
//     paperclip.mjs MODULES URL
//
// The server itself is not started, so that neither an agent nor anything else of its tick is measured.

const [modules, url] = process.argv.slice(2);
const { createDb } = await import(`${modules}/@paperclipai/db/dist/index.js`);
const { heartbeatService } = await import(`${modules}/@paperclipai/server/dist/services/heartbeat.js`);
const db = createDb(url);
const heartbeat = heartbeatService(db);
// Makes a first connection before anything is measured.
await db.execute("select 1");
const began = performance.now();
await heartbeat.reconcileStrandedAssignedIssues();
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000 }));
// The server's timers would go on.
process.exit(0);
