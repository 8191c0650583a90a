/** Mixtures: batches whose rows come from several tables, or views of tables, of one Replay or of several. */

import { checkSeed, finite, flag, mustBe, onlyKeys, ReplayError } from "../base/error.ts";
import { customInspect, PlainText } from "../base/inspect.ts";
import { hideFrames } from "../base/stack-trace.ts";
import type { WaitOptions } from "../base/wait.ts";
import { type DatasetOptions, datasetOf } from "../batch/dataset.ts";
import type { Dataset } from "../batch/iterate.ts";
import { MixedDraws } from "../batch/mixtures/mixed-draws.ts";
import { MixedSources } from "../batch/mixtures/mixed-sources.ts";
import type { SourceOptions } from "../batch/mixtures/part-options.ts";
import { type MixtureState, type Share, Shares } from "../batch/mixtures/shares.ts";
import type { SampleOptions } from "../batch/options.ts";
import type { SampleSequences, SequenceBatch } from "../batch/sequences/sequence-batch.ts";
import type { Sequences } from "../batch/sequences/sequences.ts";
import type { SampleTransitions, TransitionBatch } from "../batch/transitions/transition-batch.ts";
import type { Transitions } from "../batch/transitions/transitions.ts";
import { drawsOfViews } from "../batch/waiting.ts";
import { type Column, type ColumnLike, dataBeside } from "../schema/column.ts";
import type { ColumnSet } from "../schema/columns.ts";
import type { Numbers } from "../schema/copy-numbers.ts";
import type { PathOf } from "../schema/spec.ts";
import type { BatchOf, Table } from "./table.ts";

/** What a mixture can draw from. */
export type MixtureView = Table | Transitions | Sequences;

/** A source of a mixture. */
export interface MixtureSource<V extends MixtureView = MixtureView> extends Pick<SampleOptions, "replacement" | "among" | "stratified"> {
  /** A table, or a view of its transitions or sequences. Several sources may draw from one table. */
  readonly from: V;
  /**
   * Its share of each batch, or a function that returns the share for the number of a draw, from 0 on. Only proportions count: a source with share 1 next to one with share 3
   * gives a quarter. A source with share 0 gives nothing.
   */
  readonly share: number | ((draw: number) => number);
}

export interface MixtureOptions {
  /** Seed of the mixture's own random state, which only `exact: false` uses. Default: 0. */
  readonly seed?: number | bigint;
  /**
   * Whether each batch has n × share rows of a source, rounded to whole rows: the largest remainders first, of equals the first source. What rounding keeps from a source is
   * carried to the next batch, so that over many batches shares are exact. If false, the source of each row is drawn at random. Default: true.
   */
  readonly exact?: boolean;
  /** "others": while a source has fewer items than the `minSize` of its rate limiter, which is 1 by default, the others give its rows. Default: such a source is an error. */
  readonly fallback?: "others";
  /** Continues from what `state()` of a mixture of the same sources returned. */
  readonly state?: MixtureState;
}

type TableOptionsOf<S> = SampleOptions<PathOf<S>, ColumnSet<S>>;
/** The options of `sample`: those of the sources' own. */
type SampleOptionsOf<V> = V extends Transitions
  ? SampleTransitions
  : V extends Sequences
    ? SampleSequences
    : V extends Table<infer S>
      ? TableOptionsOf<S>
      : never;
type LoopOptionsOf<V> = SampleOptionsOf<V> & Pick<DatasetOptions, "batchSize" | "signal" | "timeoutMs" | "dropRemainder" | "prefetch">;

/** A batch of a mixture: that of its first source, with the number of the source of each row. */
export type MixtureBatch<V, P> =
  V extends Transitions<infer S, infer R, infer O>
    ? TransitionBatch<S, R, O, P> & { readonly source: Column<"u8", [number]> }
    : V extends Sequences<infer S, infer R, infer O>
      ? SequenceBatch<S, R, O, P> & { readonly source: Column<"u8", [number]> }
      : V extends Table<infer S>
        ? BatchOf<S, P> & { readonly info: { readonly source: Uint8Array<ArrayBuffer> } }
        : never;

/** Makes an unknown option a type error. */
type Only<O, Known> = { readonly [K in Exclude<keyof O, keyof Known>]: never };

/** A column that has the number of the source has room for so many. */
const MAX_SOURCES = 256;

export class Mixture<V extends MixtureView = MixtureView> {
  readonly #draws: MixedDraws;

  static {
    customInspect<Mixture>(this, "Mixture", (mix) => ({ tables: new PlainText(mix.#draws.sources.names), draw: mix.#draws.sources.shares.draw }));
  }

  /** `mixture` makes mixtures. */
  constructor(draws: MixedDraws) {
    hideFrames(new.target);
    this.#draws = draws;
  }

  /**
   * Draws n rows, of each source its share: rows of the first source come first. Never waits. Takes the options of the sources' own `sample`. Weights correct for the priorities
   * within each source, not for shares. Allocates nothing but strings with `into`, as long as each source gives as many rows as before. Costs what the draws of the parts cost.
   * @throws ReplayError EMPTY for a source without items, RATE_LIMITED if a rate limiter does not allow a share now, TOO_FEW, SPEC_MISMATCH for columns that differ,
   * UNSUPPORTED, OUT_OF_MEMORY; then nothing has changed in any source · RangeError for shares that are negative, not finite or all 0
   */
  sample<const P extends SampleOptionsOf<V>>(n: number, options?: P & Only<P, SampleOptionsOf<V>>): MixtureBatch<V, P> {
    return this.#draws.sample(n, options as SampleOptions | undefined) as unknown as MixtureBatch<V, P>;
  }

  /**
   * The same as soon as every source can give its share: until then nothing is drawn, so a wait that ends without a batch has taken nothing. It has no place in the queues
   * of calls that wait for draws of one table.
   * @throws RangeError if it can never be · ReplayError RATE_LIMITED if it cannot before others have drawn · TIMEOUT, CLOSED, or the reason of the signal
   */
  sampleWhenReady<const P extends SampleOptionsOf<V> & WaitOptions>(
    n: number,
    options?: P & Only<P, SampleOptionsOf<V> & WaitOptions>,
  ): Promise<MixtureBatch<V, P>> {
    return this.#draws.whole(n, (options ?? {}) as SampleOptions & WaitOptions) as Promise<unknown> as Promise<MixtureBatch<V, P>>;
  }

  /** Batches for a `for` or `for await` loop, as those of `table.dataset`. Nothing is drawn ahead if a source has a rate limiter that counts draws, or `maxTimesSampled`. */
  dataset<const P extends LoopOptionsOf<V>>(options: P & Only<P, LoopOptionsOf<V>>): Dataset<MixtureBatch<V, P>> {
    this.#draws.sources.open();
    return datasetOf(this.#draws, options as unknown as DatasetOptions) as unknown as Dataset<MixtureBatch<V, P>>;
  }

  /** New arrays for n rows, to pass as `into`; of tables, with the `length` of their items. */
  batch<const P extends BatchOptionsOf<V>>(n: number, options?: P & Only<P, SampleOptionsOf<V>>): MixtureBatch<V, P> {
    this.#draws.sources.open();
    return this.#draws.batch(n, (options ?? {}) as SampleOptions) as unknown as MixtureBatch<V, P>;
  }

  /**
   * Whether every source can give its share of a batch of n now. O(sources), and what a look at the next draws costs where items differ in length or `among` is set
   * @throws ReplayError UNSUPPORTED, SPEC_MISMATCH · RangeError for what the tables do not allow, as `sample` does: waiting would not mend it
   */
  ready(n: number, options?: SampleOptionsOf<V>): boolean {
    return this.#draws.ready(n, options as SampleOptions | undefined);
  }

  /**
   * Sets the priorities of a batch's items, each in its own table, by key. Skips items that are gone, and sources that ignore priorities. O(n log size)
   * @param batch of this mixture
   * @param priorities one per row
   * @returns the number of priorities that were set
   * @throws TypeError, RangeError as `table.updatePriorities` does; then nothing has changed in any table
   */
  updatePriorities(batch: object, priorities: Numbers | ColumnLike): number {
    return this.#draws.update(batch, dataBeside<Numbers>("priorities", priorities, undefined));
  }

  /** The number of the next draw, what rounding has kept from each source, and the random state, for JSON: with the option `state` a new mixture continues from there. */
  state(): MixtureState {
    return this.#draws.state;
  }
}

/** What `batch` needs. */
type BatchOptionsOf<V> = V extends Transitions | Sequences
  ? Pick<SampleTransitions, "beta">
  : V extends Table<infer S>
    ? TableOptionsOf<S> & { readonly length: number }
    : never;

/**
 * A mixture of tables, or of views of their transitions or sequences: each batch has rows of every source, by shares. The sources have the same columns.
 * @throws TypeError, RangeError for wrong arguments · ReplayError SPEC_MISMATCH for views with other columns than the first, and for a `state` of other sources
 */
export function mixture<V extends MixtureView>(sources: readonly MixtureSource<V>[], options: MixtureOptions = {}): Mixture<V> {
  const { seed = 0, exact = true, fallback, state } = onlyKeys("the options of mixture", options, "seed, exact, fallback, state");
  if (!Array.isArray(sources) || sources.length === 0 || sources.length > MAX_SOURCES)
    throw mustBe(TypeError, "sources", `an array of 1 … ${MAX_SOURCES} objects { from, share }`, sources);
  const parts = (sources as readonly MixtureSource<V>[]).map(sourceOf);
  if (new Set(parts.map(({ from }) => from.constructor)).size > 1)
    throw mustBe(
      TypeError,
      "sources",
      "of one kind: all tables, all views of transitions, or all views of sequences",
      parts.map(({ from }) => from.constructor.name).join(", "),
    );
  checkSeed(seed);
  flag("exact", exact);
  if (fallback !== undefined && fallback !== "others") throw mustBe(RangeError, "fallback", '"others", or left out', fallback);
  const [first] = parts as [(typeof parts)[number]];
  const { engine } = first.draws.table;
  for (const { draws } of parts) draws.table.engine.open();
  const shares = new Shares(
    engine.core,
    parts.map(({ share }) => share),
    exact,
    seed,
  );
  if (state !== undefined) shares.restore(state);
  return new Mixture(new MixedDraws(new MixedSources(parts, shares, fallback)));
}

function sourceOf<V extends MixtureView>(source: MixtureSource<V>, i: number) {
  const { from, share, replacement, among, stratified } = onlyKeys(`sources[${i}]`, source, "from, share, replacement, among, stratified");
  const draws = typeof from === "object" && from !== null ? drawsOfViews.get(from) : undefined;
  if (draws === undefined) throw mustBe(TypeError, `sources[${i}].from`, "a table, or a view of transitions or sequences", from);
  const own: SourceOptions = {
    ...(replacement !== undefined && { replacement }),
    ...(among !== undefined && { among }),
    ...(stratified !== undefined && { stratified }),
  };
  if (draws.sampler.relabels)
    throw new ReplayError(
      "UNSUPPORTED",
      `sources[${i}].from is a view that relabels, whose rewards are computed for whole batches: draw from it by itself, or leave relabel out`,
    );
  draws.table.engine.open();
  draws.sampler.check(own);
  const value: Share = typeof share === "function" ? share : finite(`sources[${i}].share`, share, 0);
  return { from, draws, own, share: value };
}
