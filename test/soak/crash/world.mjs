// Creates Replays of several kinds, makes random calls that change them, and computes a digest of their visible state.
import { createHash } from "node:crypto";
import { f32, fifo, i32, lifo, packed, prioritized, Replay, shared, text, u8, uniform } from "reprise";

/** Returns a function that returns random numbers below n from a seed. */
export function randomOf(seed) {
  let state = (Math.imul(seed, 0x9e3779b1) ^ 0x85ebca6b) >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * n);
  };
}

/** Returns a screen in which something moves. */
const screen = (random) => {
  const at = random(12);
  return Array.from({ length: 320 }, (_, i) => (Math.abs((i % 20) - at) < 2 ? 200 + random(2) : i >> 4));
};

const frame = (random) => new Uint8Array(64).fill(random(5));

export const KINDS = {
  ring: {
    options: { spec: { x: i32(), o: f32(8) }, tables: { t: { maxSize: 60 } } },
    step: (random) => ({ x: random(1e6), o: Float32Array.from({ length: 8 }, () => random(100)) }),
    length: 2,
  },
  prioritized: {
    options: {
      spec: { s: shared("f", u8(64), 2), x: i32() },
      tables: { t: { maxSize: 40, sampler: prioritized(0.6) }, u: { maxSize: 20, sampler: fifo(), remover: lifo(), maxTimesSampled: 2 } },
    },
    step: (random) => ({ s: [...frame(random), ...frame(random)], x: random(1e6) }),
    length: 3,
  },
  text: {
    options: { spec: { x: i32(), said: text({ maxBytes: 40 }), wide: u8(1200) }, tables: { t: { maxSize: 25, maxSteps: 60 } } },
    step: (random) => ({ x: random(1e6), said: "né€𝄞".repeat(random(4)), wide: new Uint8Array(1200).fill(random(256)) }),
    length: 1,
  },
  packed: {
    options: {
      spec: { s: packed("f", u8(16, 20), 2), x: i32() },
      tables: { t: { maxSize: 40, remover: uniform() }, u: { maxSize: 9, sampler: prioritized(0.6) } },
    },
    step: (random) => ({ s: [...screen(random), ...screen(random)], x: random(1e6) }),
    length: 2,
  },
};

export const NAMES = Object.keys(KINDS);

/** Makes one call that changes something, determined by the random numbers and the state. */
export function act(kind, replay, random) {
  const { step, length, options } = KINDS[kind];
  const names = Object.keys(options.tables);
  const [writer] = replay.writers;
  const dice = random(100);
  const table = replay.table(names[random(names.length)]);
  const made = step(random);
  const priority = random(300) / 100;
  if (writer === undefined) replay.writer({ items: names.map((name) => ({ table: name, length })) });
  else if (dice < 60) writer.append(made);
  else if (dice < 66) writer.endEpisode();
  else if (dice < 72) {
    if (writer.length > 0) writer.createItem(table, { length: 1, priority });
  } else if (dice < 82) table.updatePriorities([writer.lastKey(table)], [priority]);
  else if (dice < 86) table.delete([writer.lastKey(table)]);
  else if (dice < 98) table.sample(2, { length: 1 });
  else if (dice < 99) writer.close();
  else table.clear();
}

/** The kind of slot sections. */
const SLOTS = 38;
/** The kinds of sections without visible content: the order in which freed rows are reused, and the end. */
const UNSEEN = [37, 42];

/** Returns whether items leave a table after some draws. In that case, a kill never loses their counts. */
const isLimited = ({ maxTimesSampled }) => maxTimesSampled < 2 ** 32;

/**
 * Returns a digest of all visible state of a Replay, and the places of its rows, which differ between Replays with different histories.
 * @param counts false: without state that a kill can lose, such as how often each item was drawn
 */
export function digestOf(replay, counts = true) {
  const hash = createHash("sha1");
  const tables = Object.values(replay.options.tables);
  for (const chunk of replay.snapshot()) {
    if (chunk.length >= 16 && UNSEEN.includes(chunk[0])) continue;
    hash.update(counts || chunk.length < 16 || chunk[0] !== SLOTS || isLimited(tables[chunk[4]]) ? chunk : withoutCounts(chunk));
  }
  return hash.digest("hex");
}

/**
 * Returns a section of slot records (assembly/persistence/slot.ts) with zeros for its checksum and its counts. For waiting items, the count has another
 * meaning.
 */
function withoutCounts(chunk) {
  const section = Buffer.from(chunk);
  section.writeUInt32LE(0, 12);
  const bytes = (section.length - 20) / section.readUInt32LE(16);
  for (let at = 20; at < section.length; at += bytes) if ((section[at + 31] & 128) === 0) section.writeUInt32LE(0, at + 16);
  return section;
}

/**
 * Returns the future results of a Replay, wherever its rows are: draws of all tables and the recent steps of its writers, without state that a kill can lose.
 * The draws do not change the Replay.
 */
export function futureOf(replay) {
  const copy = Replay.restore(Buffer.concat([...replay.snapshot()]), { logger: null });
  const hash = createHash("sha1").update(totalsOf(copy));
  const draw = (table) => {
    const { info, steps, count } = table.sample(100);
    for (const { data } of Object.values(steps)) hash.update(ArrayBuffer.isView(data) ? data : JSON.stringify(data));
    for (const [name, column] of Object.entries(info)) if (name !== "timesSampled" || isLimited(copy.options.tables[table.name])) hash.update(column);
    hash.update(String(count));
  };
  const tables = Object.values(copy.tables);
  for (const table of tables) for (let k = 0; k < 3; k++) draw(table);
  for (const writer of copy.writers) {
    hash.update(`${writer.length} ${writer.episodeSteps}`);
    tables[0].clear();
    if (writer.length > 0) writer.createItem(tables[0], { length: writer.length });
    draw(tables[0]);
  }
  copy.dispose();
  return hash.digest("hex");
}

/** Returns the state that is cheap to compare. */
export function countsOf(replay) {
  const { steps, tables, writers } = replay.stats();
  return JSON.stringify([steps, writers, Object.values(tables)]);
}

/** Returns the same counts without state that a kill can lose: an item whose draws were lost is drawn for the first time again. */
export function totalsOf(replay) {
  const { steps, tables, writers } = replay.stats();
  return JSON.stringify([steps, writers, Object.values(tables).map(({ uniqueSamples, ...rest }) => rest)]);
}

/** Every state that a Replay went through, with the number of calls before it. */
export class Past {
  /** @param counts false if a kill can lose how often items were drawn */
  constructor(counts = true) {
    this.counts = counts;
  }

  states = new Map();
  calls = -1;
  acknowledged = 0;

  note(replay) {
    this.states.set(digestOf(replay, this.counts), ++this.calls);
  }

  /** Returns the number of calls after which the Replay had this state, or -1 if it never did. */
  find(replay) {
    return this.states.get(digestOf(replay, this.counts)) ?? -1;
  }
}
