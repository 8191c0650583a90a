/** Lists the PFRL cases in which our answer differs from the recorded one (POLICY.md, departures.md). Each case is checked against the answer in this file. */

/** The expected result of an op: `{value}`, `{raises}`, or null for a call that succeeds without a value to compare. */
export type Expected = { readonly [field: string]: unknown } | null;

export interface PfrlDeparture {
  /** The rule of POLICY.md. */
  readonly rule: string;
  /** Our own answers by the number of the op. The other ops keep their recorded answers. */
  readonly results?: { readonly [op: number]: Expected };
  /** The expected result of the constructor. */
  readonly expectNew?: Expected;
}

const BY_KEY = "an update names items by key";
const OWN_CAPACITY = "after load the buffer's own capacity rules";

const trees = (priorities: readonly number[], sum: number, min: number, max_priority = 1): Expected => ({
  value: { sum_tree: priorities, min_tree: priorities, sum, min, max_priority, waiting: false },
});

/** Returns transition i of the script that generated the cases: state i, action 100 + i, reward i / 4, next state i + 1. */
const step = (i: number, terminal: boolean) => ({
  state: i,
  action: 100 + i,
  reward: i / 4,
  next_state: i + 1,
  next_action: null,
  is_state_terminal: terminal,
});
/** Returns transition i of the cases in which all transitions have action 0, reward 0 and no next state. */
const plain = (i: number, terminal: boolean) => ({ state: i, action: 0, reward: 0, next_state: null, next_action: null, is_state_terminal: terminal });
const episode = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => step(from + i, from + i === to - 1));

/** Departures by the name of the case. */
export const PFRL: { readonly [name: string]: PfrlDeparture } = {
  "per-evict-while-waiting": { rule: BY_KEY, results: { 10: trees([1, 0.265971811421944, 1, 1], 3.2659718114219443, 0.265971811421944) } },
  "per-evict-while-waiting-end": { rule: BY_KEY, results: { 9: trees([1.0059880556662681, 1, 1], 3.0059880556662684, 1, 1.0059880556662681) } },
  "pere-evict-while-waiting": { rule: BY_KEY, results: { 9: trees([0.6597539633034946, 1, 1], 2.6597539633034946, 0.6597539633034946) } },
  "pere-evict-while-waiting-gone": { rule: BY_KEY, results: { 11: null, 12: trees([1], 1, 1) } },
  "uniform-save-load": {
    rule: OWN_CAPACITY,
    results: {
      17: { value: 7 },
      18: {
        value: [
          [step(0, false), step(1, false)],
          [step(1, false), step(2, true)],
          [step(2, true)],
          [plain(90, false), plain(91, true)],
          [plain(91, true)],
          [plain(92, true)],
          [plain(93, true)],
        ],
      },
    },
  },
  "uniform-load-larger": { rule: OWN_CAPACITY, results: { 13: { value: 2 } } },
  "per-save-load": {
    rule: OWN_CAPACITY,
    results: { 19: { value: 2 }, 20: trees([2.3008410840187405, 2.3008410840187405], 4.601682168037481, 2.3008410840187405, 2.3008410840187405) },
  },
  "pere-save-load": { rule: OWN_CAPACITY, results: { 15: { value: 1 }, 18: { value: 1 }, 19: { value: [episode(30, 31)] } } },
  "persistent-ancestor-crowding": {
    rule: "newest items of an ancestor stay",
    results: { 17: { value: [4, 5, 6, 7].map((i) => [step(i, i === 7)]).concat([10, 11, 12, 13].map((i) => [step(i, i === 13)])) } },
  },
  "persistent-ancestor-unbounded": {
    rule: "an accident of Python typing",
    results: { 3: null },
  },
  "persistent-episodic-ancestor": { rule: "an episodic directory can be an ancestor", results: { 3: null } },
  "persistent-episodic-capacity": {
    rule: "the persistent episodic buffer counts its capacity in transitions on both sides",
    results: {
      6: { value: 3 },
      7: { value: 1 },
      8: { value: episode(10, 13).map((one) => [one]) },
      9: { value: [episode(10, 13)] },
      13: { value: 3 },
      14: { value: 3 },
      15: { value: [episode(20, 21), episode(21, 22), episode(22, 23)] },
    },
  },
  "persistent-save-load": { rule: "save of a persistent buffer writes a snapshot", results: { 3: { value: true }, 4: null } },
  "per-weight-key-stays": {
    rule: "weight is reported beside the item",
    results: {
      3: { value: [[{ ...step(0, false), weight: 7 }], [step(1, false)]] },
      6: { value: [[{ ...step(0, false), weight: 7 }], [step(1, false)]] },
    },
  },
  "per-normalize-zero": { rule: "normalizeByMax is true, false, 'batch' or 'memory' only", expectNew: { raises: {} } },
};
