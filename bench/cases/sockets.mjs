/** Measures steps over a WebSocket on the loopback interface, with both ends in this process: as blocks of columns, and as JSON like handwritten programs. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { entry, Replay } from "../package.mjs";
import { SOURCE_STEPS, source, spec } from "../source.mjs";

const { remoteWriter } = await entry("remote");

/** The number of steps per message when steps are sent in blocks. */
const BLOCK = 256;

/** The time limit of socket-memory.mjs, which waits for answers that a build without this part of the package does not send. */
const LIMIT_MS = 120_000;

/** Whether the package `bufferutil` is installed, with which `ws` masks and unmasks messages in C. In each case, all sockets use it, or none does. */
const hasBufferutil = (() => {
  try {
    createRequire(import.meta.url).resolve("bufferutil");
    return true;
  } catch {
    return false;
  }
})();

async function socketPair(isNative) {
  if (!isNative) process.env.WS_NO_BUFFER_UTIL = "1";
  const { WebSocket, WebSocketServer } = await import("ws");
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
  await once(server, "listening");
  const there = new WebSocket(`ws://127.0.0.1:${server.address().port}`, { perMessageDeflate: false });
  const [[here]] = await Promise.all([once(server, "connection"), once(there, "open")]);
  return [here, there];
}

const made = () => new Replay({ spec, tables: { t: { maxSize: 100_000 } } });
const rules = { items: [{ table: "t", length: 1 }] };

const ours = (isNative) => async () => {
  const [here, there] = await socketPair(isNative);
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
};

/** Converts typed arrays, at any depth, to plain arrays, so that they can be written as JSON. */
const plain = (value) => (ArrayBuffer.isView(value) ? [...value] : typeof value === "object" && value !== null ? mapped(value) : value);
const mapped = (step) => Object.fromEntries(Object.entries(step).map(([name, value]) => [name, plain(value)]));

/** Returns a rival that sends JSON texts of `size` steps without waiting. The response to the last text confirms that all have arrived. */
const asJson = (size, isNative) => async () => {
  const [here, there] = await socketPair(isNative);
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
/** Returns a figure of socket-memory.mjs in KiB. The program runs once for all cases. */
function resident(which) {
  if (found === undefined) {
    const program = fileURLToPath(new URL("../socket-memory.mjs", import.meta.url));
    const { error, stdout, stderr, status, signal } = spawnSync(process.execPath, ["--expose-gc", program], { encoding: "utf8", timeout: LIMIT_MS });
    if (error !== undefined) throw error.code === "ETIMEDOUT" ? new Error(`socket-memory.mjs did not end in ${LIMIT_MS} ms`) : error;
    if (status !== 0) throw new Error(`socket-memory.mjs ended with ${signal ?? `exit code ${status}`}: ${stderr}`);
    found = JSON.parse(stdout);
  }
  return found[which] / 1024;
}

const fact = (name, limit, which) => ({ name, unit: "KiB", rivalName: "limit", limit: 1, fact: () => ({ ours: resident(which), rival: limit }) });

/** Compares steps with JSON texts of `size` steps. */
function against(size, isNative) {
  const name = `steps over a WebSocket${size > 1 ? ", by the block" : ""}${isNative ? ", with bufferutil" : ""}`;
  const rivalName = `a JSON text message per ${size > 1 ? `${size} steps` : "step"}`;
  const skip = isNative && !hasBufferutil ? "It needs `npm install --no-save bufferutil`, the optional package of ws, in C" : undefined;
  return { name, unit: "µs/step", rivalName, limit: size === 1 && isNative ? 20 : undefined, skip, ours: ours(isNative), rival: asJson(size, isNative) };
}

export const cases = [
  against(1, false),
  against(1, true),
  against(BLOCK, false),
  fact("resident KiB of an idle socket, of 1,000", 96, "idle"),
  fact("resident KiB of a busy socket beyond that, of 100", 384, "busy"),
];
