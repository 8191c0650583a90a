/** Measures the bytes per step and per open writer, and how much the heap grows in 10^6 calls. */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { fullTable, prioritizedTable, priority } from "../filled.mjs";
import { heapGrowth } from "../measure.mjs";
import { fifo, prioritized, Replay } from "../package.mjs";
import { Random } from "../random.mjs";
import { SOURCE_STEPS, STEP_BYTES, STEPS, source, spec } from "../source.mjs";
import { byCall, staged, WRITERS } from "./append.mjs";

const CALLS = 1_000_000;
const MAX_GROWTH = 64 * 1024;
/** The number of items per draw or update. It is small because the number of calls matters. */
const BATCH = 16;

function fact(name, limit, measure) {
  return { name, unit: "bytes", rivalName: "limit", limit: 1, fact: () => ({ ours: measure(), rival: limit }) };
}

/** Returns the bytes per step that the store (not the tables) uses in addition to the row, from the difference between STEPS and STEPS / 2 steps. */
function storeBytes() {
  const [half, whole] = [STEPS / 2, STEPS].map((n) => {
    const { replay, plan } = fullTable(n);
    const { steps, bytes } = replay.stats();
    return { steps, bytes: bytes.used - plan.tables.t.bytes };
  });
  return (whole.bytes - half.bytes) / (whole.steps - half.steps) - STEP_BYTES;
}

/** Returns the resident bytes per step, from the difference between a process with 3 × 10^6 steps and one with 10^6. */
function residentBytes(kind) {
  const [small, large] = [1e6, 3e6].map((n) => {
    const { stdout, stderr, status } = spawnSync(process.execPath, [fileURLToPath(new URL("../resident.mjs", import.meta.url)), kind, String(n)], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`${kind}: exit code ${status}: ${stderr}`);
    return Number(stdout);
  });
  return (large - small) / 2e6;
}

function appendGrowth() {
  const writer = fullTable(STEPS).replay.writer({ items: [{ table: "t", length: 2 }] });
  return heapGrowth(staged(writer, source().columns), CALLS);
}

function nestedGrowth() {
  const { steps } = source();
  const writer = byCall(steps);
  const item = { length: 2 };
  return heapGrowth((n) => {
    for (let k = 0; k < n; k++) {
      // The object exists already, so it does not count as heap growth.
      writer.append(steps[k & (SOURCE_STEPS - 1)]);
      writer.createItem("t", item);
    }
  }, CALLS);
}

function sampleGrowth() {
  const { table } = prioritizedTable(STEPS);
  const options = { into: table.batch(BATCH, { length: 2, beta: 0.4 }), beta: 0.4 };
  return heapGrowth((n) => {
    for (let k = 0; k < n; k++) table.sample(BATCH, options);
  }, CALLS);
}

function updateGrowth() {
  const { table } = prioritizedTable(STEPS);
  const { keys } = table.sample(BATCH, { length: 2 }).info;
  const random = new Random(19);
  const priorities = Float64Array.from({ length: BATCH }, () => priority(random));
  return heapGrowth((n) => {
    for (let k = 0; k < n; k++) table.updatePriorities(keys, priorities);
  }, CALLS);
}

/** Returns the bytes that an open writer takes on the heap and in linear memory. */
function writerBytes() {
  const replay = new Replay({ spec, tables: { t: { maxSize: 1000 } } });
  const taken = () => {
    globalThis.gc();
    return process.memoryUsage().heapUsed + replay.stats().bytes.used;
  };
  const before = taken();
  const writers = Array.from({ length: WRITERS }, () => replay.writer({ items: [{ table: "t", length: 2 }] }));
  return (taken() - before) / writers.length;
}

export const cases = [
  fact("table bytes per item, prioritized + fifo", 48, () => {
    const tables = { t: { maxSize: STEPS, sampler: prioritized(0.6), remover: fifo() } };
    return Replay.plan({ spec, tables }).tables.t.bytesPerItem;
  }),
  // The excess is the 12 bytes of a row's head, plus 1/1,024 of a row, because each block of 1,024 rows loses one row.
  fact("store bytes per step beyond the row", 12.1, storeBytes),
  ...Object.entries({ "41-byte transition, uniform": 88, "24-byte n-step, uniform": 70, "41-byte transition, prioritized": 98 }).map(([kind, limit]) =>
    fact(`resident bytes per step: ${kind}`, limit, () => residentBytes(kind)),
  ),
  fact("bytes of an open writer", 4096, writerBytes),
  fact("heap growth of 10^6 staged appends + items", MAX_GROWTH, appendGrowth),
  fact("heap growth of 10^6 nested appends + createItem", MAX_GROWTH, nestedGrowth),
  fact("heap growth of 10^6 samples into", MAX_GROWTH, sampleGrowth),
  fact("heap growth of 10^6 updates", MAX_GROWTH, updateGrowth),
];
