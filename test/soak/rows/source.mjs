// Creates a dataset of many rows in files of one format: `node source.mjs FORMAT ROWS EPISODE FOLDER` prints their path. An episode has EPISODE rows.
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { StepColumns, writeJsonl, writeLeRobot, writeMinari, writeParquet, writeTfds } from "../../../dist/rlds.js";

const [format, rowsText, episodeText, folder] = process.argv.slice(2);
const [rows, length] = [Number(rowsText), Number(episodeText)];
const STATE = 8;
const ACTION = 2;

const f32 = (...shape) => ({ dtype: "f32", shape });
const flag = { dtype: "bool", shape: [] };
const spec = { observation: f32(STATE), action: f32(ACTION), reward: f32(), discount: f32(), is_first: flag, is_last: flag, is_terminal: flag };

const numbers = (n, from) => Float32Array.from({ length: n }, (_, i) => Math.sin((from + i) * 0.01));

function* episodes() {
  for (let from = 0; from < rows; from += length) {
    const n = Math.min(length, rows - from);
    const at = (i) => Uint8Array.from({ length: n }, (_, k) => Number(k === i));
    // The columns in the order of their names: action, discount, is_first, is_last, is_terminal, observation, reward.
    const data = [numbers(n * ACTION, from), new Float32Array(n).fill(1), at(0), at(n - 1), new Uint8Array(n), numbers(n * STATE, from), numbers(n, from)];
    yield { steps: new StepColumns(spec, data, n) };
  }
}

const data = { stepSpec: spec, metadataSpec: {}, [Symbol.iterator]: episodes };
const columns = {
  observations: [STATE, (n, from) => numbers(n * STATE, from)],
  actions: [ACTION, (n, from) => numbers(n * ACTION, from)],
  rewards: [0, numbers],
};
const timeouts = (n, from) => Uint8Array.from({ length: n }, (_, i) => Number((from + i + 1) % length === 0));

/** Writes arrays one by one, like `numpy.savez`. */
function writeNpz(path) {
  const file = openSync(path, "w");
  let at = 0;
  const put = (bytes) => {
    writeSync(file, bytes);
    at += bytes.length;
  };
  const directory = [];
  for (const [name, descr, width, of] of [
    ...Object.entries(columns).map(([name, [width, of]]) => [name, "<f4", width, of]),
    ["terminals", "|b1", 0, (n) => new Uint8Array(n)],
    ["timeouts", "|b1", 0, timeouts],
  ]) {
    const header = Buffer.from(`{'descr': '${descr}', 'fortran_order': False, 'shape': (${rows},${width === 0 ? "" : ` ${width}`}), }\n`, "latin1");
    const values = of(rows, 0);
    const bytes = Buffer.concat([
      Buffer.from("\x93NUMPY\x01\0", "latin1"),
      Buffer.from([header.length & 255, header.length >> 8]),
      header,
      Buffer.from(values.buffer, values.byteOffset, values.byteLength),
    ]);
    const entry = Buffer.from(`${name}.npy`);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt32LE(crc32(bytes), 10);
    fields.writeUInt32LE(bytes.length, 14);
    fields.writeUInt32LE(bytes.length, 18);
    fields.writeUInt16LE(entry.length, 22);
    directory.push({ entry, fields, at });
    put(Buffer.concat([Buffer.from("PK\x03\x04"), fields, entry]));
    put(bytes);
  }
  const begin = at;
  for (const { entry, fields, at: offset } of directory) {
    const rest = Buffer.alloc(16);
    rest.writeUInt32LE(offset, 12 - 2);
    put(Buffer.concat([Buffer.from("PK\x01\x02\x14\0"), fields, rest.subarray(0, 14), entry]));
  }
  const end = Buffer.alloc(18);
  end.writeUInt16LE(directory.length, 4);
  end.writeUInt16LE(directory.length, 6);
  end.writeUInt32LE(at - begin, 8);
  end.writeUInt32LE(begin, 12);
  put(Buffer.concat([Buffer.from("PK\x05\x06"), end]));
  closeSync(file);
}

/** Writes the layout of D4RL files, like h5py. */
async function writeD4rl(path) {
  const h5wasm = (await import("h5wasm")).default;
  const { FS } = await h5wasm.ready;
  const file = new h5wasm.File("d4rl.hdf5", "w");
  for (const [name, [width, of]] of Object.entries(columns))
    file.create_dataset({ name, data: of(rows, 0), shape: width === 0 ? [rows] : [rows, width], chunks: width === 0 ? [4096] : [4096, width] });
  file.create_dataset({ name: "terminals", data: new Uint8Array(rows), shape: [rows], chunks: [4096] });
  file.create_dataset({ name: "timeouts", data: timeouts(rows, 0), shape: [rows], chunks: [4096] });
  file.close();
  writeFileSync(path, FS.readFile("d4rl.hdf5"));
}

const WRITERS = {
  parquet: (path) => writeParquet(data, path),
  jsonl: (path) => writeJsonl(data, path),
  tfds: (path) => writeTfds(data, path, { name: "rows" }),
  lerobot: (path) => writeLeRobot(data, path, { fps: 10, finalStep: "transition" }),
  minari: (path) => writeMinari(data, path, { id: "rows-v0", finalStep: "transition" }),
  npz: writeNpz,
  d4rl: writeD4rl,
};
export const ENDINGS = { parquet: ".parquet", jsonl: ".jsonl", npz: ".npz", d4rl: ".hdf5" };

const path = join(folder, `${format}-${length}${ENDINGS[format] ?? ""}`);
await WRITERS[format](path);
console.log(path);
