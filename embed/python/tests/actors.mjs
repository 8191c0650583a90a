// Implements the JavaScript ends of remote writers, using the public API. `write URL LANES SEED FOLDER` plays a world into a remote Replay and into a local
// twin, and saves a snapshot of the twin. `accept LANES FOLDER [BYTES]` prints its port, accepts writers with at most BYTES in flight, and saves a snapshot at
// the end of each writer.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { f16, f32, i32, prioritized, Replay, shared, text, u8 } from "reprise";
import { remoteWriter } from "reprise/remote";
import { WebSocket, WebSocketServer } from "ws";

const SPEC = {
  observation: { image: shared("f", u8(4, 4), 3), x: f16(2) },
  action: i32(),
  reward: f32(),
  name: text({ maxBytes: 5 }),
};
const RULES = [
  { table: "a", nStep: 2 },
  { table: "b", length: 1 },
];
const [verb, ...args] = process.argv.slice(2);

const newReplay = () =>
  new Replay({
    spec: SPEC,
    tables: { a: { maxSize: 1000, sampler: prioritized(1) }, b: { maxSize: 800 }, c: { maxSize: 50, sampler: prioritized(1) } },
    seed: 7,
  });
const optionsOf = (lanes) => (lanes === 1 ? { items: RULES } : { items: RULES, autoreset: "sameStep" });
const save = (folder, replay) => writeFileSync(join(folder, "snapshot"), Buffer.concat([...replay.snapshot()]));

function stepOf(i) {
  const image = Uint8Array.from({ length: 48 }, (_, at) => (i + Math.floor(at / 16)) % 200);
  return { observation: { image, x: [i % 1000, i / 2] }, action: i, reward: i, name: `s${i}`.slice(0, 5) };
}

/** Combines steps into columns with a leading dimension. */
function rows(list) {
  return {
    observation: {
      image: Uint8Array.from(list.flatMap((step) => [...step.observation.image])),
      x: list.flatMap((step) => step.observation.x),
    },
    action: list.map((step) => step.action),
    reward: list.map((step) => step.reward),
    name: list.map((step) => step.name),
  };
}

async function write(url, lanes, seed, folder) {
  const replay = newReplay();
  const twin = replay.writer({ ...optionsOf(lanes), ...(lanes > 1 && { lanes }) });
  const remote = await remoteWriter(() => new WebSocket(url), { spec: SPEC, ...(lanes > 1 && { lanes }) });
  const messages = [];
  remote.onmessage = ({ data }) => messages.push(ArrayBuffer.isView(data) || data instanceof ArrayBuffer ? [...new Uint8Array(data.buffer ?? data)] : data);
  const both = async (call) => {
    call(twin);
    await call(remote);
  };
  let state = seed;
  const below = (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  let open = 0;
  for (let i = 0; i < 300; i++) {
    const at = i * 10;
    const lane = below(lanes);
    const many = Array.from({ length: lanes }, (_, k) => stepOf(at + k));
    const kind = below(10);
    if (kind < 5) {
      if (lanes === 1) await both((writer) => writer.append(stepOf(at)));
      else {
        const terminated = many.map(() => Number(below(6) === 0));
        const truncated = many.map((_, k) => Number(!terminated[k] && below(6) === 0));
        const ended = terminated.some((one, k) => one || truncated[k]);
        const final = rows(many.map((_, k) => stepOf(at + 5 + k)));
        await both((writer) => writer.append(rows(many), ended ? { terminated, truncated, final } : {}));
      }
      open++;
    } else if (kind < 7) {
      const n = 1 + below(20);
      const block = rows(Array.from({ length: n * lanes }, (_, k) => stepOf(at + k)));
      const ends = { terminated: Uint8Array.from({ length: n * lanes }, () => Number(below(8) === 0)) };
      const final = Array.from(ends.terminated.filter(Boolean), (_, k) => stepOf(at + k));
      await both((writer) => writer.appendColumns(block, { ...ends, ...(final.length && { final: rows(final) }) }));
      open++;
      await both((writer) => writer.append(lanes === 1 ? stepOf(at) : rows(many)));
    } else if (kind === 7 && open > 0) {
      const terminated = below(2) === 0;
      await both((writer) => writer.append(lanes === 1 ? stepOf(at) : rows(many)));
      const final = !terminated || below(2) === 0 ? { final: stepOf(at + 1) } : {};
      await both((writer) => writer.endEpisode({ lane, terminated, ...final }));
    } else if (kind === 8) {
      await both((writer) => writer.append(lanes === 1 ? stepOf(at) : rows(many)));
      const priority = [2.5, "max", 0][below(3)];
      await both((writer) => writer.createItem("c", { length: 1, priority, lane }));
    } else if (kind === 9) await both((writer) => writer.discardEpisode({ lane }));
  }
  await remote.flush();
  await remote.close();
  twin.close();
  save(folder, replay);
  console.log(JSON.stringify({ messages }));
}

async function accept(lanes, folder, inFlightBytes) {
  const replay = newReplay();
  const known = new Set();
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  server.on("listening", () => console.log(server.address().port));
  server.on("connection", async (socket) => {
    try {
      const accepted = await replay.acceptWriter(socket, {
        ...optionsOf(lanes),
        name: "actor",
        maxInFlight: 64,
        ...(inFlightBytes > 0 && { limits: { inFlightBytes } }),
      });
      // An actor that returns already has its writer.
      if (known.has(accepted)) return;
      known.add(accepted);
      accepted.send({ hello: "actor" });
      accepted.send(new Uint8Array([1, 2, 3]));
      const { how, error } = await accepted.closed;
      save(folder, replay);
      console.log(JSON.stringify({ how, steps: accepted.steps, ...(error && { error: String(error) }) }));
    } catch (error) {
      console.log(JSON.stringify({ refused: error.code ?? String(error) }));
    }
  });
  process.stdin.on("data", (line) => {
    // Ends every connection silently, like a network failure.
    if (String(line).includes("break")) for (const socket of server.clients) socket.terminate();
  });
  process.stdin.on("end", () => process.exit(0));
}

if (verb === "write") await write(args[0], Number(args[1]), Number(args[2]), args[3]);
else await accept(Number(args[0]), args[1], Number(args[2]));
