/** Measures the cost of saving a Replay: snapshots and restoring them, appending with a journal, and opening the journal. */
import { now } from "../measure.mjs";
import { fifo, opened, prioritized, Replay, restored, snapshotOf, u8 } from "../package.mjs";
import { Ram } from "../ram.mjs";
import { Random } from "../random.mjs";
import { block, source, spec } from "../source.mjs";
import { folder } from "./journal.mjs";

const PIECE = 64 * 1024;
const FRAME = [84, 84, 4];
/** The interval is so long that no timer fires during a measurement, so the journal writes a group only when it is large enough. */
const durability = { everyMs: 3_600_000 };

/** The two kinds of steps that are measured: many of 32 bytes, and few of 28 KB. A table is filled with `rows` steps per call. */
const small = { name: "100,000 small steps", items: 100_000, spec, rows: 4096, columns: () => block(source().columns, 4096), steps: () => source().steps };
const large = {
  name: "1,000 large steps",
  items: 1000,
  spec: { frame: u8(...FRAME) },
  rows: 64,
  columns: () => ({ frame: frames(64) }),
  steps: () => [{ frame: frames(1) }],
};

function frames(n) {
  const random = new Random(13);
  return Uint8Array.from({ length: n * FRAME[0] * FRAME[1] * FRAME[2] }, () => random.below(256));
}

const optionsOf = ({ spec, items }) => ({ spec, tables: { t: { maxSize: items, sampler: prioritized(0.6), remover: fifo() } }, seed: 1 });

/** Returns a full table of two-step items. Each new step creates an item. */
function filled(replay, { items, rows, columns }) {
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  const block = columns();
  for (let steps = 0; steps < items + 2 * rows; steps += rows) writer.appendColumns(block);
  return { replay, writer };
}

const inMemory = (kind) => filled(new Replay(optionsOf(kind)), kind);
const journalled = async (kind, dir) => filled(await opened({ ...optionsOf(kind), dir, durability }), kind);

/** Returns a side that appends steps as objects. */
function appending({ writer }, kind) {
  const steps = kind.steps();
  return (n) => {
    for (let k = 0; k < n; k++) writer.append(steps[k & (steps.length - 1)]);
    return writer.length;
  };
}

function snapshots(kind) {
  const { replay } = inMemory(kind);
  return (n) => {
    let bytes = 0;
    for (let k = 0; k < n; k++) for (const chunk of snapshotOf(replay)) bytes += chunk.length;
    return bytes;
  };
}

function restores(kind) {
  const chunks = [...snapshotOf(inMemory(kind).replay)];
  return async (n) => {
    let size = 0;
    for (let k = 0; k < n; k++) {
      const replay = await restored(chunks);
      size += replay.table("t").size;
      replay.dispose();
    }
    return size;
  };
}

/** Returns a rival that copies as many bytes as a snapshot has, in pieces. */
function copies(kind) {
  const chunks = [...snapshotOf(inMemory(kind).replay)];
  const bytes = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  return (n) => {
    let last;
    for (let k = 0; k < n; k++) for (let at = 0; at < bytes.length; at += PIECE) last = bytes.slice(at, at + PIECE);
    return last;
  };
}

/** Returns a side that opens copies of a journal in which every item of the table was replaced once. */
async function openings(kind) {
  const ram = new Ram();
  const { replay, writer } = await journalled(kind, ram);
  appending({ writer }, kind)(kind.items);
  await replay.flush();
  const files = [...ram];
  return async () => {
    const dir = new Ram(files);
    const start = now();
    const again = await opened({ dir, durability });
    const ns = (now() - start) * 1e6;
    again.dispose();
    return ns;
  };
}

function restoring(kind) {
  const restore = restores(kind);
  return async () => {
    const start = now();
    await restore(1);
    return (now() - start) * 1e6;
  };
}

const ofBoth = (make) => [small, large].map(make);
const aCopy = { unit: "ms", rivalName: "copies of as many bytes, 64 KiB each", rival: copies };

/** Returns a case for a kind of steps. Passes the kind to the functions that create the sides. */
function of(kind, { name, ours, rival, ...rest }) {
  return { ...rest, name: `${name} ${kind.name}`, ours: () => ours(kind), rival: () => rival(kind) };
}

const journalOf = (where, dir) => ({
  name: `append with a journal ${where},`,
  unit: "ns/step",
  rivalName: "append without one",
  ours: async (kind) => appending(await journalled(kind, dir()), kind),
  rival: (kind) => appending(inMemory(kind), kind),
});

export const cases = [
  ...ofBoth((kind) => of(kind, { ...aCopy, name: "snapshot of", ours: snapshots })),
  ...ofBoth((kind) => of(kind, { ...aCopy, name: "restoring", ours: restores })),
  ...ofBoth((kind) =>
    of(
      kind,
      journalOf("in memory", () => new Ram()),
    ),
  ),
  of(small, journalOf("in a folder", folder)),
  ...ofBoth((kind) =>
    of(kind, { name: "opening a journal of", unit: "ms", laps: true, rivalName: "restoring a snapshot of them", ours: openings, rival: restoring }),
  ),
];
