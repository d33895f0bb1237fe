// Calls tools by the official TypeScript client, and prints what it got as JSON: the names of the tools, and each answer. The client
// itself holds every answer to the schema that the server gave for it.
//
//   node client.mjs CACHE '{"command": "sweep", "args": ["mcp"], "calls": [{"name": "status", "arguments": {}}]}'

import { createRequire } from "node:module";

const [cache, asked] = process.argv.slice(2);
const require = createRequire(`${cache}/`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const { command, args, calls } = JSON.parse(asked);
const client = new Client({ name: "typescript", version: "1.0" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const { tools } = await client.listTools();
const answers = [];
for (const call of calls) answers.push(await client.callTool(call));
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), answers }));
