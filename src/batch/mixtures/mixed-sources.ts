/** Manages the sources of a mixture: whether each source can provide its share of a batch now, and the waits until all sources can. */

import { DISTINCT, NEWEST } from "../../base/abi.ts";
import { finite, mustBe, ReplayError, show } from "../../base/error.ts";
import { checkSignal, type WaitOptions } from "../../base/wait.ts";
import { warnIgnoredPriorities } from "../../base/warnings.ts";
import type { Engine } from "../../memory/engine.ts";
import type { ParsedOptions, SampleOptions } from "../options.ts";
import { Part } from "../part-buffer.ts";
import { emptyTable, notReady } from "../refused-draws.ts";
import type { Sampler } from "../sampler.ts";
import type { Draws } from "../waiting.ts";
import { PartOptions, type SourceOptions } from "./part-options.ts";
import type { Shares } from "./shares.ts";

/** A source of a mixture, ready to draw from. */
export interface Source {
  readonly draws: Draws<AnyBatch>;
  readonly sampler: Sampler;
  readonly part: Part;
  /** A part of a batch of one row, which `ready` uses. */
  readonly probe: Part;
  readonly own: SourceOptions;
  /** The options of the source's next draw. */
  readonly options: PartOptions;
  /** Whether another source draws from the same table. */
  readonly isRepeated: boolean;
}

export interface AnyBatch {
  count: number;
  release?(): void;
}

/**
 * The policy for a source with fewer items than the `minSize` of its rate limiter. With "others", the other sources provide its rows. With undefined, the draw
 * throws an error.
 */
export type Fallback = "others" | undefined;

export class MixedSources {
  readonly list: readonly Source[];
  readonly shares: Shares;
  /** The Replays of the sources, without duplicates. */
  readonly #engines: readonly Engine[];
  readonly #fallback: Fallback;

  constructor(sources: readonly { readonly draws: Draws<AnyBatch>; readonly own: SourceOptions }[], shares: Shares, fallback: Fallback) {
    this.list = sources.map(({ draws, own }) => {
      const part = new Part();
      const probe = new Part();
      const isRepeated = sources.filter((other) => other.draws.table === draws.table).length > 1;
      part.isSure = !isRepeated;
      probe.isSure = !isRepeated;
      return { draws, own, sampler: draws.sampler.copy() as unknown as Sampler, part, probe, options: new PartOptions(part), isRepeated };
    });
    this.shares = shares;
    this.#engines = [...new Set(sources.map(({ draws }) => draws.table.engine))];
    this.#fallback = fallback;
  }

  get names(): string {
    return this.list.map(({ draws }) => show(draws.table.name)).join(", ");
  }

  /** Checks that calls are allowed. @throws ReplayError CLOSED if a Replay is closed, OUT_OF_TURN if another call to a Replay is reading its arguments */
  open(): void {
    for (const engine of this.#engines) engine.open();
  }

  /** Rejects calls that may change a Replay, while one of the Replays is closed or busy. */
  begin(): void {
    for (let i = 0; i < this.#engines.length; i++) (this.#engines[i] as Engine).begin();
  }

  lock(locked: boolean): void {
    for (let i = 0; i < this.#engines.length; i++) (this.#engines[i] as Engine).locked = locked;
  }

  /** Notifies the Replays that a draw has changed them. */
  changed(): void {
    for (let i = 0; i < this.#engines.length; i++) (this.#engines[i] as Engine).changed();
  }

  /** Whether all of the tables ignore priorities. */
  get ignorePriorities(): boolean {
    return this.list.every(({ draws }) => draws.table.core.ignoresPriorities);
  }

  warnIgnored(call: "beta" | "updatePriorities"): void {
    const { engine, name, core } = (this.list[0] as Source).draws.table;
    warnIgnoredPriorities(engine.warnings, name, core, call);
  }

  of(source: ArrayLike<number>, row: number): Source {
    const found = this.list[source[row] as number];
    // The message is built only if there is an error.
    if (found === undefined) throw mustBe(RangeError, `the source of row ${row}`, `an integer in 0 … ${this.list.length - 1}`, source[row]);
    return found;
  }

  /**
   * Reads the shares of a draw of n rows, and divides the rows among the sources. @param options of the call @returns the source that cannot provide its share
   * now, with the error; undefined if all sources can
   */
  prepare(n: number, options: ParsedOptions): { readonly source: number; readonly error: Error } | undefined {
    const { list: sources, shares } = this;
    shares.read();
    const empty = this.#leaveOut();
    if (empty >= 0) return { source: empty, error: this.#errorOf(empty, emptyOf(sources[empty] as Source)) };
    shares.split(n);
    for (let i = 0; i < sources.length; i++) {
      if (shares.rows[i] === 0) continue;
      const { sampler, draws, own, options: of } = sources[i] as Source;
      sampler.options.read(shares.rows[i] as number, of.take(options, own) as unknown as SampleOptions);
      sampler.options.resolve(draws.table.core);
      sampler.options.beta[0] = options.beta[0] as number;
    }
    for (let i = 0; i < sources.length; i++) {
      if (shares.rows[i] === 0) continue;
      const error = this.#lacking(i);
      if (error !== undefined) return { source: i, error };
    }
    return undefined;
  }

  /**
   * If there is a fallback, excludes the sources with too few items for their rate limiter. Returns the first of these sources if no source remains; otherwise
   * -1.
   */
  #leaveOut(): number {
    if (this.#fallback === undefined) return -1;
    let missing = -1;
    let has = false;
    for (let i = 0; i < this.list.length; i++) {
      if (!this.shares.has(i)) continue;
      const { core, limits } = (this.list[i] as Source).draws.table;
      if (core.size >= limits.rateLimiter.minSize) has = true;
      else {
        this.shares.leaveOut(i);
        if (missing < 0) missing = i;
      }
    }
    return has ? -1 : missing;
  }

  /** Returns the error of a source that cannot provide its rows now; undefined for other sources. */
  #lacking(i: number): Error | undefined {
    const { sampler, draws, isRepeated } = this.list[i] as Source;
    const { table } = draws;
    const { n, among, flags } = sampler.options;
    const how = flags & (DISTINCT | NEWEST);
    if (table.core.size === 0) return this.#errorOf(i, emptyTable(table, "nStep"));
    if (table.core.guaranteedDraws(n, how, among) < n) return this.#errorOf(i, notReady(table, n, how, among));
    return isRepeated ? this.#lackingTogether(i) : undefined;
  }

  /** Returns the error if all sources that share this source's table cannot provide their rows together; undefined if they can. */
  #lackingTogether(i: number): Error | undefined {
    const { table } = (this.list[i] as Source).draws;
    let n = 0;
    let distinct = 0;
    let sources = 0;
    for (let k = 0; k < this.list.length; k++) {
      const { draws, sampler } = this.list[k] as Source;
      if (draws.table !== table || this.shares.rows[k] === 0) continue;
      sources++;
      n += sampler.options.n;
      // Items that the draws of one source remove are not available to other sources.
      if (table.limits.maxTimesSampled <= 0xffffffff) distinct |= sampler.options.flags & DISTINCT;
    }
    if (sources === 1) return undefined;
    // Draws of any n items are checked first, then draws of n distinct items.
    for (let how = 0; how <= distinct; how += DISTINCT) if (table.core.guaranteedDraws(n, how, 0) < n) return this.#errorOf(i, notReady(table, n, how, 0));
    return undefined;
  }

  #errorOf(i: number, error: ReplayError): ReplayError {
    const remedy = error.code === "EMPTY" && this.#fallback === undefined ? ', or set fallback: "others"' : "";
    return new ReplayError(error.code, `source ${i} of the mixture: ${error.message}${remedy}`);
  }

  /**
   * Checks that a source may be able to provide its rows later. @throws RangeError if a source can never provide its rows · ReplayError RATE_LIMITED if its
   * rate limiter also blocks inserts
   */
  checkComing(i: number, n: number): void {
    const { draws, sampler } = this.list[i] as Source;
    const { table } = draws;
    if (this.shares.rows[i] !== 0) draws.check(sampler.options.n, { replacement: sampler.options.replacement }, true);
    if (table.core.canInsert(1)) return;
    const why = `its rate limiter blocks inserts until items are drawn, and allows fewer draws than its share of ${n}`;
    throw new ReplayError("RATE_LIMITED", `source ${i} of the mixture: table ${show(table.name)} cannot provide its share, because ${why}. Sample fewer items`);
  }

  /** Returns the length, in steps, of the longest item that a source may draw. */
  longest(): number {
    const { list: sources, shares } = this;
    let longest = 0;
    for (let i = 0; i < sources.length; i++)
      if (shares.rows[i] !== 0) longest = Math.max(longest, (sources[i] as Source).sampler.longest(!(sources[i] as Source).isRepeated));
    return longest;
  }

  /**
   * Checks the option `among` of a source. @throws ReplayError UNSUPPORTED if several sources draw from a table with `maxTimesSampled`, and one of them has the
   * option `among`
   */
  checkAmong(i: number): void {
    const { sampler, draws, isRepeated } = this.list[i] as Source;
    if (isRepeated && sampler.options.among !== 0 && draws.table.limits.maxTimesSampled <= 0xffffffff) throw noAmong(draws.table.name);
  }

  /**
   * Returns the result of `attempt`, or a promise if the result is undefined for now. @param queue calls with the same queue are served in call order @param
   * what describes the wait for a timeout
   */
  until<T>(attempt: () => T | undefined, what: () => string, wait: WaitOptions, queue: object): T | Promise<T> {
    if (this.#engines.length === 1) return (this.#engines[0] as Engine).waiters.until(attempt, what, wait, queue);
    const { signal, timeoutMs } = wait;
    if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0);
    checkSignal(signal);
    signal?.throwIfAborted();
    return this.#untilOneOf(attempt, what, wait, queue);
  }

  /** Waits with every Replay. Any call that lets a source provide its share ends the wait. */
  async #untilOneOf<T>(attempt: () => T | undefined, what: () => string, { signal, timeoutMs }: WaitOptions, queue: object): Promise<T> {
    const stop = new AbortController();
    const forward = () => stop.abort(signal?.reason);
    let result: T | undefined;
    const once = () => {
      result ??= attempt();
      return result;
    };
    const wait = { signal: stop.signal, ...(timeoutMs !== undefined && { timeoutMs }) };
    signal?.addEventListener("abort", forward);
    try {
      return await Promise.race(this.#engines.map((engine) => engine.waiters.until(once, what, wait, queue)));
    } finally {
      signal?.removeEventListener("abort", forward);
      stop.abort();
    }
  }
}

function noAmong(table: string): ReplayError {
  const why = "because draws from another source may remove its items (maxTimesSampled)";
  return new ReplayError("UNSUPPORTED", `among cannot be used with table ${show(table)}, ${why}. Omit among, or draw from the table in only one source`);
}

function emptyOf({ draws }: Source): ReplayError {
  const { table } = draws;
  return table.core.size === 0 ? emptyTable(table, "nStep") : notReady(table, 1, 0, 0);
}
