/**
 * Compares loops over datasets with the guide, while other calls are made during the loops. Batches that were drawn ahead and never returned must not have
 * changed any item.
 */
import type { Spec, Table } from "../../../src/index.ts";
import { isRandom, type TwinTable, weightOf } from "../../model/twin-table.ts";
import type { TestRandom } from "../../support/random.ts";
import { type Asked, type AskedView, type Batch, type Draws, type Pair, same, type Transitions } from "./draws.ts";
import type { Ends } from "./lanes.ts";
import type { Loan, Loans } from "./loans.ts";
import type { PlannedTable } from "./plan.ts";

type AnyBatch = Batch & Transitions & { release(): void; [Symbol.dispose](): void };
type Result = IteratorResult<AnyBatch, undefined>;
interface Iterating {
  next(): Result | Promise<Result>;
  return(): unknown;
}
interface View {
  sample(n: number, options: object): AnyBatch;
  dataset(options: object): AnyDataset;
}
type AnyDataset = Iterable<AnyBatch> & AsyncIterable<AnyBatch>;

/** The state of a table at a moment, and the ends of episodes by then. */
interface Moment {
  readonly twin: TwinTable;
  readonly ends: Ends;
}

interface Loop {
  readonly pair: Pair;
  readonly iterator: Iterating;
  readonly view: View | undefined;
  readonly asked: Asked & AskedView;
  readonly waits: boolean;
  readonly timed: boolean;
  readonly recycle: boolean;
  readonly prefetch: number;
  readonly stop: AbortController;
  /** The state of the table after each call since the loop began, and the positions at which batches were requested. */
  readonly past: Moment[];
  readonly turns: number[];
  /** The batch that the body of the loop holds. */
  given: Loan | undefined;
  /** The result of a pending turn, or "waits". */
  turn: "none" | "waits" | { readonly result?: Result; readonly error?: unknown };
  /** Whether the last batch was short, so that the end is next. */
  short: boolean;
}

export class Loops {
  readonly #draws: Draws;
  readonly #loans: Loans;
  /** The open loops: at most one per table. */
  readonly #open = new Map<string, Loop>();

  /** Whether a loop with `prefetch` iterated over a table from which nothing may be drawn ahead. */
  wasted = false;

  constructor(draws: Draws, loans: Loans) {
    this.#draws = draws;
    this.#loans = loans;
  }

  /** Starts, continues or leaves a loop over a table. */
  async run(pair: Pair, table: Table<Spec>, random: TestRandom): Promise<void> {
    const loop = this.#open.get(pair.plan.name);
    if (loop === undefined) this.#begin(pair, table, random);
    else if (random.below(6) === 0) await this.#leave(loop, random);
    else if (loop.turn === "none") await this.#next(loop);
  }

  /** Returns the batch size of the open loop over a table. */
  batchSize(name: string): number | undefined {
    return this.#open.get(name)?.asked.n;
  }

  /** Borrows a batch from the view of an open loop. */
  lend(name: string, random: TestRandom): void {
    const loop = this.#open.get(name);
    if (loop?.view === undefined || loop.timed || !isPlain(loop.pair.plan) || !loop.pair.twin.canSample()) return;
    const n = random.pick([loop.asked.n, 1 + random.below(4)]);
    const batch = this.#viewed(loop, () => (loop.view as View).sample(n, { recycle: true }));
    if (batch === undefined) return;
    this.#draws.compareView(loop.pair, batch, { ...loop.asked, n, distinct: false });
    this.#loans.hold(batch);
  }

  /** Runs after each call, because pending batches may have arrived. */
  async settle(): Promise<void> {
    if (this.#open.size === 0) return;
    // Batches that are requested ahead are drawn in later turns.
    await turn();
    for (const loop of [...this.#open.values()]) {
      loop.past.push(this.#now(loop.pair));
      if (typeof loop.turn === "object") this.#came(loop);
      else if (loop.turn === "waits" && canCome(loop)) throw new Error(`a loop over ${loop.pair.plan.name} waits for what is there`);
    }
  }

  /** Drops the loops of a closed Replay. */
  drop(): void {
    for (const loop of this.#open.values()) this.#forget(loop);
    this.wasted = false;
  }

  #begin(pair: Pair, table: Table<Spec>, random: TestRandom): void {
    const { plan } = pair;
    if (plan.own) return;
    const plain = isPlain(plan);
    const distinct = plain && random.below(3) === 0;
    const [n, gamma, k] = [1 + random.below(5), random.pick([0, 0.5, 1]), random.pick([undefined, 1, 2])];
    const [waits, recycle, timed] = [random.below(5) > 0, random.below(2) === 0, !plain || random.below(3) === 0];
    const prefetch = waits ? random.pick([0, 1, 2, 2, 5]) : 0;
    const stop = new AbortController();
    const asked = { n, gamma, k, distinct, reading: random.below(3) === 0 ? { mask: true, length: 1 + random.below(4) } : {} };
    const isView = random.below(3) === 0;
    const options = { batchSize: n, prefetch, recycle, signal: stop.signal, ...(timed && { timeoutMs: 0 }), ...(distinct && { replacement: false }) };
    const loop = { pair, asked, waits, timed, recycle, prefetch, stop, past: [this.#now(pair)], turns: [], given: undefined, short: false };
    const begin = () => {
      const view = isView ? (table.transitions({ gamma, dtype: "f64", ...(k !== undefined && { n: k }) }) as unknown as View) : undefined;
      const dataset = (view?.dataset(options) ?? table.dataset({ ...options, ...asked.reading })) as AnyDataset;
      const iterator = waits ? dataset[Symbol.asyncIterator]() : dataset[Symbol.iterator]();
      this.#open.set(plan.name, { ...loop, view, iterator: iterator as Iterating, turn: "none" });
    };
    this.#mayRefuse(pair, k, isView, begin);
  }

  async #next(loop: Loop): Promise<void> {
    const { pair, iterator, waits, timed } = loop;
    if (pair.twin.pending.length > 0 && isRandom(pair.plan.remover)) return;
    // The loop releases the batch, even if its body has released it already.
    if (loop.given !== undefined) this.#loans.end(loop.given);
    loop.given = undefined;
    loop.turns.push(loop.past.length - 1);
    loop.turn = "waits";
    const came = (how: Exclude<Loop["turn"], string>) => {
      loop.turn = how;
    };
    if (!waits) {
      try {
        came({ result: iterator.next() as Result });
      } catch (error) {
        came({ error });
      }
      return;
    }
    const ended = (iterator.next() as Promise<Result>).then(
      (result) => came({ result }),
      (error) => came({ error }),
    );
    if (timed) await ended;
  }

  #came(loop: Loop): void {
    const { result, error } = loop.turn as { readonly result?: Result; readonly error?: unknown };
    loop.turn = "none";
    if (error !== undefined) this.#failed(loop, error as Error);
    else if (result?.done !== false) this.#ended(loop);
    else this.#gave(loop, result.value);
  }

  #gave(loop: Loop, batch: AnyBatch): void {
    const { pair, asked, waits, timed, recycle, prefetch } = loop;
    this.wasted ||= prefetch > 0 && !isPlain(pair.plan);
    if (loop.short) throw new Error("a loop went on after a batch that is short");
    const count = loop.view === undefined ? batch.count : batch.keys.length;
    loop.short = count < asked.n;
    if (loop.short && (!waits || !timed || isPlain(pair.plan))) throw new Error(`a loop gave ${count} of ${asked.n}`);
    this.#compare(loop, batch, count);
    if (!recycle) this.#loans.keep(batch);
    else loop.given = this.#loans.hold(batch);
  }

  /** Compares a batch that was drawn after its request and counts from now on. */
  #compare(loop: Loop, batch: AnyBatch, count: number): void {
    const { pair, asked, view, prefetch, waits, past, turns } = loop;
    const compare = (to: Pair, ahead: boolean) => {
      if (view === undefined) this.#draws.compare(to, batch, { ...asked, ahead });
      else this.#draws.compareView(to, batch, { ...asked, n: count });
    };
    if (!isPlain(pair.plan)) {
      compare(pair, false);
      return;
    }
    const { twin } = pair;
    const { ends } = this.#draws;
    const from = turns[Math.max(turns.length - 1 - prefetch, 0)] as number;
    const moments = waits ? past.slice(from).reverse() : [this.#now(pair)];
    let wrong: unknown;
    for (const moment of moments) {
      const copy = moment.twin.copy();
      const before = copy.live.map(({ key }) => key);
      this.#draws.ends = moment.ends;
      try {
        compare({ ...pair, twin: copy }, true);
      } catch (error) {
        wrong ??= error;
        continue;
      } finally {
        this.#draws.ends = ends;
      }
      for (const [i, { key }] of copy.live.entries()) {
        const item = twin.find(before[i] as number);
        if (item !== undefined) (item as { key: number }).key = key;
      }
      for (const [i, key] of Array.from((batch.keys ?? batch.info.keys) as ArrayLike<number>)
        .slice(0, count)
        .entries()) {
        twin.counted(key);
        const item = twin.live.find((one) => one.key === key);
        if (item !== undefined && view === undefined) same("times sampled, by now", batch.info.timesSampled[i], item.timesSampled);
      }
      return;
    }
    throw new Error(`a loop gave what was at no moment there to draw: ${(wrong as Error).stack}`);
  }

  #now({ twin }: Pair): Moment {
    return { twin: twin.copy(), ends: this.#draws.ends.copy() };
  }

  #ended(loop: Loop): void {
    const { pair, timed, waits, past, turns, prefetch } = loop;
    if (!loop.short && isPlain(pair.plan)) {
      const since = past.slice(turns[Math.max(turns.length - 1 - prefetch, 0)] as number);
      if ((waits && !timed) || since.every(({ twin }) => comes(loop, twin))) throw new Error(`a loop over ${pair.plan.name} ended, though there was more`);
    } else if (!loop.short && waits && pair.twin.canSample()) throw new Error(`a loop over ${pair.plan.name} ended, though there was more`);
    loop.short = false;
  }

  #failed(loop: Loop, error: Error & { readonly code?: string; readonly batch?: AnyBatch }): void {
    const { pair, asked, view } = loop;
    this.#forget(loop);
    if (error.batch !== undefined) this.#compare(loop, error.batch, view === undefined ? error.batch.count : error.batch.keys.length);
    const stuck = error.code === "RATE_LIMITED" && !pair.twin.canInsert();
    // The limits never allow a batch of this size.
    const never = error.name === "RangeError" && /never allows? more draws/.test(error.message);
    if (stuck || never) return;
    this.#mayRefuse(pair, asked.k, view !== undefined, () => {
      throw error;
    });
  }

  async #leave(loop: Loop, random: TestRandom): Promise<void> {
    const { iterator, stop, waits } = loop;
    const pending = loop.turn === "waits";
    this.#forget(loop);
    if (random.below(3) > 0) {
      // Leaves the loop, like `break` or an error in its body.
      await iterator.return();
      return;
    }
    const why = new Error("the loop is left");
    stop.abort(why);
    let found: unknown = why;
    if (!pending) {
      try {
        const result = waits ? await iterator.next() : iterator.next();
        found = (result as Result).value;
      } catch (error) {
        found = error;
      }
    }
    same("why a loop ended", found, why);
  }

  #forget(loop: Loop): void {
    this.#open.delete(loop.pair.plan.name);
    // Its holder no longer reads the batch.
    if (loop.given !== undefined) this.#loans.end(loop.given);
    loop.given = undefined;
  }

  #viewed<T>({ pair, asked }: Loop, work: () => T): T | undefined {
    let made: T | undefined;
    this.#mayRefuse(pair, asked.k, true, () => {
      made = work();
    });
    return made;
  }

  #mayRefuse(pair: Pair, k: number | undefined, isView: boolean, work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!isView) throw error;
      this.#draws.refusedView(pair, k, error as Error);
    }
  }
}

/** Returns whether draws change only counts that nothing depends on, so that they may be made ahead. */
export function isPlain({ maxTimesSampled, limiter }: PlannedTable): boolean {
  return maxTimesSampled === 0 && limiter.maxDiff === Number.MAX_VALUE && limiter.minDiff === -Number.MAX_VALUE;
}

/** Returns whether a whole batch can be drawn from a plain table. */
function comes({ pair, asked }: Loop, { live }: TwinTable): boolean {
  const { sampler, limiter } = pair.plan;
  const positive = live.filter((item) => weightOf(sampler, item.priority) > 0).length;
  const items = positive > 0 ? positive : live.length;
  return live.length >= Math.max(limiter.minSize, 1) && (!asked.distinct || items >= asked.n);
}

function canCome(loop: Loop): boolean {
  return isPlain(loop.pair.plan) && comes(loop, loop.pair.twin);
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
