// An agent of the tests, as both adapters start it: a `process`, or in place of Claude's CLI (`claude_local`, engine "cli").
//
// The title of its issue says what it does: one word for each run of that issue, the last one for all that follow, as in
// "quit, quit, close #7". For each run it writes one line of JSON to $AGENTS_JOURNAL before it does anything.
import { appendFileSync, mkdirSync } from "node:fs";
import { randomUUID } from "node:crypto";

const { AGENTS_JOURNAL: journal, PAPERCLIP_API_URL: api, PAPERCLIP_API_KEY: key, PAPERCLIP_RUN_ID: run } = process.env;
const flags = process.argv.slice(2);
const isClaude = flags.includes("--print");
const resumed = flags.includes("--resume") ? flags[flags.indexOf("--resume") + 1] : null;
const session = resumed ?? randomUUID();
const seconds = (n) => new Promise((resolve) => setTimeout(resolve, n * 1000));

const plays = {
    /** Finishes the issue. */
    close: () => change({ status: "done", comment: "Done." }),
    /** Works for a while, then finishes it. */
    slow: async () => { await seconds(15); await plays.close(); },
    /** Says what it did, and leaves the issue in progress. */
    comment: () => change({ comment: "I looked at it." }),
    /** Ends well, without a word. */
    quit: () => {},
    crash: () => process.exit(1),
    /** As if somebody had killed it. */
    killed: () => process.kill(process.pid, "SIGKILL"),
    /** Does nothing until somebody ends it. */
    hang: () => seconds(3600),
};

async function ask(method, path, body) {
    const headers = { "content-type": "application/json", authorization: `Bearer ${key}`, "x-paperclip-run-id": run };
    const answer = await fetch(`${api}/api${path}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
}

/** The first run of an issue is 0: who makes the directory has the number. */
function turnOf(issue) {
    for (let turn = 0; ; turn += 1) {
        try {
            mkdirSync(`${journal}.${issue}.${turn}`);
            return turn;
        } catch (error) {
            if (error.code !== "EEXIST") throw error;
        }
    }
}

function say(event) {
    if (isClaude) process.stdout.write(`${JSON.stringify({ session_id: session, ...event })}\n`);
}

let issue;
const change = (body) => ask("PATCH", `/issues/${issue}`, body);

async function work() {
    issue = (await ask("GET", `/heartbeat-runs/${run}`)).contextSnapshot.issueId;
    const words = (await ask("GET", `/issues/${issue}`)).title.replace(/ #.*/, "").split(", ");
    const turn = turnOf(issue);
    const play = words[Math.min(turn, words.length - 1)];
    appendFileSync(journal, `${JSON.stringify({ run, issue, agent: process.env.PAPERCLIP_AGENT_ID, turn, play, session, resumed, pid: process.pid })}\n`);
    say({ type: "system", subtype: "init", model: "stand-in" });
    await seconds(1);
    await plays[play]();
    say({ type: "assistant", message: { content: [{ type: "text", text: `I played ${play}.` }] } });
    say({ type: "result", subtype: "success", is_error: false, result: `I played ${play}.`, usage: { input_tokens: 1, output_tokens: 1 } });
}

if (flags.includes("--version")) {
    console.log("2.1.330 (Claude Code)");
} else {
    await work();
    process.exit(0);
}
