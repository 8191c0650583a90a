/** The workloads, and the variants that are compared in each. */
import { join } from "node:path";
import { root } from "../../build/step.mjs";
import { games } from "../packed/games.mjs";

/** The settings with which glibc keeps large arrays. By default, it returns them to the system and maps them again, page by page. */
export const KEEPING = { MALLOC_MMAP_THRESHOLD_: "33554432", MALLOC_TRIM_THRESHOLD_: "4294967296", MALLOC_TOP_PAD_: "67108864" };
const LIBRARIES = { cpprb: "cpprb", sb3: "Stable-Baselines3", tianshou: "Tianshou", flashbax: "flashbax", torchrl: "TorchRL", pfrl: "PFRL" };

const ours = (ways) => ways.map((way) => ({ name: way, side: "ours", task: { way } }));
const limit = (name, ...words) => ({ name: `C, ${name}`, side: "C", words });
const touched = (...words) => [limit("touch", ...words, "touch"), limit("prefetch", ...words, "prefetch")];
const peer = (library, more = {}) => ({ name: LIBRARIES[library], side: "peer", task: { library }, ...more });
const peers = (names, more) => names.map((library) => peer(library, more));
const numpy = { name: "NumPy", side: "peer", task: { library: "numpy" }, apart: "a floor, no library: no order, no keys, no priorities" };
/** Returns the same variants with a malloc that keeps its pages. */
const keeping = (variants) => variants.map((one) => ({ ...one, name: `${one.name}, pages kept`, env: KEEPING }));
const both = (variants) => [...variants, ...keeping(variants)];

/** The files with the screens of ten games: those recorded by `npm run bench:packed`, or those in the folder REPRISE_SCREENS. */
const SCREENS = games.map((name) => join(process.env.REPRISE_SCREENS ?? join(root, "build/packed/games"), `${name}.bin`));

const WAYS = ["into", "recycled", "new arrays"];
const ALL = Object.keys(LIBRARIES);
/** The libraries that can draw prioritized batches. */
const PRIORITIZED = ["cpprb", "tianshou", "flashbax", "torchrl", "pfrl"];
const M = 1_000_000;

const uniform = (batch) => ({
  name: `uniform ${batch}`,
  task: { program: "uniform", batch, steps: M },
  unit: "samples/s",
  each: batch,
  variants: [...ours(WAYS), ...touched("rows"), ...peers(ALL), numpy],
});

const prioritized = (name, cycle, limits) => ({
  name,
  task: { program: "prioritized", batch: 256, steps: M, cycle },
  unit: cycle ? "cycles/s" : "samples/s",
  each: cycle ? 1 : 256,
  variants: [...ours(WAYS), ...limits, ...peers(PRIORITIZED)],
});

const add = (name, priorities, libraries, floor) => ({
  name,
  task: { program: "add", batch: 32, steps: M, priorities },
  unit: "steps/s",
  each: 1,
  variants: [
    ...ours(["staged", "object"]),
    ...peers(libraries.filter((library) => library !== "pfrl")),
    // PFRL stores only references, so a caller that changes an array that it added also changes the buffer.
    peer("pfrl", { apart: "copies nothing: keeps the caller's arrays in a dict" }),
    ...floor,
  ],
});

export const workloads = [
  uniform(32),
  uniform(256),
  uniform(4096),
  prioritized("prioritized sample 256", false, []),
  prioritized("prioritized cycle 256", true, [limit("AVX2", "rows", "avx2")]),
  {
    name: "mixture 256",
    task: { program: "mixture", batch: 256, steps: M },
    unit: "samples/s",
    each: 256,
    variants: [...ours(WAYS), peer("torchrl")],
  },
  {
    name: "Atari batch 32",
    task: { program: "frames", batch: 32, steps: M / 10 },
    unit: "samples/s",
    each: 32,
    variants: [
      ...ours(WAYS),
      ...touched("copies", "frames"),
      ...both([...peers(["cpprb", "sb3", "tianshou", "pfrl"]), numpy]),
      ...peers(["flashbax", "torchrl"]),
    ],
  },
  {
    name: "recorded screens batch 32",
    task: { program: "frames", batch: 32, steps: M / 10, screens: SCREENS },
    unit: "samples/s",
    each: 32,
    variants: [
      ...ours(["into"]),
      { name: "into, packed", side: "ours", task: { way: "into", leaf: "packed" } },
      ...keeping([...peers(["cpprb", "sb3"]), numpy]),
    ],
  },
  {
    name: "windows of 80",
    task: { program: "windows", batch: 32, steps: M, length: 80 },
    unit: "windows/s",
    each: 32,
    variants: [
      ...ours(WAYS),
      ...touched("copies", "windows"),
      ...both([...peers(["flashbax", "torchrl"]), numpy]),
      ...peers(["cpprb", "sb3", "tianshou", "pfrl"]),
    ],
  },
  add("add", false, ALL, [numpy]),
  add("prioritized add", true, PRIORITIZED, []),
  {
    name: "frame of a game",
    task: { program: "game", batch: 64, steps: M },
    unit: "µs",
    // A repetition has this many frames, because a 1-in-10,000 percentile is reported.
    frames: 50_000,
    variants: [...ours(WAYS), { name: "first build", side: "ours", task: { way: "into" }, old: true }],
  },
];

/** Returns the workloads whose names contain at least one of the words. Without words, returns all workloads. */
export function chosen(words) {
  const found = workloads.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  if (found.length === 0)
    throw new Error(`no workload's name contains ${words.map((word) => `"${word}"`).join(" or ")}: ${workloads.map(({ name }) => name).join(", ")}`);
  return found;
}
