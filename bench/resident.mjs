/** Runs a process with a full table of n items: transitions of 41 bytes, or n-step items of 24-byte steps. Reports its resident bytes. */
import { f32, fifo, i32, prioritized, Replay, u8, uniform } from "./package.mjs";

const BLOCK = 1000;

/** The kinds of tables: whether a step also stores the next observation and `done`, and the sampler. */
const KINDS = {
  "41-byte transition, uniform": { next: true, sampler: uniform() },
  "24-byte n-step, uniform": { next: false, sampler: uniform() },
  "41-byte transition, prioritized": { next: true, sampler: prioritized(0.6) },
};

const [kind, count] = process.argv.slice(2);
const { next, sampler } = KINDS[kind];
const n = Number(count);
const spec = { observation: f32(4), action: i32(), reward: f32(), ...(next && { next: f32(4), done: u8() }) };
const replay = new Replay({ spec, tables: { t: { maxSize: n, sampler, remover: fifo() } } });
const writer = replay.writer({ items: [{ table: "t", length: next ? 1 : 4 }] });
const observation = new Float32Array(4 * BLOCK).fill(1);
const reward = new Float32Array(BLOCK).fill(1);
const columns = { observation, action: new Int32Array(BLOCK).fill(1), reward, ...(next && { next: observation, done: new Uint8Array(BLOCK).fill(1) }) };
// Appends 2n steps, so that each slot and row is used and then reused.
for (let steps = 0; steps < 2 * n; steps += BLOCK) writer.appendColumns(columns);
console.log(process.memoryUsage.rss());
