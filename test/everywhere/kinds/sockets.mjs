// Runs actors over WebSockets: in Node, Deno and Bun with a server in the same runtime, and in pages with a server in Node.
import { cpSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runtimes } from "../../../build/runtimes.mjs";
import { root } from "../../../build/step.mjs";
import { run } from "../workshop.mjs";
import { page } from "./pages.mjs";

const OWN = ["sockets: left, 1000 steps, in order: true, connections: 2, messages: 12,true"];
const STEPS = 1000;

/** The test program of the checkout, with the import names that users write. */
const program = readFileSync(join(root, "test/runtime/sockets.mjs"), "utf8").replaceAll(/"\.\.\/\.\.\/dist\/(\w+)\.js"/g, (_, name) =>
  name === "index" ? '"reprise"' : `"reprise/${name}"`,
);

const ACTOR = `import { f32, i32, remoteWriter } from "reprise/remote";
globalThis.lines = [];
const spec = { observation: f32(2), action: i32(), reward: f32() };
const writer = await remoteWriter("ws://127.0.0.1:" + new URLSearchParams(location.search).get("port"), { spec });
const weights = new Promise((resolve) => (writer.onmessage = ({ data }) => resolve([...new Float32Array(data.buffer)])));
for (let t = 0; t < ${STEPS}; t++) await writer.append({ observation: [t, -t], action: t, reward: 1 });
globalThis.lines.push("weights: " + (await weights));
await writer.close();
document.title = "done";
`;

const what = "remote writers to its own server";

export async function rows(workshop, browsers) {
  const here = runtimes();
  const hosts = [
    ["Node.js", process.execPath, []],
    ["Deno", here.deno, ["run", "--allow-net=127.0.0.1", "--allow-read"]],
    ["Bun", here.bun, []],
  ];
  const own = hosts.map(async ([name, path, args]) => ({
    where: `${name}, over WebSockets`,
    version: (await run(".", path, ["--version"])).match(/\d+\.\d+\.\d+/)[0],
    found: path === process.execPath,
    what,
    expected: OWN,
    async run() {
      const folder = workshop.project(`sockets-${name.toLowerCase()}`, { files: { "main.js": program } });
      // Node has no built-in WebSocket server, so users install this package.
      cpSync(join(root, "node_modules/ws"), join(folder, "node_modules/ws"), { recursive: true });
      return (await run(folder, path, [...args, "main.js"])).trim().split("\n");
    },
  }));
  const pages = ["Chromium", "Firefox"].map(async (name) => ({
    where: `${name}, over WebSockets`,
    version: await browsers.version(name.toLowerCase()),
    found: true,
    what: "remote writers to Node.js",
    expected: ["weights: 1,0.5", `left, ${STEPS} steps, in order: true`],
    run: () => inPage(workshop, browsers, name.toLowerCase()),
  }));
  return Promise.all([...own, ...pages]);
}

/** An actor in a page writes to a Replay of this process. */
async function inPage(workshop, browsers, name) {
  const folder = workshop.project(`sockets-${name}`, { files: { "main.js": ACTOR, "index.html": page("./main.bundled.js") } });
  const { build } = await import("esbuild");
  await build({ absWorkingDir: folder, entryPoints: ["main.js"], outfile: join(folder, "main.bundled.js"), bundle: true, format: "esm", logLevel: "error" });
  const { f32, fifo, i32, Replay } = await import(pathToFileURL(createRequire(join(folder, "package.json")).resolve("reprise")).href);
  const { WebSocketServer } = await import("ws");
  const spec = { observation: f32(2), action: i32(), reward: f32() };
  const replay = new Replay({ spec, tables: { memory: { maxSize: 10_000, sampler: fifo() } } });
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  try {
    await new Promise((resolve) => server.on("listening", resolve));
    replay.publish(Float32Array.of(1, 0.5));
    const accepted = new Promise((resolve) => {
      server.on("connection", (socket) => resolve(replay.acceptWriter(socket, { items: [{ table: "memory", length: 1 }] })));
    });
    const lines = await browsers.lines(name, folder, { path: `/index.html?port=${server.address().port}` });
    const { how } = await (await accepted).closed;
    const { action } = replay.tables.memory.sample(STEPS, { replacement: false }).steps;
    return [...lines, `${how}, ${replay.tables.memory.size} steps, in order: ${action.data.every((n, i) => n === i)}`];
  } finally {
    for (const client of server.clients) client.terminate();
    server.close();
  }
}
