// Regenerates the golden files: `npm run build && node test/data/golden/make.mjs`. Do so only if the format changes, and then raise its version.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { f32, fifo, i32, i64, lifo, minHeap, minSize, packed, prioritized, Replay, sampleToInsertRatio, shared, text, u8 } from "reprise";
import { PersistentEpisodicReplayBuffer, PersistentReplayBuffer, PrioritizedReplayBuffer } from "reprise/pfrl";
import { memory } from "reprise/storage";

const HERE = dirname(fileURLToPath(import.meta.url));

const OPTIONS = {
  spec: {
    frames: shared("f", u8(16), 2),
    screen: packed("s", u8(17, 16), 2),
    action: i32(),
    reward: f32(),
    at: i64(),
    said: text({ maxBytes: 12 }),
    wide: u8(1100),
  },
  tables: {
    uniform: { maxSize: 5, maxTimesSampled: 5 },
    weighted: { maxSize: 4, sampler: prioritized(0.6, { withMin: true }), remover: lifo(), maxSteps: 10 },
    limited: { maxSize: 3, sampler: minHeap(), remover: fifo(), rateLimiter: sampleToInsertRatio(1, 1, 2), maxPending: 4 },
    queue: { maxSize: 3, sampler: fifo(), rateLimiter: minSize(2) },
  },
  seed: 2n ** 60n + 7n,
  maxBytes: 1 << 24,
  logger: null,
};

/** Writes two environments in lock-step, and a single environment whose items have columns. All are in the middle of an episode at the end. */
export function live(replay, from = 0, to = 26) {
  const [
    lanes = replay.writer({
      lanes: 2,
      items: [
        { table: "uniform", length: 2 },
        { table: "weighted", length: 3, priority: 2 },
      ],
    }),
    one = replay.writer({ keep: 3 }),
  ] = replay.writers;
  const frame = (t) => new Uint8Array(16).fill(t % 7);
  // Returns a picture with motion, occasionally a new picture, or noise that cannot be compressed.
  const screen = (t) =>
    new Uint8Array(272).map((_, at) => (t % 8 === 7 ? (at * at * 167 + t * 31 + (at >> 3) * 53) % 251 : at === t * 5 ? 9 : (at >> 5) + (t >> 4)));
  const step = (t) => ({
    frames: [...frame(t - 1 < 0 ? 0 : t - 1), ...frame(t)],
    screen: new Uint8Array([...screen(t), ...screen(t + 1)]),
    action: t * 3 - 50,
    reward: t / 8,
    at: 2n ** 40n + BigInt(t),
    said: ["", "né", "€ 𝄞", "four"][t % 4],
    wide: new Uint8Array(1100).fill(t),
  });
  const two = (t) => {
    const [a, b] = [step(t), step(t + 100)];
    const both = (one, other) => (ArrayBuffer.isView(one) ? new Uint8Array([...one, ...other]) : [one, other].flat());
    return Object.fromEntries(Object.keys(a).map((key) => [key, both(a[key], b[key])]));
  };
  for (let t = from; t < to; t++) {
    lanes.append(two(t));
    one.append(step(t));
    if (t % 5 === 4 && one.length > 2)
      one.createItem("queue", { length: 3, columns: { now: { leaf: "reward", at: -1 }, before: { leaf: "action", steps: [0, 2] } } });
    if (t % 9 === 8 && one.length > 1) ignoringLimits(() => one.createItem("limited", { length: 2, priority: t }));
    if (t % 6 === 5) replay.table("weighted").updatePriorities([lanes.lastKey("weighted")], [t / 3]);
    if (t % 7 === 6) replay.table("uniform").sample(2);
    if (t % 11 === 10) lanes.endEpisode({ lane: t % 2 });
    if (t % 13 === 12) one.endEpisode();
  }
}

function ignoringLimits(call) {
  try {
    call();
  } catch (error) {
    if (error.code !== "RATE_LIMITED") throw error;
  }
}

/** Returns the content of a Replay in words and numbers. This uses up its draws. */
export function contentOf(replay) {
  const { steps, tables, writers } = replay.stats();
  const draws = Object.values(replay.tables).map((table) => {
    const { count, lengths, info, steps } = table.sample(4);
    const columns = Object.entries(steps).map(([name, { shape, data }]) => [
      name,
      shape,
      Array.from(data.slice(0, 24), (value) => (typeof value === "bigint" ? String(value) : value)),
    ]);
    return { table: table.name, count, lengths: [...lengths], ...Object.fromEntries(Object.entries(info).map(([name, data]) => [name, [...data]])), columns };
  });
  const open = replay.writers.map((writer) => ({ length: writer.length, episodeSteps: writer.episodeSteps }));
  return JSON.parse(JSON.stringify({ steps, tables, writers, open, draws }));
}

/** Returns a PFRL transition: stacked frames, a state of words, and an extra field of each kind. */
const transition = (t) => ({
  state: [t, t + 1].map((k) => new Uint8Array(12).fill(k)),
  action: t * 3 - 50,
  reward: t / 8,
  nextState: [t + 1, t + 2].map((k) => new Uint8Array(12).fill(k)),
  isStateTerminal: t % 5 === 4,
  hidden: Float32Array.of(t, -t),
  note: t % 2 === 0 ? { at: new Date(t), big: 2n ** 70n } : ["né", null],
});

/** Plays two environments, one of which is in the middle of an episode at the end. */
export function play(buffer, from = 0, to = 23) {
  for (let t = from; t < to; t++) {
    buffer.append({ ...transition(t), envId: t % 3 === 0 ? "a" : "b" });
    if (t % 7 === 6) buffer.stopCurrentEpisode("a");
    if (t % 6 === 5) buffer.sample(2);
    if (t % 6 === 5) buffer.updateErrors?.([t / 4, t / 9]);
  }
}

/** Returns the content and draws of a PFRL buffer, with a word for values that JSON lacks. */
export function contentOfBuffer(buffer) {
  const { length, maxPriority } = buffer;
  const word = (_, value) => (typeof value === "bigint" ? String(value) : ArrayBuffer.isView(value) ? [...value] : value);
  const drawn = buffer.sample(4, { form: "list" });
  return JSON.parse(JSON.stringify({ length, maxPriority, items: [...buffer.items()], drawn }, word));
}

export const PFRL = {
  transitions: (directory) => new PersistentReplayBuffer(directory, 12, { durability: "manual", segmentBytes: 2000, seed: 3, logger: null }),
  episodes: (directory) => new PersistentEpisodicReplayBuffer(directory, 12, { durability: "manual", segmentBytes: 2000, seed: 3, logger: null }),
};
export const saved = () => new PrioritizedReplayBuffer(12, { numSteps: 3, seed: 3, betaSteps: 100 });

/** Returns files of PFRL buffers, and their content. */
function madeByPfrl() {
  const files = new Map();
  const content = {};
  const directory = memory();
  const buffer = saved();
  play(buffer);
  buffer.save({ directory, file: "saved.rpr" });
  content.saved = contentOfBuffer(buffer);
  for (const [name, bytes] of directory.files()) files.set(`pfrl/${name}`, Buffer.from(bytes));
  for (const [name, open] of Object.entries(PFRL)) {
    const dir = memory();
    const buffer = open(dir);
    play(buffer);
    buffer.close();
    content[name] = contentOfBuffer(buffer);
    for (const [file, bytes] of dir.files()) files.set(`pfrl/${name}/${file}`, Buffer.from(bytes));
  }
  return files.set("pfrl/content.json", Buffer.from(`${JSON.stringify(content)}\n`));
}

/** Returns all files by name, as the current version creates them. */
export async function made() {
  const files = new Map();
  const replay = new Replay(OPTIONS);
  live(replay);
  files.set("snapshot.rpr", Buffer.concat([...replay.snapshot()]));
  files.set("content.json", Buffer.from(`${JSON.stringify(contentOf(replay), undefined, 1)}\n`));
  const dir = memory();
  const { getRandomValues } = crypto;
  // The id of a run is random. Here it is always the same.
  crypto.getRandomValues = (bytes) => bytes.fill(0xab);
  try {
    const journal = await Replay.open({ dir, ...OPTIONS, durability: "manual", segmentBytes: 20_000 });
    for (let t = 0; t < 26; t += 2) {
      live(journal, t, t + 2);
      journal.journal.keep({ t: t + 2, weights: Float32Array.of(0.5, t), when: new Date(t), big: 2n ** 70n, seen: new Map([["a", new Set([t])]]) });
      await journal.flush();
    }
    for (const [name, bytes] of dir.files()) files.set(`journal/${name}`, Buffer.from(bytes));
    for (const [name, bytes] of madeByPfrl()) files.set(name, bytes);
  } finally {
    crypto.getRandomValues = getRandomValues;
  }
  return files;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const folder of ["journal", "pfrl"]) rmSync(join(HERE, folder), { recursive: true, force: true });
  for (const [name, bytes] of await made()) {
    mkdirSync(dirname(join(HERE, name)), { recursive: true });
    writeFileSync(join(HERE, name), bytes);
  }
  console.log(readdirSync(HERE, { recursive: true }).join("\n"));
  process.exit();
}
