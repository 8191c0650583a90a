/**
 * Lists the targets of Reprise, row by row as in the issue that set them. `least` is how many operations Reprise must do in the time of one operation of the
 * other side, or the minimum ratio of the measure in `of`. `most` is a maximum of that measure. `--check` fails if a target is missed. `recycled` has the
 * target of `into`. `peers` is the best of the libraries in the run, with either setting of malloc, except those marked `apart` (workloads.mjs states why).
 */
const held = (workload, into, fresh, touch) => [
  { workload, ours: "into", to: "peers", least: into },
  { workload, ours: "recycled", to: "peers", least: into },
  { workload, ours: "new arrays", to: "peers", least: fresh },
  ...(touch === undefined ? [] : [{ workload, ours: "into", ...touch }]),
];
/** The target compared with the C program that loads data ahead of its use ("touch") instead of prefetching it. */
const touching = (least) => ({ to: "C, touch", least });
const library = (workload, to, into, fresh) => held(workload, into, fresh).map((row) => ({ ...row, to }));

export const thresholds = [
  ...held("uniform 32", 8, 4, touching(0.7)),
  ...held("uniform 256", 4, 3, touching(0.8)),
  ...held("uniform 4096", 1.7, 1, touching(0.8)),
  ...held("prioritized sample 256", 4, 3),
  ...held("prioritized cycle 256", 4, 3, { to: "C, AVX2", least: 0.5 }),
  ...held("Atari batch 32", 1.25, 0.5, touching(0.85)),
  // `npm run bench:packed`, which draws transitions, compares recorded screens with unpacked frames.
  { workload: "recorded screens batch 32", ours: "into, packed", to: "cpprb, pages kept", least: 0.55 },
  ...library("windows of 80", "flashbax", 1.8, 1.2),
  ...library("windows of 80", "NumPy", 1.4, 0.9),
  { workload: "windows of 80", ours: "into", ...touching(0.75) },
  { workload: "add", ours: "staged", to: "peers", least: 40 },
  { workload: "prioritized add", ours: "object", to: "peers", least: 120 },
  { workload: "frame of a game", ours: "into", to: "first build", of: "p999", least: 1 },
  { workload: "frame of a game", ours: "recycled", to: "first build", of: "p999", least: 1 },
  // The frames must not cause a garbage collection.
  { workload: "frame of a game", ours: "into", of: "collections", most: 0 },
];
