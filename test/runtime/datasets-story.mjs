// Prints a line for each dataset of test/data: the content that openRlds found, and the checksum of each column's bytes over all steps.
import { openRlds } from "../../dist/rlds.js";

export const DATASETS = [
  "tfds/half_cheetah/1.0.0",
  "tfds/cartpole/1.0.0",
  "tfds/cartpole_pixels/1.0.0",
  "minari/cartpole/scripted-v0",
  "d4rl/half_cheetah.hdf5",
];

const TABLE = Int32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

class Sum {
  #crc = -1;
  add({ buffer, byteOffset, byteLength }) {
    for (const byte of new Uint8Array(buffer, byteOffset, byteLength)) this.#crc = TABLE[(this.#crc ^ byte) & 255] ^ (this.#crc >>> 8);
  }
  get value() {
    return ~this.#crc >>> 0;
  }
}

// Returns leaves of steps or of their columns, by path.
function leaves(value, isLeaf, path = "") {
  if (isLeaf(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, part]) => leaves(part, isLeaf, path === "" ? name : `${path}/${name}`));
}

// Returns a line of JSON: format, episodes, steps, and the columns.
export async function told(source, options) {
  const reader = await openRlds(source, options);
  const columns = {};
  const sums = new Map();
  let episodes = 0;
  let steps = 0;
  for (const [path, leaf] of leaves(reader.stepSpec, ({ dtype }) => typeof dtype === "string")) columns[path] = leaf;
  for await (const episode of reader) {
    episodes++;
    steps += episode.steps.length;
    for (const [path, { data }] of leaves(episode.steps.columns, ({ data }) => data !== undefined)) {
      const begun = sums.has(path);
      const sum = sums.get(path) ?? new Sum();
      sums.set(path, sum);
      sum.add(Array.isArray(data) ? new TextEncoder().encode(`${begun ? "\n" : ""}${data.join("\n")}`) : data);
    }
  }
  await reader.close();
  for (const [path, sum] of sums) columns[path] = { ...columns[path], crc32: sum.value };
  return JSON.stringify({ format: reader.format, episodes, steps, columns });
}
