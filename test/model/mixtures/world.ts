/**
 * Two pairs of Replays with the same seeds and calls: a mixture draws from one pair, each source separately from the other, and the twin assembles the batch.
 * Random calls happen in between: steps of several lanes, ends of episodes, items, priorities, deletions, snapshots.
 */
import {
  f16,
  f32,
  fifo,
  i32,
  type Mixture,
  minSize,
  mixture,
  packed,
  prioritized,
  type RateLimiter,
  Replay,
  type Selector,
  sampleToInsertRatio,
  shared,
  type Table,
  type Transitions,
  text,
  u8,
  uniform,
  type Writer,
} from "../../../src/index.ts";
import { broken } from "../../support/health.ts";
import { TestRandom } from "../../support/random.ts";
import { expectOurs } from "../../support/refused.ts";
import { ShareTwin } from "./twin.ts";

const LANES = 2;
const TABLES = ["a", "b"] as const;
const spec = () => ({
  observation: { flat: f32(3), word: text({ maxBytes: 6 }) },
  action: i32(),
  reward: f32(),
  half: f16(2),
  wide: u8(300),
  frames: packed("frames", u8(256), 2),
  told: shared("told", u8(4)),
});

type AnyReplay = Replay<ReturnType<typeof spec>, string>;
type Source = { readonly replay: number; readonly table: string; readonly own: { among?: number; replacement?: boolean; stratified?: boolean } };
type Options = Record<string, unknown>;
/** A batch of either kind as its columns, by path. */
type Flat = Map<string, ArrayLike<number | string>>;

export class MixtureWorld {
  readonly #random: TestRandom;
  readonly #kind: "items" | "transitions" | "sequences";
  readonly #isItems: boolean;
  readonly #sources: readonly Source[];
  readonly #shares: (number | ((draw: number) => number))[];
  readonly #exact: boolean;
  readonly #fallback: "others" | undefined;
  readonly #seed: number;
  readonly #dtype: "f32" | "f64";
  readonly #twin: ShareTwin;
  /** The Replays that the mixture draws from, and the Replays for separate draws. */
  #pairs: AnyReplay[][];
  #writers: Writer[][];
  #mix!: Mixture;
  #views: (Table | Transitions)[] = [];
  #into: object | undefined;
  #intoRows = 0;
  #intoKey = "";
  #lent: { release(): void } | undefined;
  #step = 0;
  draws = 0;
  refused = 0;

  constructor(seed: number) {
    const random = new TestRandom(seed);
    this.#random = random;
    this.#seed = random.below(1000);
    this.#kind = random.pick(["items", "transitions", "sequences"] as const);
    this.#isItems = this.#kind === "items";
    this.#dtype = random.pick(["f32", "f64"] as const);
    this.#exact = random.below(3) > 0;
    this.#fallback = random.below(2) === 0 ? "others" : undefined;
    const plans = Array.from({ length: 1 + random.below(2) }, () => ({ seed: random.below(1000), tables: tablesOf(random) }));
    this.#pairs = [0, 1].map(() => plans.map(({ seed, tables }) => new Replay({ spec: spec(), tables, seed, logger: null }) as unknown as AnyReplay));
    const lengths = Object.fromEntries(TABLES.map((table) => [table, 2 + random.below(4)]));
    this.#writers = this.#pairs.map((replays) =>
      replays.map((replay) =>
        replay.writer({
          name: "w",
          lanes: LANES,
          autoreset: "disabled",
          items: TABLES.map((table) => ({ table, nStep: (lengths[table] as number) - 1 })) as never,
        }),
      ),
    );
    this.#sources = Array.from({ length: 1 + random.below(3) }, () => {
      const replay = random.below(plans.length);
      const table = random.pick(TABLES);
      const own = random.below(4) === 0 ? { replacement: random.below(2) === 0 } : random.below(6) === 0 ? { among: 1 + random.below(5) } : {};
      return { replay, table, own };
    });
    this.#shares = this.#sources.map((_, i) => {
      const share = 1 + random.below(5);
      if (random.below(3) > 0) return share / 4;
      // The first source always contributes.
      return (draw: number) => (draw % 7 === 0 && i > 0 ? 0 : share + (draw % 3) / 2);
    });
    this.#twin = new ShareTwin(this.#shares, this.#exact, this.#seed);
    this.#make();
  }

  dispose(): void {
    for (const replays of this.#pairs) for (const replay of replays) replay[Symbol.dispose]();
  }

  /** Makes one random call. @throws Error if the mixture differs from the twin */
  async run(): Promise<void> {
    const random = this.#random;
    const what = random.below(10);
    if (what < 4) this.#append();
    else if (what < 5) this.#change();
    else if (random.below(40) === 0) await this.#restore();
    else this.#sample();
  }

  #make(state?: ReturnType<Mixture["state"]>): void {
    const viewOf = (pair: number) =>
      this.#sources.map(({ replay, table }, i) => {
        const of = (this.#pairs[pair] as AnyReplay[])[replay]?.table(table as never) as unknown as Table;
        // The sources may differ in gamma and n. Separate draws use f64.
        const options = { gamma: 0.5 + i / 10, dtype: pair === 0 ? this.#dtype : "f64" } as const;
        if (this.#kind === "items") return of;
        return (this.#kind === "transitions" ? of.transitions(options as never) : of.sequences({ ...options, n: 1 + i } as never)) as unknown as Transitions;
      });
    this.#views = viewOf(1);
    const sources = viewOf(0).map((from, i) => ({ from, share: this.#shares[i] as number, ...this.#sources[i]?.own }));
    const options = { exact: this.#exact, seed: this.#seed, ...(this.#fallback && { fallback: this.#fallback }) };
    this.#mix = mixture(sources, { ...options, ...(state && { state: JSON.parse(JSON.stringify(state)) }) }) as unknown as Mixture;
    this.#into = undefined;
  }

  #each(call: (replay: AnyReplay, writer: Writer, r: number) => void): void {
    for (const [p, replays] of this.#pairs.entries()) for (const [r, replay] of replays.entries()) call(replay, this.#writers[p]?.[r] as Writer, r);
  }

  #append(): void {
    const random = this.#random;
    const steps = 1 + random.below(6);
    const r = random.below((this.#pairs[0] as AnyReplay[]).length);
    for (let k = 0; k < steps; k++) {
      const at = this.#step++;
      const columns = lanesOf(Array.from({ length: LANES }, (_, lane) => stepOf(at * LANES + lane)));
      const ended = Array.from({ length: LANES }, () => random.below(8));
      let refused = 0;
      this.#each((_, writer, of) => {
        if (of !== r) return;
        try {
          writer.append(columns as never);
          for (const [lane, end] of ended.entries())
            if (end === 0) writer.endEpisode({ lane, final: { observation: finalOf(at) }, terminated: at % 2 === 0 } as never);
        } catch (error) {
          // The limiter has no room in either pair.
          expectOurs(error);
          refused++;
        }
      });
      if (refused % 2 === 1) throw new Error("only one of two Replays refused a step");
    }
  }

  #change(): void {
    const random = this.#random;
    const { replay, table } = random.pick(this.#sources);
    const [one, other] = [0, 1].map((p) => (this.#pairs[p] as AnyReplay[])[replay]?.table(table as never) as unknown as Table);
    const newest = this.#step;
    const keys = Array.from({ length: 1 + random.below(3) }, () => random.below(2 * newest + 10));
    const priorities = keys.map(() => random.below(5) / 2);
    const isDeletion = random.below(2) === 0;
    const [a, b] = [one, other].map((of) => (isDeletion ? (of as Table).delete(keys) : (of as Table).updatePriorities(keys, priorities)));
    if (a !== b) throw new Error(`${a} and ${b} items were changed`);
  }

  /** Saves and loads both pairs, and passes the mixture's state through JSON. */
  async #restore(): Promise<void> {
    const state = this.#mix.state();
    for (const [p, replays] of this.#pairs.entries())
      for (const [r, replay] of replays.entries()) {
        const bytes = [...replay.snapshot()];
        replay[Symbol.dispose]();
        const loaded = (await Replay.restore(bytes, { logger: null } as never)) as unknown as AnyReplay;
        (this.#pairs[p] as AnyReplay[])[r] = loaded;
        (this.#writers[p] as Writer[])[r] = loaded.writers[0] as Writer;
      }
    this.#lent = undefined;
    this.#make(state);
  }

  #optionsOf(): Options {
    const random = this.#random;
    return {
      ...(random.below(2) === 0 && { beta: random.below(9) / 8 }),
      ...(random.below(3) === 0 && { normalize: random.pick(["batch", "none"]) }),
      ...(random.below(6) === 0 && { replacement: false }),
      ...(this.#isItems && random.below(3) === 0 && { mask: true }),
      ...(this.#isItems && random.below(3) === 0 && { length: 2 + random.below(5), offset: random.pick(["start", "end", "uniform"]) }),
      ...(this.#isItems && random.below(4) === 0 && { nStep: { n: 1, gamma: 0.5, reward: "reward" } }),
      ...(this.#isItems && random.below(4) === 0 && { columns: COLUMNS }),
    };
  }

  #sample(): void {
    const random = this.#random;
    const n = random.pick([1, 2, 3, 7, 8, 16, 31]);
    const options = this.#optionsOf();
    const key = JSON.stringify([n, options]);
    const isAgain = this.#into !== undefined && this.#intoKey === key && this.#intoRows === n;
    const how = random.below(3) === 0 && isAgain ? { into: this.#into } : random.below(3) === 0 ? { recycle: true } : {};
    if (this.#lent !== undefined && random.below(2) === 0) {
      this.#lent.release();
      this.#lent = undefined;
    }
    const isIn = (i: number) => this.#fallback === undefined || this.#sizeOf(i) >= this.#limitsOf(i).minSize;
    const values = this.#twin.values(isIn);
    const split = values.some((share) => share > 0) ? this.#twin.split(n, values) : undefined;
    const isReady = split !== undefined && this.#isReady(split.rows, options);
    let batch!: { count: number; release(): void };
    const call = () => {
      batch = this.#mix.sample(n, { ...options, ...how } as never) as unknown as typeof batch;
    };
    // The twin cannot determine whether `among` reaches the oldest items.
    const mayFail = this.#sources.some(({ own }, i) => own.among !== undefined && (split?.rows[i] ?? 0) > 0);
    let saysReady: boolean | undefined;
    const unready = refusalOf(() => {
      saysReady = this.#mix.ready(n, options as never);
    }) as { code?: string } | undefined;
    if (unready === undefined ? saysReady !== isReady : !mayFail || unready.code !== "UNSUPPORTED")
      throw new Error(`ready must be ${isReady}`, { cause: unready });
    if (!isReady || mayFail) {
      const before = this.#pairs[0]?.map((replay) => Buffer.concat([...replay.snapshot()]));
      const error = refusalOf(call);
      if (error !== undefined) {
        if (isReady && (error as { code?: string }).code !== "UNSUPPORTED") throw error;
        if (isReady && unready === undefined) throw new Error("ready must see what sample refuses", { cause: error });
        for (const [r, replay] of (this.#pairs[0] as AnyReplay[]).entries())
          if (!before?.[r]?.equals(Buffer.concat([...replay.snapshot()]))) throw new Error("a refused draw changed a source");
        this.refused++;
        return;
      }
      if (!isReady) throw new Error("a draw must be refused");
    }
    if (!mayFail) call();
    this.#compare(batch, split.rows, options, n, "into" in how);
    split.commit();
    if (!this.#twin.matches(this.#mix.state())) throw new Error(`state is ${JSON.stringify(this.#mix.state())}`);
    this.#update(batch, n);
    this.draws++;
    if ("recycle" in how) this.#lent = batch;
    else if (!("into" in how) && random.below(2) === 0) [this.#into, this.#intoRows, this.#intoKey] = [batch, n, key];
    for (const replays of this.#pairs) for (const replay of replays) if (broken(replay).length > 0) throw new Error(broken(replay).join());
  }

  /** Draws each part separately. The batch must be the concatenation of these parts. */
  #compare(batch: object, rows: readonly number[], options: Options, n: number, isRefilled: boolean): void {
    const drawn: { i: number; count: number; columns: Flat }[] = [];
    const isDivided = (options.normalize ?? "batch") === "batch";
    for (const [i, count] of rows.entries()) {
      if (count === 0) continue;
      const own = { ...options, ...this.#sources[i]?.own, ...(options.beta !== undefined && isDivided && { normalize: "none" }) };
      const part = this.#viewOf(i, batch, isRefilled).sample(count, own as never) as { count: number };
      if (part.count !== count) throw new Error(`source ${i} gave ${part.count} of ${count}`);
      drawn.push({ i, count, columns: flat(part, count) });
    }
    const own = flat(batch, n);
    const sourceName = this.#isItems ? "info.source" : "source.data";
    const expected = new Map<string, (number | string)[]>();
    const names = [...new Set(drawn.flatMap(({ columns }) => [...columns.keys()]))];
    for (const name of names) {
      const width = Math.max(...drawn.map(({ columns, count }) => (columns.get(name) as ArrayLike<number>).length / count));
      const values = drawn.flatMap(({ columns, count }) => {
        const of = Array.from(columns.get(name) as ArrayLike<number | string>);
        const each = of.length / count;
        const padding = new Array<number | string>(width - each).fill(typeof of[0] === "string" ? "" : 0);
        return Array.from({ length: count }, (_, k) => [...of.slice(k * each, (k + 1) * each), ...padding]).flat();
      });
      const isWeights = /(^|\.)weights/.test(name);
      const largest = isWeights && isDivided ? Math.max(...(values as number[])) : 1;
      const isNarrow = !this.#isItems && this.#dtype === "f32" && /^(weights|returns|discounts)/.test(name);
      expected.set(
        name,
        values.map((value) => (isWeights ? (value as number) / largest : value)).map((value) => (isNarrow ? Math.fround(value as number) : value)),
      );
    }
    expected.set(
      sourceName,
      drawn.flatMap(({ i, count }) => new Array<number>(count).fill(i)),
    );
    for (const [name, values] of expected) {
      const seen = Array.from(own.get(name) ?? []);
      if (seen.length !== values.length || seen.some((value, k) => !Object.is(value, values[k])))
        throw new Error(`${name} is ${seen}, and must be ${values} (rows ${rows}, ${JSON.stringify(options)})`);
    }
    for (const name of own.keys()) if (!expected.has(name)) throw new Error(`the batch has ${name} as well`);
  }

  /** Returns the view for the separate draw of a source. Windows of sequences are as long as those of a refilled batch. */
  #viewOf(i: number, batch: object, isRefilled: boolean): Table {
    if (this.#kind !== "sequences" || !isRefilled) return this.#views[i] as Table;
    const { shape } = (batch as { readonly mask: { readonly shape: readonly number[] } }).mask;
    return this.#tableOf(i).sequences({ gamma: 0.5 + i / 10, dtype: "f64", n: 1 + i, length: shape[1] } as never) as unknown as Table;
  }

  /** Updates the priorities in the tables of the items. */
  #update(batch: object, n: number): void {
    const random = this.#random;
    if (random.below(2) === 0) return;
    const priorities = Array.from({ length: n }, () => random.below(9) / 4);
    const columns = flat(batch, n);
    const keys = Array.from(columns.get(this.#isItems ? "info.keys" : "keys") as ArrayLike<number>);
    const source = columns.get(this.#isItems ? "info.source" : "source.data") as ArrayLike<number>;
    const found = this.#mix.updatePriorities(batch, priorities);
    let expected = 0;
    for (let i = 0; i < this.#sources.length; i++) {
      const { replay, table } = this.#sources[i] as Source;
      const of = (this.#pairs[1] as AnyReplay[])[replay]?.table(table as never) as unknown as Table;
      const { sampler, remover } = of.options;
      if (![sampler.kind, remover.kind].some((kind) => kind === "prioritized")) continue;
      const mine = keys.flatMap((_key, k) => (source[k] === i ? [k] : []));
      if (mine.length > 0)
        expected += of.updatePriorities(
          mine.map((k) => keys[k] as number),
          mine.map((k) => priorities[k] as number),
        );
    }
    if (found !== expected) throw new Error(`${found} priorities were set, not ${expected}`);
  }

  #tableOf(i: number): Table {
    const { replay, table } = this.#sources[i] as Source;
    return (this.#pairs[1] as AnyReplay[])[replay]?.table(table as never) as unknown as Table;
  }

  #sizeOf(i: number): number {
    return this.#tableOf(i).size;
  }

  #limitsOf(i: number): RateLimiter {
    return this.#tableOf(i).options.rateLimiter;
  }

  #isReady(rows: readonly number[], options: Options): boolean {
    const together = new Map<Table, { rows: number; sources: number; distinct: boolean }>();
    for (const [i, n] of rows.entries()) {
      if (n === 0) continue;
      const { own } = this.#sources[i] as Source;
      const replacement = own.replacement ?? (options.replacement as boolean | undefined) ?? true;
      const table = this.#tableOf(i);
      if (table.size === 0 || !table.ready(n, { replacement, ...(own.among !== undefined && { among: own.among }) })) return false;
      const before = together.get(table) ?? { rows: 0, sources: 0, distinct: false };
      together.set(table, {
        rows: before.rows + n,
        sources: before.sources + 1,
        distinct: before.distinct || (!replacement && table.options.maxTimesSampled < 1e9),
      });
    }
    return [...together].every(
      ([table, { rows, sources, distinct }]) => sources === 1 || (table.ready(rows) && (!distinct || table.ready(rows, { replacement: false }))),
    );
  }
}

const COLUMNS = {
  seen: { leaf: "observation.flat", at: 0 },
  wide: { leaf: "wide", at: -1 },
  rewards: { leaf: "reward" },
  words: { leaf: "observation.word", from: 0, to: 1 },
};

function tablesOf(random: TestRandom) {
  return Object.fromEntries(
    TABLES.map((name) => {
      const sampler: Selector = random.pick([uniform(), prioritized(0.7), prioritized(1), fifo()]);
      const rateLimiter = random.below(4) === 0 ? sampleToInsertRatio(3, 2, [-40, 40]) : minSize(1 + random.below(6));
      const maxTimesSampled = random.below(5) === 0 ? { maxTimesSampled: 1 + random.below(3) } : {};
      return [name, { maxSize: 8 + random.below(40), sampler, rateLimiter, maxPending: 100_000, ...maxTimesSampled }];
    }),
  );
}

function stepOf(id: number) {
  return {
    ...finalStepOf(id),
    action: id,
    reward: (id % 11) / 4,
    half: [id % 7, -1],
    wide: new Uint8Array(300).fill(id),
    frames: new Uint8Array(512).fill(id >> 2),
    told: [id % 3, 0, 0, 1],
  };
}
/** Combines the steps of the lanes into leaves with a lane dimension. */
function lanesOf(steps: readonly ReturnType<typeof stepOf>[]) {
  const leaf = <T>(of: (step: ReturnType<typeof stepOf>) => T) => steps.map(of);
  return {
    observation: { flat: leaf((step) => step.observation.flat), word: leaf((step) => step.observation.word) },
    ...Object.fromEntries(
      (["action", "reward", "half", "wide", "frames", "told"] as const).map((name) => [
        name,
        leaf((step) => (Array.isArray(step[name]) || typeof step[name] === "number" ? step[name] : Array.from(step[name] as Uint8Array))),
      ]),
    ),
  };
}
const finalOf = (id: number) => ({ flat: [id, -id, 0.5], word: `f${id % 1000}` });
const finalStepOf = (id: number) => ({ observation: { flat: [id, id / 2, -1], word: id % 5 === 0 ? "" : `w${id % 1000}` } });

/** Returns every array of the first n items in a batch, by path. */
function flat(batch: object, n: number): Flat {
  const found: Flat = new Map();
  const rows = arrayLength(batch);
  const walk = (value: unknown, path: string[]) => {
    if (ArrayBuffer.isView(value) || (Array.isArray(value) && path.at(-1) === "data")) {
      const array = value as Float32Array;
      found.set(path.join("."), array.slice(0, (array.length / rows) * n));
    } else if (typeof value === "object" && value !== null) for (const [key, part] of entriesOf(value)) if (key !== "shape") walk(part, [...path, key]);
  };
  walk(batch, []);
  return found;
}

function entriesOf(value: object): [string, unknown][] {
  const names = [];
  for (const name in value) names.push(name);
  return names
    .filter((name) => !["detached", "toArray", "release", "blocked", "count"].includes(name))
    .map((name) => [name, (value as Record<string, unknown>)[name]]);
}

/** Returns the error of a rejected call. */
function refusalOf(call: () => void): Error | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    expectOurs(error);
    return error as Error;
  }
}

const arrayLength = (batch: object) => ((batch as { info?: { keys: Float64Array } }).info?.keys ?? (batch as { keys: Float64Array }).keys).length;
