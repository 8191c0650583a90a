// Creates a gigabyte of recorded data in each format that supports range reads, once, in the system's temporary folder.
import { existsSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Zip, ZipPassThrough } from "fflate";
import { File as Hdf5, ready } from "h5wasm/node";
import { StepColumns, writeLeRobot, writeParquet } from "reprise/rlds";

const BYTES = 2 ** 30;
const STEPS = 500;
const FLAG = { dtype: "bool", shape: [] };
const SPEC = {
  action: { dtype: "f32", shape: [8] },
  discount: { dtype: "f32", shape: [] },
  is_first: FLAG,
  is_last: FLAG,
  is_terminal: FLAG,
  observation: { dtype: "f32", shape: [56] },
  reward: { dtype: "f32", shape: [] },
};
const STEP_BYTES = 4 * (8 + 1 + 56 + 1) + 3;

/** Returns numbers of mulberry32 as noise that no codec compresses. */
function noise(seed, count) {
  let a = seed;
  return Float32Array.from({ length: count }, () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 31 - 1;
  });
}

/** Returns the columns of an episode in the order of the spec's leaves. */
function columns(seed, steps = STEPS) {
  const edge = (at) => Uint8Array.from({ length: steps }, (_, i) => Number(i === at));
  const ones = new Float32Array(steps).fill(1);
  return [noise(seed, 8 * steps), ones, edge(0), edge(steps - 1), edge(-1), noise(seed + 1, 56 * steps), noise(seed + 2, steps)];
}

function* episodes(bytes, steps = STEPS) {
  const made = Array.from({ length: 16 }, (_, seed) => new StepColumns(SPEC, columns(seed * 3, steps), steps));
  for (let i = 0; i * steps * STEP_BYTES < bytes; i++) yield { steps: made[i % made.length] };
}

const dataset = (bytes) => ({ stepSpec: SPEC, metadataSpec: {}, [Symbol.iterator]: () => episodes(bytes) });

const MAKE = {
  "data.parquet": (path) => writeParquet(dataset(BYTES), path),
  lerobot: (path) => writeLeRobot(dataset(BYTES), path, { fps: 30, finalStep: "transition" }),
  "data.npz": npz,
  "data.hdf5": hdf5,
};

/** Returns flat columns, as in D4RL. */
function flat() {
  const rows = Math.floor(BYTES / STEP_BYTES / STEPS) * STEPS;
  const shapes = { observations: [56], actions: [8], rewards: [], terminals: [], timeouts: [] };
  const made = Array.from({ length: 7 }, (_, seed) => {
    const [action, , , last, terminal, observation, reward] = columns(seed);
    return { observations: observation, actions: action, rewards: reward, terminals: terminal, timeouts: last };
  });
  /** Returns the values of one array for the episode that begins at row `from`. */
  const part = (name, from) => made[(from / STEPS) % made.length][name];
  return { rows, shapes, part };
}

/** Writes uncompressed arrays, like numpy.savez. */
async function npz(path) {
  const { rows, shapes, part } = flat();
  const file = openSync(path, "w");
  const zip = new Zip((error, chunk) => {
    if (error) throw error;
    writeSync(file, chunk);
  });
  for (const [name, shape] of Object.entries(shapes)) {
    const entry = new ZipPassThrough(`${name}.npy`);
    zip.add(entry);
    const type = ["terminals", "timeouts"].includes(name) ? "|b1" : "<f4";
    const head = `{'descr': '${type}', 'fortran_order': False, 'shape': (${[rows, ...shape].join(", ")},), }`;
    const length = Math.ceil((10 + head.length + 1) / 64) * 64;
    const bytes = new Uint8Array(length).fill(0x20);
    bytes.set([0x93, ...Buffer.from("NUMPY"), 1, 0, (length - 10) & 255, (length - 10) >> 8, ...Buffer.from(head)]);
    bytes[length - 1] = 0x0a;
    entry.push(bytes);
    for (let from = 0; from < rows; from += STEPS) {
      const { buffer, byteOffset, byteLength } = part(name, from);
      entry.push(new Uint8Array(buffer, byteOffset, byteLength).slice(), from + STEPS >= rows);
    }
  }
  zip.end();
}

/** Writes uncompressed chunks of at most 4 MiB. */
async function hdf5(path) {
  await ready;
  const { rows, shapes, part } = flat();
  const file = new Hdf5(path, "w");
  for (const [name, shape] of Object.entries(shapes)) {
    const isFlag = ["terminals", "timeouts"].includes(name);
    const data = part(name, 0);
    const dataset = file.create_dataset({
      name,
      data,
      shape: [STEPS, ...shape],
      dtype: isFlag ? "<B" : "<f",
      maxshape: [null, ...shape],
      chunks: [10 * STEPS, ...shape],
    });
    const set = dataset ?? file.get(name);
    set.resize([rows, ...shape]);
    for (let from = STEPS; from < rows; from += STEPS) set.write_slice([[from, from + STEPS], ...shape.map((n) => [0, n])], part(name, from));
  }
  file.close();
}

function sizeOf(path) {
  const stat = statSync(path);
  return stat.isFile()
    ? stat.size
    : readdirSync(path, { recursive: true }).reduce((sum, name) => sum + (statSync(join(path, name)).isFile() ? statSync(join(path, name)).size : 0), 0);
}

/** Creates the dataset in the folder, unless it exists. @returns its size in bytes */
export async function made(folder, name) {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  if (!existsSync(path)) {
    const start = performance.now();
    // Incomplete files have a temporary name.
    const part = join(folder, `part-${name}`);
    rmSync(part, { recursive: true, force: true });
    await MAKE[name](part);
    renameSync(part, path);
    console.error(`${name}: made in ${((performance.now() - start) / 1000).toFixed(0)} s`);
  }
  return sizeOf(path);
}

export const NAMES = Object.keys(MAKE);
