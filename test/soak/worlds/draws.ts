/** What a draw gave beside what the twin says of it, and what the draw did to the twin. */
import type { Spec, Table } from "../../../src/index.ts";
import { isRandom, type TwinItem, TwinTable, weightOf } from "../../model/twin-table.ts";
import type { TestRandom } from "../../support/random.ts";
import type { PlannedTable } from "./plan.ts";
import { type End, type Reading, type Rows, windowOf, wrongColumns, wrongReturns, wrongStrata } from "./reading.ts";
import type { Steps } from "./steps.ts";

export interface Pair {
  readonly plan: PlannedTable;
  readonly twin: TwinTable;
  /** Keys that were given, some of them of items that are gone. */
  readonly keys: number[];
}

interface Numbers {
  readonly data: ArrayLike<number>;
  readonly shape: readonly number[];
}

interface Transitions {
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

export class Draws {
  /** How episodes end with which steps. */
  readonly ends = new Map<number, End>();
  /** Keys of items that were created with columns of their own. */
  readonly own = new Map<string, Set<number>>();
  /** Tables that had items of a single step. */
  readonly singles = new Set<string>();
  readonly #steps: Steps;

  constructor(steps: Steps) {
    this.#steps = steps;
  }

  /** Draws as transitions, all of them or none. */
  view({ plan, twin }: Pair, table: Table<Spec>, random: TestRandom): void {
    if (twin.pending.length > 0 && isRandom(plan.remover)) return;
    const [n, gamma] = [1 + random.below(twin.live.length + 2), random.pick([0, 0.5, 1])];
    const k = random.pick([undefined, 1, 2]);
    let batch: Transitions;
    try {
      batch = table.transitions({ gamma, dtype: "f64", ...(k !== undefined && { n: k }) }).sample(n) as never;
    } catch (error) {
      const { code, name } = error as { code?: string; name: string };
      if (code === "OUT_OF_MEMORY") throw error;
      const single = this.singles.has(plan.name) || plan.rule?.length === 1 || twin.live.every((item) => item.length <= (k ?? 1));
      const few = plan.maxTimesSampled > 0 || plan.limiter.maxDiff < Number.MAX_VALUE || !twin.canSample();
      if (code === "EMPTY") same("a view of nothing", twin.live.length, 0);
      else if (code === "RATE_LIMITED" || code === "TOO_FEW" ? !few : !(name === "RangeError" || code === "SPEC_MISMATCH") || !single) throw error;
      return;
    }
    const windows = Array.from({ length: n }, (_, i): Rows => {
      same("the limiter lets a draw pass", twin.canSample(), true);
      const item = twin.live.find(({ key }) => key === batch.keys[i]) ?? twin.live.find((one) => one.key < 0 && one.first === batch.observation.data[i]);
      if (item === undefined) throw new Error(`a view gave key ${batch.keys[i]}, which is not live`);
      if (item.key < 0) (item as { key: number }).key = batch.keys[i] as number;
      twin.drawn(item);
      twin.settle();
      return item;
    });
    const columns = Object.fromEntries(["returns", "discounts", "steps", "terminated", "truncated"].map((name) => [name, (batch[name] as { data: [] }).data]));
    const nStep = { n: k ?? Number.POSITIVE_INFINITY, gamma, asked: false };
    const wrong = wrongReturns(columns, windows, nStep, this.ends);
    if (wrong !== undefined) throw new Error(`of a view, ${wrong}`);
    for (const [i, { first }] of windows.entries()) {
      same("observation", batch.observation.data[i], first);
      same("nextObservation", batch.nextObservation.data[i], first + Number(columns.steps?.[i]));
    }
  }

  compare({ plan, twin }: Pair, batch: Batch, { kind, n, reading }: { readonly kind: string; readonly n: number; readonly reading: Reading }): void {
    const distinct = kind === "distinct";
    const { count, info } = batch;
    const { among = Number.POSITIVE_INFINITY } = reading;
    const before = twin.live.slice(0, among);
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
      const oldest = distinct ? before : twin.live.slice(0, among);
      const rest = distinct ? before.filter((one) => !drawn.includes(one)) : oldest;
      const picked = isRandom(plan.sampler) ? undefined : TwinTable.pick(plan.sampler, rest) === item ? 1 : 0;
      const share = picked ?? TwinTable.share(plan.sampler, item, oldest);
      if (share === 0) throw new Error(`a draw gave key ${key}, which has no probability`);
      near("probability", info.probabilities[i] as number, share);
      same("priority", info.priorities[i], item.priority);
      same("table size", info.tableSizes[i], size);
      shares.push(share);
      const columns = reading.columns === undefined && this.own.get(plan.name)?.has(key) === true;
      windows.push(windowOf(item, { ...reading, cross: reading.cross ?? columns }, this.ends, firstOf(batch, i)));
      same("length", batch.lengths[i], windows[i]?.length);
      if (reading.columns === undefined) same("columns of its own", "root" in batch.steps, columns);
      drawn.push({ ...item });
      if (distinct) drawn[i] = item;
      twin.drawn(item);
      same("times sampled", info.timesSampled[i], item.timesSampled);
      if (!distinct) twin.settle();
    }
    const width = reading.length ?? Math.max(0, ...drawn.map((item) => item.length));
    if (count > 0) {
      const single = "root" in batch.steps || reading.columns !== undefined;
      const wrong = [
        single ? wrongColumns(batch.steps as never, windows, reading, this.ends) : this.#steps.wrong(batch.steps, windows, width),
        reading.nStep === undefined ? undefined : wrongReturns(batch.nStep as never, windows, { ...reading.nStep, asked: true }, this.ends),
        reading.stratified && count === n ? wrongStrata(drawn, shares, n) : undefined,
        reading.mask && !single ? wrongMask(batch.mask as Uint8Array, windows, width) : undefined,
      ].find((one) => one !== undefined);
      if (wrong !== undefined) throw new Error(`${wrong}, of ${JSON.stringify(reading)}`);
    }
    const positive = before.filter((item) => weightOf(plan.sampler, item.priority) > 0).length;
    const enough = distinct && count === (plan.sampler.kind === "prioritized" && positive > 0 ? positive : before.length);
    if (count < n && !enough && twin.canSample() && batch.blocked?.by !== "columns") throw new Error(`a draw of ${n} gave ${count}, and could have given more`);
    twin.settle();
  }
}

/** An item of a block: its key is seen here for the first time, and its first step says which it is. */
function unseen(twin: TwinTable, batch: Batch, i: number, key: number): TwinItem | undefined {
  const first = firstOf(batch, i);
  const item = twin.live.find((one) => one.key < 0 && one.first === first);
  if (item !== undefined) (item as { key: number }).key = key;
  return item;
}

/** The number of the first step that a draw gave. */
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
