/**
 * Runs a process whose Replay serves 1,000 idle actors over WebSockets, and then 100 actors that write continuously. Reports the resident bytes per idle actor,
 * and the additional bytes per busy actor. The actors run in a separate process.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { WebSocket, WebSocketServer } from "ws";
import { entry, Replay } from "./package.mjs";
import { SOURCE_STEPS, source, spec } from "./source.mjs";

const IDLE = 1000;
const BUSY = 100;
const STEPS = 2_000_000;

if (process.argv[2] === "actors") await act(Number(process.argv[3]));
else await accept();

async function act(port) {
  const { remoteWriter } = await entry("remote");
  const writers = [];
  for (let i = 0; i < IDLE; i++) writers.push(await remoteWriter(new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false }), { spec }));
  process.send("idle");
  await once(process, "message");
  const { steps } = source();
  const write = async (writer) => {
    for (let k = 0; k < STEPS / BUSY; k++) await writer.append(steps[k & (SOURCE_STEPS - 1)]);
    await writer.flush();
  };
  await Promise.all(writers.slice(0, BUSY).map(write));
  process.send("busy");
}

/** Returns the resident bytes after a garbage collection, which also frees the messages that are no longer used. */
function resident() {
  globalThis.gc();
  return process.memoryUsage.rss();
}

async function accept() {
  const replay = new Replay({ spec, tables: { t: { maxSize: 100_000 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  // Fills the table, and compiles the code that appends.
  const { steps } = source();
  for (let k = 0; k < 200_000; k++) writer.append(steps[k & (SOURCE_STEPS - 1)]);
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
  server.on("connection", (socket) => replay.acceptWriter(socket, { items: [{ table: "t", length: 1 }] }));
  await once(server, "listening");
  const before = resident();
  const actors = fork(fileURLToPath(import.meta.url), ["actors", String(server.address().port)]);
  const ended = once(actors, "exit").then(([code, signal]) => {
    throw new Error(`the actors ended with ${signal ?? `exit code ${code}`} before they had written all steps`);
  });
  const message = () => Promise.race([once(actors, "message"), ended]);
  await message();
  const idle = resident();
  actors.send("write");
  await message();
  const busy = resident();
  console.log(JSON.stringify({ idle: (idle - before) / IDLE, busy: (busy - idle) / BUSY }));
  actors.kill();
  process.exit();
}
