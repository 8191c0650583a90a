/** Compares a draw with the twin, and applies the draw to the twin. */
import type { Spec, Table } from "../../../src/index.ts";
import { isRandom, type TwinItem, TwinTable, weightOf, windowOf as windowIn, within } from "../../model/twin-table.ts";
import type { TestRandom } from "../../support/random.ts";
import { Ends } from "./lanes.ts";
import type { PlannedTable } from "./plan.ts";
import { type Reading, type RefusedError, type Rows, windowOf, wrongColumns, wrongReturns, wrongStrata } from "./reading.ts";
import { elementOf, type Steps } from "./steps.ts";

export interface Pair {
  readonly plan: PlannedTable;
  readonly twin: TwinTable;
  /** Keys that were returned, including keys of items that are gone. */
  readonly keys: number[];
}

interface Numbers {
  readonly data: ArrayLike<number>;
  readonly shape: readonly number[];
}

export interface Transitions {
  readonly keys: ArrayLike<number>;
  readonly observation: Numbers;
  readonly nextObservation: Numbers;
  readonly [name: string]: unknown;
}

export interface Batch {
  readonly count: number;
  readonly steps: { readonly [name: string]: Numbers };
  readonly mask?: Uint8Array;
  readonly nStep?: object;
  readonly blocked?: { readonly by: string };
  readonly lengths: ArrayLike<number>;
  readonly info: {
    readonly keys: ArrayLike<number>;
    readonly probabilities: ArrayLike<number>;
    readonly priorities: ArrayLike<number>;
    readonly timesSampled: ArrayLike<number>;
    readonly tableSizes: ArrayLike<number>;
  };
}

/** The options of a draw. */
export interface Asked {
  readonly n: number;
  readonly reading: Reading;
  readonly distinct: boolean;
  /** Whether the batch was drawn ahead. Its items may have been drawn again since. */
  readonly ahead?: boolean;
}

export interface AskedView {
  readonly n: number;
  readonly gamma: number;
  /** The maximum number of steps in a transition. */
  readonly k: number | undefined;
  readonly distinct?: boolean;
}

const RELABEL = { goal: "goal", achieved: "id", share: 0.8, reward: "stored" } as const;
/** Steps of different lanes have numbers that differ by at least this. */
const LONGEST = 1000;

export class Draws {
  /** The ends of episodes by step. */
  ends = new Ends();
  /** The keys of items that were created with their own columns. */
  readonly own = new Map<string, Set<number>>();
  /** The tables that had items from which no transition can be made. */
  readonly singles = new Set<string>();
  readonly #steps: Steps;

  constructor(steps: Steps) {
    this.#steps = steps;
  }

  ownOf(name: string): Set<number> {
    const found = this.own.get(name) ?? new Set();
    this.own.set(name, found);
    return found;
  }

  /** Draws transitions: all of them or none. */
  view(pair: Pair, table: Table<Spec>, random: TestRandom): void {
    const { plan, twin } = pair;
    if (twin.pending.length > 0 && isRandom(plan.remover)) return;
    const [n, gamma] = [1 + random.below(twin.live.length + 2), random.pick([0, 0.5, 1])];
    const k = random.pick([undefined, 1, 2]);
    const isOrdered = [plan.sampler, plan.remover].some(({ kind }) => kind === "fifo" || kind === "lifo");
    const relabel = isOrdered && random.below(2) === 0 ? { ...RELABEL, strategy: random.pick(["future", "final", "episode"] as const) } : undefined;
    const before = [...twin.live];
    let batch: Transitions;
    try {
      batch = table.transitions({ gamma, dtype: "f64", ...(k !== undefined && { n: k }), ...(relabel && { relabel }) }).sample(n) as never;
    } catch (error) {
      this.refusedView(pair, k, error as RefusedError);
      return;
    }
    this.compareView(pair, batch, { n, gamma, k });
    if (relabel !== undefined) this.#compareGoals(batch, n, relabel.strategy, [before, twin.live]);
  }

  /** Checks that goals are steps of the same episode, held by items before the draw or by items inserted during it. */
  #compareGoals(batch: Transitions, n: number, strategy: "future" | "final" | "episode", held: readonly (readonly TwinItem[])[]): void {
    const [{ data: goals }, { data: flags }, { data: steps }] = [batch.goal, batch.relabelled, batch.steps] as [Numbers, Numbers, Numbers];
    // A transition that reaches an omitted final step keeps its goal.
    const unable = Array.from(steps).filter((k, i) => this.ends.isUnknown((batch.observation.data[i] as number) + k)).length;
    same(
      "goals",
      Array.from(flags).reduce((sum, flag) => sum + flag, 0),
      Math.min(Math.floor(RELABEL.share * n + 1e-9), n - unable),
    );
    for (let i = 0; i < n; i++) {
      const [first, goal] = [batch.observation.data[i] as number, goals[i] as number];
      if (flags[i] === 0) {
        same("a goal that stays", goal, elementOf("goal", "f64", first, 0));
        continue;
      }
      const allowed = held.flatMap((items) => {
        const steps = this.#stepsWith(items, first).filter((step) => !this.ends.isUnknown(step));
        return strategy === "final" ? steps.slice(-1) : steps.filter((step, k) => (strategy === "future" ? step > first : k > 0));
      });
      const ids = allowed.map((step) => this.ends.idOf(step));
      if (!ids.includes(goal)) throw new Error(`the goal of step ${first}, ${strategy}, is ${goal}, none of ${ids.join()}`);
    }
  }

  /** Returns the steps of an episode that items hold, in order. */
  #stepsWith(items: readonly TwinItem[], first: number): number[] {
    const isTogether = (one: number, two: number) => {
      for (let step = Math.min(one, two); step < Math.max(one, two); step++) if (this.ends.has(step)) return false;
      return true;
    };
    const all = new Set(items.flatMap((item) => Array.from({ length: item.length }, (_, k) => item.first + k)));
    return [...all].filter((step) => Math.abs(step - first) < LONGEST && isTogether(step, first)).sort((a, b) => a - b);
  }

  /** @throws the error, unless a rule allows the rejection of this view */
  refusedView({ plan, twin }: Pair, k: number | undefined, error: RefusedError): void {
    const { code, name } = error;
    if (code === "OUT_OF_MEMORY") throw error;
    const single = this.singles.has(plan.name) || plan.rule?.length === 1 || twin.live.every((item) => item.length <= (k ?? 1));
    const few = plan.maxTimesSampled > 0 || plan.limiter.maxDiff < Number.MAX_VALUE || !twin.canSample();
    if (code === "EMPTY") same("a view of nothing", twin.live.length, 0);
    else if (code === "RATE_LIMITED" || code === "TOO_FEW" ? !few : !(name === "RangeError" || code === "SPEC_MISMATCH") || !single) throw error;
  }

  compareView({ twin }: Pair, batch: Transitions, { n, gamma, k, distinct = false }: AskedView): void {
    same("transitions", batch.keys.length, n);
    const drawn: TwinItem[] = [];
    for (let i = 0; i < n; i++) {
      same("the limiter lets a draw pass", twin.canSample(), true);
      const item = twin.live.find(({ key }) => key === batch.keys[i]) ?? twin.live.find((one) => one.key < 0 && one.first === batch.observation.data[i]);
      if (item === undefined) throw new Error(`a view gave key ${batch.keys[i]}, which is not live`);
      if (item.key < 0) (item as { key: number }).key = batch.keys[i] as number;
      if (distinct && drawn.includes(item)) throw new Error(`a view without replacement gave key ${item.key} twice`);
      if (twin.probability(item) === 0 && !distinct) throw new Error(`a view gave key ${item.key}, which has no probability`);
      drawn.push(item);
      twin.drawn(item);
      if (!distinct) twin.settle();
    }
    if (distinct) twin.settle();
    const columns = Object.fromEntries(["returns", "discounts", "steps", "terminated", "truncated"].map((name) => [name, (batch[name] as { data: [] }).data]));
    const nStep = { n: k ?? Number.POSITIVE_INFINITY, gamma, asked: false };
    const wrong = wrongReturns(columns, drawn, nStep, this.ends);
    if (wrong !== undefined) throw new Error(`of a view, ${wrong}`);
    for (const [i, { first, key }] of drawn.entries()) {
      const steps = Number(columns.steps?.[i]);
      if (steps === 0) throw new Error(`a view gave a transition of 0 steps, of key ${key}`);
      same("observation", batch.observation.data[i], first);
      same("nextObservation", batch.nextObservation.data[i], this.ends.idOf(first + steps));
    }
  }

  compare({ plan, twin }: Pair, batch: Batch, { distinct, n, reading, ahead = false }: Asked): void {
    const { count, info } = batch;
    const all = [...twin.live];
    const window = windowIn(reading.among, all.length);
    const before = within(all, window);
    const windows: Rows[] = [];
    const shares: number[] = [];
    const drawn: TwinItem[] = [];
    for (let i = 0; i < count; i++) {
      same("the limiter lets a draw pass", twin.canSample(), true);
      const size = twin.live.length;
      const key = info.keys[i] as number;
      const item = twin.live.find((one) => one.key === key) ?? unseen(twin, batch, i, key);
      if (item === undefined) throw new Error(`a draw gave key ${key}, which is not live`);
      if (distinct && drawn.includes(item)) throw new Error(`a draw without replacement gave key ${key} twice`);
      const from = distinct ? before : within(twin.live, window);
      const rest = distinct ? before.filter((one) => !drawn.includes(one)) : from;
      const picked = isRandom(plan.sampler) ? undefined : TwinTable.pick(plan.sampler, rest) === item ? 1 : 0;
      const share = picked ?? (from.includes(item) ? TwinTable.share(plan.sampler, item, from, distinct ? all : twin.live) : 0);
      if (share === 0) throw new Error(`a draw gave key ${key}, which has no probability`);
      near("probability", info.probabilities[i] as number, share);
      same("priority", info.priorities[i], item.priority);
      same("table size", info.tableSizes[i], size);
      shares.push(share);
      const columns = reading.columns === undefined && this.own.get(plan.name)?.has(key) === true;
      windows.push(windowOf(item, reading, this.ends, firstOf(batch, i)));
      same("length", batch.lengths[i], windows[i]?.length);
      if (reading.columns === undefined) same("columns of its own", "root" in batch.steps, columns);
      drawn.push({ ...item });
      if (distinct) drawn[i] = item;
      twin.drawn(item);
      if (!ahead) same("times sampled", info.timesSampled[i], item.timesSampled);
      if (!distinct) twin.settle();
    }
    const width = reading.length ?? Math.max(0, ...drawn.map((item) => item.length));
    if (count > 0) {
      const single = "root" in batch.steps || reading.columns !== undefined;
      const wrong = [
        single ? wrongColumns(batch.steps as never, windows, reading, this.ends) : this.#steps.wrong(batch.steps, windows, width, this.ends.blank),
        reading.nStep === undefined ? undefined : wrongReturns(batch.nStep as never, windows, { ...reading.nStep, asked: true }, this.ends),
        reading.stratified && count === n ? wrongStrata(drawn, shares, n) : undefined,
        reading.mask && !single ? wrongMask(batch.mask as Uint8Array, windows, width) : undefined,
      ].find((one) => one !== undefined);
      if (wrong !== undefined) throw new Error(`${wrong}, of ${JSON.stringify(reading)}`);
    }
    const positive = before.filter((item) => weightOf(plan.sampler, item.priority) > 0).length;
    const enough = distinct && count === (positive > 0 ? positive : before.length);
    if (count < n && !enough && twin.canSample() && batch.blocked?.by !== "columns") throw new Error(`a draw of ${n} gave ${count}, and could have given more`);
    twin.settle();
  }
}

/** Finds an item of a block, whose key is unknown until its first draw, by its first step, and sets its key. */
export function unseen(twin: TwinTable, batch: Batch, i: number, key: number): TwinItem | undefined {
  const first = firstOf(batch, i);
  const item = twin.live.find((one) => one.key < 0 && one.first === first);
  if (item !== undefined) (item as { key: number }).key = key;
  return item;
}

/** Returns the number of the first step in a draw. */
function firstOf({ steps }: Batch, i: number): number {
  const { data, shape } = (steps.id ?? steps.start ?? steps.root) as Numbers;
  return data[i * (shape[1] ?? 1)] as number;
}

function wrongMask(mask: Uint8Array, windows: readonly Rows[], width: number): string | undefined {
  const i = windows.findIndex(({ length }, draw) => Array.from({ length: width }, (_, t) => mask[draw * width + t] === Number(t < length)).includes(false));
  return i < 0 ? undefined : `the mask of draw ${i}`;
}

export function same(what: string, found: unknown, expected: unknown): void {
  if (!Object.is(found, expected)) throw new Error(`${what}: ${found} instead of ${expected}`);
}

function near(what: string, found: number, expected: number): void {
  if (Math.abs(found - expected) > 1e-9 * expected) throw new Error(`${what}: ${found} instead of ${expected}`);
}
