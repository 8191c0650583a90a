/** Lists the workloads and their targets. `least` is the number of items that Reprise must move in the time in which the other side moves one item. */

const ours = (name, task) => ({ name, task, program: "ours" });
const theirs = (name, task) => ({ name, task, program: "python" });

const samplers = (table) => [
  ours("sampler", { does: "sample", table }),
  theirs("pybind's sampler, 100 in flight", { does: "sampler", table }),
  theirs("client.sample", { does: "sample", table }),
];
/**
 * The rival is the sampler of the pybind module, configured to be as fast as possible. A dataset cannot be measured in turn, because its threads continue to
 * draw during the turns of the other sides.
 */
const sampled = (least) => [{ ours: "sampler", to: "pybind's sampler, 100 in flight", least }];

export const workloads = [
  {
    name: "insert small",
    sides: [
      ours("trajectoryWriter", { does: "trajectoryWriter" }),
      ours("legacyWriter", { does: "legacyWriter" }),
      ours("writer of observers", { does: "writer" }),
      theirs("Writer", { does: "legacy" }),
      theirs("TrajectoryWriter", { does: "trajectory" }),
    ],
    thresholds: [
      { ours: "trajectoryWriter", to: "Writer", least: 1 },
      { ours: "trajectoryWriter", to: "TrajectoryWriter", least: 2 },
    ],
  },
  { name: "sample small", sides: samplers("small"), thresholds: sampled(0.8) },
  { name: "sample 113 KB", sides: samplers("big"), thresholds: sampled(0.6) },
];
