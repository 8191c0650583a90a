/** Lists the replay buffer cases in which our answer differs from the recorded one. departures.md contains the table, and POLICY.md the rules. */
import type { Result } from "../case.ts";
import type { Departure } from "../departures.ts";

type Results = Departure["results"];

/** Passes over frames. Each line is an op: its number, then the elements as [data, ids]. */
function frames(lines: string): Results {
  return byOp(lines, ([data, ids]: [unknown, unknown]) => [data, { ids, probabilities: [] }]);
}

/** Passes over episodes. Each line is an op: its number, then the `v` of each element. The values determine which steps begin and end an episode. */
function steps(begins: readonly number[], ends: readonly number[], lines: string): Results {
  return byOp(lines, (v) => flagged(v, begins, ends));
}

function byOp<T>(lines: string, element: (one: T) => unknown): Results {
  const ops = lines
    .trim()
    .split("\n")
    .map((line) => /^\s*(\d+) (.*)$/.exec(line) as unknown as [string, string, string]);
  return Object.fromEntries(ops.map(([, op, elements]) => [op, { elements: (JSON.parse(elements) as T[]).map(element), ends: true }]));
}

function flagged(v: unknown, begins: readonly number[], ends: readonly number[]): Result {
  const among = (values: readonly number[], part: unknown): unknown =>
    Array.isArray(part) ? part.map((one) => among(values, one)) : values.includes(part as number);
  return { v, begin: among(begins, v), end: among(ends, v) };
}

/** Returns the result of gatherAll for episodes. */
function all(v: readonly number[], begins: readonly number[], ends: readonly number[]): Result {
  const shape = [1, v.length];
  return { data: flagged([v], begins, ends), shapes: { v: shape, begin: shape, end: shape } };
}

/** Expects the same error for several ops. */
function refused(kind: string, ...ops: readonly number[]): Results {
  return Object.fromEntries(ops.map((op) => [op, { error: { kind } }]));
}

function number(value: number, ...ops: readonly number[]): Results {
  return Object.fromEntries(ops.map((op) => [op, { value }]));
}

function gathered(data: unknown, shapes: unknown, ...ops: readonly number[]): Results {
  return Object.fromEntries(ops.map((op) => [op, { data, shapes }]));
}

/** Departures by the name of the case. */
export const BUFFERS: { readonly [name: string]: Departure } = {
  uniform_det_B2_L4_adds3: {
    rule: "no window over a segment's border",
    results: frames(`
      9 [[[[0,1]],[[0,1]]],[[[100,101]],[[4,5]]]]
    `),
  },
  uniform_det_B2_L4_adds4: {
    rule: "no window over a segment's border",
    results: frames(`
      11 [[[[0,1,2]],[[0,1,2]]],[[[100,101,102]],[[4,5,6]]]]
    `),
  },
  uniform_det_B2_L4_adds6: {
    rule: "each segment in order of time, after wraparound, too; rows and ids agree",
    results: frames(`
      6 [[2,2],[3,3],[4,4],[5,5],[102,6],[103,7],[104,8],[105,9]]
      7 [[[2],[2]],[[3],[3]],[[4],[4]],[[5],[5]],[[102],[6]],[[103],[7]],[[104],[8]],[[105],[9]]]
      8 [[[2,3],[2,3]],[[4,5],[4,5]],[[102,103],[6,7]],[[104,105],[8,9]]]
      9 [[[2,3,4],[2,3,4]],[[5],[5]],[[102,103,104],[6,7,8]],[[105],[9]]]
      10 [[[2],[2]],[[3],[3]],[[4],[4]],[[5],[5]],[[102],[6]],[[103],[7]],[[104],[8]],[[105],[9]]]
      11 [[[[2]],[[2]]],[[[3]],[[3]]],[[[4]],[[4]]],[[[5]],[[5]]],[[[102]],[[6]]],[[[103]],[[7]]],[[[104]],[[8]]],[[[105]],[[9]]]]
      12 [[[[2,3]],[[2,3]]],[[[4,5]],[[4,5]]],[[[102,103]],[[6,7]]],[[[104,105]],[[8,9]]]]
      13 [[[[2,3,4]],[[2,3,4]]],[[[102,103,104]],[[6,7,8]]]]
      14 [[[2,102],[2,6]],[[3,103],[3,7]],[[4,104],[4,8]],[[5,105],[5,9]]]
      15 [[[[2],[102]],[[2],[6]]],[[[3],[103]],[[3],[7]]],[[[4],[104]],[[4],[8]]],[[[5],[105]],[[5],[9]]]]
      16 [[[[2,3],[102,103]],[[2,3],[6,7]]],[[[4,5],[104,105]],[[4,5],[8,9]]]]
      17 [[[[2,3,4],[102,103,104]],[[2,3,4],[6,7,8]]]]
      18 [[[2,102],[2,6]],[[3,103],[3,7]],[[4,104],[4,8]],[[5,105],[5,9]]]
      19 [[[[2],[102]],[[2],[6]]],[[[3],[103]],[[3],[7]]],[[[4],[104]],[[4],[8]]],[[[5],[105]],[[5],[9]]]]
      20 [[[[2,3],[102,103]],[[2,3],[6,7]]],[[[4,5],[104,105]],[[4,5],[8,9]]]]
      21 [[[[2,3,4],[102,103,104]],[[2,3,4],[6,7,8]]]]
    `),
  },
  uniform_det_B3_L3_adds3: {
    rule: "no window over a segment's border",
    results: frames(`
      9 [[[[0,1]],[[0,1]]],[[[100,101]],[[3,4]]],[[[200,201]],[[6,7]]]]
      13 [[[[0,1],[100,101]],[[0,1],[3,4]]],[[[200,201]],[[6,7]]]]
    `),
  },
  uniform_det_B3_L3_adds5: {
    rule: "each segment in order of time, after wraparound, too; rows and ids agree",
    results: frames(`
      5 [[2,2],[3,3],[4,4],[102,5],[103,6],[104,7],[202,8],[203,9],[204,10]]
      6 [[[2],[2]],[[3],[3]],[[4],[4]],[[102],[5]],[[103],[6]],[[104],[7]],[[202],[8]],[[203],[9]],[[204],[10]]]
      7 [[[2,3],[2,3]],[[4],[4]],[[102,103],[5,6]],[[104],[7]],[[202,203],[8,9]],[[204],[10]]]
      8 [[[2,3,4],[2,3,4]],[[102,103,104],[5,6,7]],[[202,203,204],[8,9,10]]]
      9 [[[2],[2]],[[3],[3]],[[4],[4]],[[102],[5]],[[103],[6]],[[104],[7]],[[202],[8]],[[203],[9]],[[204],[10]]]
      10 [[[[2]],[[2]]],[[[3]],[[3]]],[[[4]],[[4]]],[[[102]],[[5]]],[[[103]],[[6]]],[[[104]],[[7]]],[[[202]],[[8]]],[[[203]],[[9]]],[[[204]],[[10]]]]
      11 [[[[2,3]],[[2,3]]],[[[102,103]],[[5,6]]],[[[202,203]],[[8,9]]]]
      12 [[[[2,3,4]],[[2,3,4]]],[[[102,103,104]],[[5,6,7]]],[[[202,203,204]],[[8,9,10]]]]
      13 [[[2,102],[2,5]],[[3,103],[3,6]],[[4,104],[4,7]],[[202],[8]],[[203],[9]],[[204],[10]]]
      14 [[[[2],[102]],[[2],[5]]],[[[3],[103]],[[3],[6]]],[[[4],[104]],[[4],[7]]],[[[202]],[[8]]],[[[203]],[[9]]],[[[204]],[[10]]]]
      15 [[[[2,3],[102,103]],[[2,3],[5,6]]],[[[202,203]],[[8,9]]]]
      16 [[[[2,3,4],[102,103,104]],[[2,3,4],[5,6,7]]],[[[202,203,204]],[[8,9,10]]]]
      17 [[[2,102,202],[2,5,8]],[[3,103,203],[3,6,9]],[[4,104,204],[4,7,10]]]
      18 [[[[2],[102],[202]],[[2],[5],[8]]],[[[3],[103],[203]],[[3],[6],[9]]],[[[4],[104],[204]],[[4],[7],[10]]]]
      19 [[[[2,3],[102,103],[202,203]],[[2,3],[5,6],[8,9]]]]
      20 [[[[2,3,4],[102,103,104],[202,203,204]],[[2,3,4],[5,6,7],[8,9,10]]]]
    `),
  },
  uniform_det_shift1: {
    rule: "no window over a segment's border",
    results: frames(`
      7 [[[[0,1]],[[0,1]]],[[[1,2]],[[1,2]]],[[[2,3]],[[2,3]]],[[[3,4]],[[3,4]]],[[[100,101]],[[5,6]]],[[[101,102]],[[6,7]]],[[[102,103]],[[7,8]]],[[[103,104]],[[8,9]]]]
    `),
  },
  uniform_det_shift2: {
    rule: "no window over a segment's border",
    results: frames(`
      7 [[[[0,1]],[[0,1]]],[[[2,3]],[[2,3]]],[[[100,101]],[[5,6]]],[[[102,103]],[[7,8]]]]
    `),
  },
  uniform_det_shift3: {
    rule: "no window over a segment's border",
    results: frames(`
      7 [[[[0,1]],[[0,1]]],[[[3,4]],[[3,4]]],[[[100,101]],[[5,6]]],[[[103,104]],[[8,9]]]]
    `),
  },
  uniform_get_next_B1_adds3: {
    rule: "asking for more steps than there are is another error than asking an empty buffer",
    results: refused("TOO_FEW", 9, 10, 17, 18, 25, 26),
  },
  uniform_num_steps_too_long: {
    rule: "asking for more steps than there are is another error than asking an empty buffer",
    results: { ...refused("TOO_FEW", 3, 4, 12, 13), 14: { elements: [], error: { kind: "TOO_FEW" } } },
  },
  uniform_dataset_preprocess: {
    rule: "asDataset takes sequencePreprocessFn",
    results: { 4: { elements: [[4, { ids: 2, probabilities: 0.25 }]] } },
  },
  uniform_add_wrong_batch: {
    rule: "a refused addBatch changes nothing",
    results: { ...number(0, 1, 4), ...gathered([[], []], [2, 0], 2, 5) },
  },
  uniform_add_no_batch: {
    rule: "a batch dimension is asked for, and a refused addBatch changes nothing",
    results: { ...refused("SPEC_MISMATCH", 0), ...number(0, 1), ...gathered([[]], [1, 0], 2) },
  },
  episodic_sequences: {
    rule: "windows never cross an episode",
    results: steps(
      [0, 10, 20],
      [2, 10, 24],
      `
      9 [[0,1],[2],[10],[20,21],[22,23],[24]]
      10 [[0,1,2],[10],[20,21,22],[23,24]]
      12 [[[0,1]],[[20,21]],[[22,23]]]
      14 [[[0,1],[20,21]],[[22,23]]]
    `,
    ),
  },
  episodic_det_interleave: {
    rule: "the order is not the machine's: shards by id modulo sampleBatchSize take turns",
    results: steps(
      [0, 10, 20],
      [2, 10, 24],
      `
      4 [[[0],[10],[20]],[[1],[21],[2]],[[22],[23],[24]]]
    `,
    ),
  },
  episodic_wrap: {
    rule: "windows never cross an episode",
    results: steps(
      [10, 20],
      [10, 24],
      `
      8 [[10],[20,21],[22,23],[24]]
    `,
    ),
  },
  episodic_completed_only: {
    rule: "the pass honours completedOnly",
    results: steps(
      [0],
      [1],
      `
      6 [[0,1]]
      7 [[0,1]]
    `,
    ),
  },
  episodic_add_batch: {
    rule: "windows never cross an episode",
    results: steps(
      [0, 2, 100, 103],
      [1, 102],
      `
      9 [[0,1],[100,101],[102],[2,3],[103]]
      10 [[[0,1],[100,101]],[[2,3]]]
    `,
    ),
  },
  episodic_drop_remainder: {
    rule: "windows never cross an episode",
    results: steps(
      [0, 20],
      [],
      `
      4 [[0,1],[20,21],[22,23]]
      5 [[[0,1],[20,21]]]
    `,
    ),
  },
  episodic_shift1: {
    rule: "windows never cross an episode",
    results: steps(
      [0, 10, 20],
      [2, 10, 24],
      `
      4 [[0,1,2],[1,2],[2],[10],[20,21,22],[21,22,23],[22,23,24],[23,24],[24]]
      5 [[[0,1],[1,2]],[[20,21],[21,22]],[[22,23],[23,24]]]
    `,
    ),
  },
  episodic_shift2: {
    rule: "windows never cross an episode",
    results: steps(
      [0, 10, 20],
      [2, 10, 24],
      `
      4 [[0,1,2],[2],[10],[20,21,22],[22,23,24],[24]]
      5 [[[0,1],[20,21]],[[22,23]]]
    `,
    ),
  },
  episodic_wrap_completed_only: {
    rule: "gatherAll works after wraparound",
    results: { 5: all([10, 20, 21, 22, 23, 24], [10, 20], [10, 24]) },
  },
  episodic_stale_id: {
    rule: "writing to an episode that was overwritten raises",
    results: refused("STALE_KEY", 5),
  },
  episodic_clear: {
    rule: "clear forgets completed ids, too",
    results: { 7: { ids: [] }, 11: { ids: [3] } },
  },
  episodic_get_next: {
    rule: "getNext honours its arguments",
    results: { 3: { shapes: { v: [2, 1], begin: [2, 1], end: [2, 1] }, info_shapes: { ids: [2], probabilities: [2] } } },
  },
  episodic_trajectories_sequence: {
    rule: "the default functions work wherever a trajectory is given",
    results: { 1: { ids: 0 } },
  },
  stateful_add_batch: {
    rule: "the stateful variant has every method, and clear really clears",
    results: {
      ...number(6, 6),
      7: all([0, 1, 100, 101, 102, 2], [0, 100, 2], [1, 102]),
      9: {},
      10: { elements: [], error: { kind: "EMPTY" } },
      11: { error: { kind: "EMPTY" } },
      12: { elements: [], ends: true },
    },
  },
};
