/** Steps over a WebSocket on the loopback, both ends in this process: as blocks of columns, and as the JSON that programs make by hand. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { WebSocket, WebSocketServer } from "ws";
import { entry, Replay } from "../package.mjs";
import { SOURCE_STEPS, source, spec } from "../source.mjs";

const { remoteWriter } = await entry("remote");

/** Steps of a message where steps go by the block. */
const BLOCK = 256;

async function socketPair() {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
  await once(server, "listening");
  const there = new WebSocket(`ws://127.0.0.1:${server.address().port}`, { perMessageDeflate: false });
  const [[here]] = await Promise.all([once(server, "connection"), once(there, "open")]);
  return [here, there];
}

const made = () => new Replay({ spec, tables: { t: { maxSize: 100_000 } } });
const rules = { items: [{ table: "t", length: 1 }] };

async function ours() {
  const [here, there] = await socketPair();
  const [, writer] = await Promise.all([made().acceptWriter(here, { ...rules, maxInFlight: 16_384 }), remoteWriter(there, { spec })]);
  const { steps } = source();
  return async (count) => {
    for (let k = 0; k < count; k++) {
      const room = writer.append(steps[k & (SOURCE_STEPS - 1)]);
      if (room !== undefined) await room;
    }
    await writer.flush();
    return writer.length;
  };
}

/** Numbers as JSON has them. */
const plain = (value) => (ArrayBuffer.isView(value) ? [...value] : typeof value === "object" && value !== null ? mapped(value) : value);
const mapped = (step) => Object.fromEntries(Object.entries(step).map(([name, value]) => [name, plain(value)]));

/** One text per message, of so many steps; the answer to the last one says that all are there. Nothing limits what is on its way. */
const asJson = (size) => async () => {
  const [here, there] = await socketPair();
  const writer = made().writer(rules);
  here.on("message", (text) => {
    const { steps, last } = JSON.parse(text);
    for (const step of steps) writer.append(step);
    if (last) here.send("done");
  });
  const steps = source().steps.map(mapped);
  return async (count) => {
    const done = once(there, "message");
    for (let k = 0; k < count; k += size) {
      const list = [];
      for (let i = k; i < Math.min(count, k + size); i++) list.push(steps[i & (SOURCE_STEPS - 1)]);
      there.send(JSON.stringify({ steps: list, last: k + size >= count }));
    }
    await done;
    return writer.length;
  };
};

let found;
/** Of one process, for both rows. */
function resident(which) {
  if (found === undefined) {
    const { stdout, status } = spawnSync(process.execPath, ["--expose-gc", fileURLToPath(new URL("../socket-memory.mjs", import.meta.url))], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`socket-memory.mjs: exit code ${status}`);
    found = JSON.parse(stdout);
  }
  return found[which] / 1024;
}

const fact = (name, limit, which) => ({ name, unit: "KiB", rivalName: "limit", limit: 1, fact: () => ({ ours: resident(which), rival: limit }) });

export const cases = [
  { name: "steps over a WebSocket", unit: "µs/step", rivalName: "a JSON text message per step", ours, rival: asJson(1) },
  { name: "steps over a WebSocket, by the block", unit: "µs/step", rivalName: `a JSON text message per ${BLOCK} steps`, ours, rival: asJson(BLOCK) },
  fact("resident KiB of an idle socket, of 1,000", 96, "idle"),
  fact("resident KiB of a busy socket beyond that, of 100", 384, "busy"),
];
