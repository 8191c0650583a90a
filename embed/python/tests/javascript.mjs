// Implements the JavaScript side of the tests, using the public API. `write FOLDER` saves a Replay and its next batches. `read SNAPSHOT` makes the same draws
// from a Replay that Python saved.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bool, f32, f64, i8, i16, i32, i64, packed, prioritized, Replay, shared, text, u8, u16, u32, u64 } from "reprise";

const BETA = 0.5;
const [verb, path] = process.argv.slice(2);

/** Returns a Replay with every dtype, a nest, a list, text, and shared frames, both unpacked and packed. */
function collected() {
  const small = { b: bool(3), c: i8(), d: u8(2, 2), e: i16(), f: u16(), g: u32() };
  const replay = new Replay({
    spec: {
      observation: { image: shared("frames", u8(4, 4), 3), ...small },
      action: i32(),
      reward: f32(),
      long: [i64(), u64(2)],
      x: f64(2),
      name: text({ maxBytes: 10 }),
      screen: packed("screens", u8(16, 17), 2),
    },
    tables: { memory: { maxSize: 60, sampler: prioritized(0.5) }, windows: { maxSize: 30 } },
    seed: 11,
  });
  const rules = [
    { table: "memory", nStep: 2, priority: "max" },
    { table: "windows", length: 3 },
  ];
  const writer = replay.writer({ items: rules });
  for (let i = 0; i < 100; i++) {
    writer.append(step(i));
    if (i % 9 === 8) writer.endEpisode({ terminated: i % 2 === 0, final: step(i + 1) });
  }
  return replay;
}

function step(i) {
  const frame = (k) => new Uint8Array(16).fill((i + k) % 7);
  const small = { b: [i % 2, 1, 0], c: -i, d: new Uint8Array(4).fill(i), e: -300 * i, f: 600 * i, g: 4_000_000_000 + i };
  const screen = (k) => new Uint8Array(272).map((_, at) => (at === k % 90 ? k : at >> 5));
  return {
    observation: { image: new Uint8Array([...frame(0), ...frame(1), ...frame(2)]), ...small },
    action: i % 4,
    reward: i / 8,
    long: [-(2n ** 63n) + BigInt(i), [2n ** 64n - 1n - BigInt(i), BigInt(i)]],
    x: [i / 3, -i],
    name: ["", "née", "\u{1f600}", "a\0b"][i % 4],
    screen: new Uint8Array([...screen(i), ...screen(i + 1)]),
  };
}

/** Returns a batch of each view in test_javascript.py, by the names of embed.wasm. */
function batches(replay) {
  const { memory, windows } = replay.tables;
  const { steps, lengths, mask, info } = windows.sample(7, { length: 3, mask: true });
  const items = { ...steps, lengths, mask, ...picked(info, ["keys", "probabilities", "priorities", "timesSampled", "tableSizes"]) };
  const batch = memory.transitions({ gamma: 0.9, next: ["action"], dtype: "f64" }).sample(16, { beta: BETA });
  const names = [
    "observation",
    "action",
    "long",
    "x",
    "name",
    "screen",
    "nextObservation",
    "nextAction",
    "returns",
    "discounts",
    "steps",
    "terminated",
    "truncated",
    "weights",
    "keys",
  ];
  return [Object.fromEntries(flat(items)), Object.fromEntries(flat(picked(batch, names)))];
}

const picked = (from, names) => Object.fromEntries(names.map((name) => [name, from[name]]));

/** Returns columns by path: texts, or the constructor of the array and its bytes. */
function flat(value, path = []) {
  const data = value.data ?? value;
  if (ArrayBuffer.isView(data))
    return [[path.join("."), [data.constructor.name, Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64")]]];
  if (Array.isArray(data) && typeof data[0] === "string") return [[path.join("."), data]];
  return Object.entries(value).flatMap(([name, part]) => flat(part, [...path, name]));
}

if (verb === "write") {
  mkdirSync(path, { recursive: true });
  const replay = collected();
  writeFileSync(join(path, "snapshot"), Buffer.concat([...replay.snapshot()]));
  writeFileSync(join(path, "batches.json"), JSON.stringify(batches(replay)));
} else {
  console.log(JSON.stringify(batches(Replay.restore(readFileSync(path)))));
}
