/** Records operations on Replays with every feature, while the public TypeScript API and embed.wasm perform them side by side. */
import {
  bool,
  f32,
  f64,
  fifo,
  i16,
  i32,
  lifo,
  maxHeap,
  minHeap,
  minSize,
  packed,
  prioritized,
  queueLimiter,
  sampleToInsertRatio,
  shared,
  text,
  u8,
  u64,
  uniform,
} from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { CODES, fileOf, type Operation } from "./operation.ts";
import { crc32 } from "./player.mjs";
import { type Done, Twin } from "./twin.ts";
import type { World, WorldTable, WorldView } from "./world.ts";

/** On average, one in this many operations reads the counters. */
const STATS = 12;
/** The number of appends before the first draw, so that there are items. */
const APPENDS = 20;

const table = (maxSize: number, options: Partial<WorldTable>): WorldTable => ({
  maxSize,
  sampler: uniform(),
  remover: fifo(),
  rateLimiter: minSize(),
  maxPending: 1023,
  maxSteps: undefined,
  maxTimesSampled: undefined,
  ...options,
});

const view = (name: string, { weights, transitions, ...sample }: Partial<Omit<WorldView, "sample">> & WorldView["sample"] = {}): WorldView => ({
  table: name,
  transitions,
  weights,
  sample: {
    replacement: true,
    among: undefined,
    stratified: false,
    ...(transitions === undefined && { offset: "start" }),
    ...sample,
    ...(weights && { normalize: weights }),
  },
});

const SPEC = {
  observation: { image: shared("frames", u8(3, 2), 2), position: f32(3), list: [i16(), u64(2)] },
  action: i32(),
  reward: f32(),
  discount: f32(),
  terminated: bool(),
  task: text({ maxBytes: 8 }),
  value: f64(),
};

const WORLD: World = {
  spec: SPEC,
  roles: {},
  tables: {
    memory: table(300, { sampler: prioritized(0.6, { withMin: true }) }),
    steps: table(400, { maxSteps: 900 }),
    windows: table(60, { sampler: prioritized(1), remover: minHeap() }),
    best: table(40, { sampler: maxHeap(), remover: lifo(), maxTimesSampled: 9 }),
    queue: table(50, { sampler: fifo(), rateLimiter: queueLimiter(50), maxTimesSampled: 1, maxPending: 30 }),
    paced: table(120, { sampler: minHeap(), remover: uniform(), rateLimiter: sampleToInsertRatio(2.5, 3, 60), maxPending: 20 }),
  },
  writers: [
    {
      keep: undefined,
      lanes: 1,
      across: false,
      autoreset: undefined,
      items: [
        { table: "memory", nStep: 3, priority: "max" },
        { table: "steps", nStep: 1 },
      ],
    },
    { keep: 20, lanes: 2, across: false, autoreset: "sameStep", items: [{ table: "steps", nStep: 2 }] },
    { keep: undefined, lanes: 2, across: false, autoreset: "nextStep", items: [{ table: "memory", nStep: 1, priority: 0.5 }] },
    {
      keep: 12,
      lanes: 1,
      across: true,
      autoreset: undefined,
      items: [
        { table: "windows", length: 4, stride: 2 },
        { table: "best", length: 3, priority: 2.25 },
        { table: "queue", length: 2, stride: 3 },
        { table: "paced", length: 1, stride: 4 },
      ],
    },
  ],
  views: [
    view("memory", { transitions: { gamma: 0.99 }, weights: "batch" }),
    view("memory", { transitions: { gamma: 0.5, n: 1, next: ["action", "value"], dtype: "f64" }, weights: "table", stratified: true }),
    view("memory", { weights: "none", mask: true }),
    view("steps", { transitions: { gamma: 0.9, dtype: "f32" }, replacement: false }),
    view("steps", { length: 2, among: 50 }),
    view("windows", { length: 2, offset: "uniform", cross: true, mask: true }),
    view("windows", { length: 5, offset: "end", mask: true, weights: "batch" }),
    view("best"),
    view("queue", { mask: true }),
    view("paced", { length: 3, cross: true, mask: true }),
  ],
  seed: 0x19_2a_3b_4c_5dn,
  terse: false,
};

/** WORLD with some leaves replaced with packed leaves of integers, floats and texts. */
const PACKED: World = {
  ...WORLD,
  spec: {
    ...SPEC,
    observation: { image: packed("frames", u8(16, 17), 4), depth: packed("depths", f32(8, 9, 2), 2, { ratio: 2.5 }), position: f32(3) },
    before: packed("frames", u8(4, 17, 4)),
    task: packed("tasks", text({ maxBytes: 300 })),
  },
};

/** The recordings by name: the world, the number of operations, the interval in operations at which both sides exchange snapshots, and the seed. */
const RECORDINGS = { operations: [WORLD, 10_000, 2_000, 19], packed: [PACKED, 1_500, 500, 36] } as const;
export type Recording = keyof typeof RECORDINGS;
export const RECORDING_NAMES = Object.keys(RECORDINGS) as Recording[];

/** The numbers of the tables for which items of any length are created. An item of one step in the other tables would not be a transition. */
const WINDOWS = [2, 3, 4, 5];

export interface Recorded {
  readonly file: Uint8Array;
  /** The digest of the results in TypeScript. */
  readonly digest: string;
  /** The number of operations. `refused` counts the rejected calls among them, `batches` the batches that are not empty. */
  readonly operations: number;
  readonly refused: number;
  readonly batches: number;
}

/** Records the operations of a recording. @param most the maximum number of operations to record */
export function record(name: Recording, most = Number.POSITIVE_INFINITY): Recorded {
  const [world, all, reload, seed] = RECORDINGS[name];
  const count = Math.min(all, most);
  const operations: Operation[] = [];
  let crc = 0;
  const fold = (bytes: Uint8Array) => {
    crc = crc32(bytes, crc);
  };
  const onDone = ({ operation, result, bytes }: Done) => {
    operations.push(operation);
    fold(new Uint8Array(Int32Array.of(typeof result === "number" ? result : (CODES[result] as number)).buffer));
    if (typeof result === "string") fold(new TextEncoder().encode(result));
    for (const run of bytes) fold(run);
  };
  const random = new TestRandom(seed);
  // The bits of a NaN depend on the machine, so the recording has none.
  const twin = new Twin(random, world, "embed", { strange: [-0, 1e30], windows: WINDOWS, counts: false, onDone });
  if (!twin.begin()) throw new Error("the Replay was refused");
  const tables = Object.keys(world.tables).length;
  for (let i = 0; i < count; i++) {
    if (i < APPENDS) twin.append();
    else if (i % reload === reload - 1) twin.exchange();
    else if (random.below(STATS) === 0) twin.stats(random.below(tables));
    else twin.play();
  }
  const { refused, batches } = twin;
  return { file: fileOf(twin.text, operations), digest: crc.toString(16).padStart(8, "0"), operations: operations.length, refused, batches };
}
