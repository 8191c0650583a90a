/** Draws mixtures: batches whose rows come from several tables, or views of tables, in one or more Replays. */

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

/** The objects that a mixture can draw from. */
export type MixtureView = Table | Transitions | Sequences;

/** A source of a mixture. */
export interface MixtureSource<V extends MixtureView = MixtureView> extends Pick<SampleOptions, "replacement" | "among" | "stratified"> {
  /** A table, or a view of its transitions or sequences. Several sources may draw from one table. */
  readonly from: V;
  /**
   * The share of each batch that the source provides, or a function that takes the number of the draw (from 0 on) and returns the share. Only proportions
   * count. With shares of 1 and 3, the first source provides a quarter of the rows. A source with share 0 provides no rows.
   */
  readonly share: number | ((draw: number) => number);
}

export interface MixtureOptions {
  /** The seed of the mixture's random state, which only `exact: false` uses: a whole number from 0 to 2^53 - 1, or a bigint below 2^64. Default: 0. */
  readonly seed?: number | bigint;
  /**
   * Whether each batch has n × share rows of a source, rounded to whole rows. The largest remainder is rounded up first. Among equal remainders, the remainder
   * of the earlier source is first. The remainder of a source is carried to the next batch, so that shares are exact over many batches. If false, the source of
   * each row is drawn at random. Default: true.
   */
  readonly exact?: boolean;
  /**
   * The policy for a source that has fewer items than the `minSize` of its rate limiter (1 by default). With "others", the other sources provide the rows of
   * that source. Default: none, so that such a source throws an error.
   */
  readonly fallback?: "others";
  /** A result of `state()` of a mixture with the same sources, from which this mixture continues. Default: the beginning. */
  readonly state?: MixtureState;
}

type TableOptionsOf<S> = SampleOptions<PathOf<S>, ColumnSet<S>>;
/** The options of `sample`: the options that the sources themselves accept. */
type SampleOptionsOf<V> = V extends Transitions
  ? SampleTransitions
  : V extends Sequences
    ? SampleSequences
    : V extends Table<infer S>
      ? TableOptionsOf<S>
      : never;
type LoopOptionsOf<V> = SampleOptionsOf<V> & Pick<DatasetOptions, "batchSize" | "signal" | "timeoutMs" | "dropRemainder" | "prefetch">;

/** A batch of a mixture. It has the form of the first source's batches, and also has the source number of each row. */
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

/** The maximum number of sources. The column of source numbers has one byte per row. */
const MAX_SOURCES = 256;

export class Mixture<V extends MixtureView = MixtureView> {
  readonly #draws: MixedDraws;

  static {
    customInspect<Mixture>(this, "Mixture", (mix) => ({ tables: new PlainText(mix.#draws.sources.names), draw: mix.#draws.sources.shares.draw }));
  }

  /** Created by `mixture`. */
  constructor(draws: MixedDraws) {
    hideFrames(new.target);
    this.#draws = draws;
  }

  /**
   * Draws n rows, a share from each source. The rows of the first source come first. Never waits. Accepts the options that `sample` of the sources accepts.
   * Weights correct for the priorities within each source, not for shares. With `into`, allocates nothing but strings while each source provides as many rows
   * as before. Costs as much as the draws of the parts. If the call throws, all sources are unchanged.
   * @throws ReplayError EMPTY if a source has no items
   * @throws ReplayError RATE_LIMITED if a rate limiter does not allow a share now
   * @throws ReplayError TOO_FEW if a source has too few distinct items
   * @throws ReplayError SPEC_MISMATCH if the columns of the sources differ, or if `into` has different columns or shapes
   * @throws ReplayError UNSUPPORTED if a source does not support an option
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   * @throws TypeError, RangeError if n or an option is invalid, or if shares are negative, not finite or all 0
   */
  sample<const P extends SampleOptionsOf<V>>(n: number, options?: P & Only<P, SampleOptionsOf<V>>): MixtureBatch<V, P> {
    return this.#draws.sample(n, options as SampleOptions | undefined) as unknown as MixtureBatch<V, P>;
  }

  /**
   * Draws n rows as soon as every source can provide its share. Draws nothing earlier, so a wait that ends without a batch changes no source. The call has no
   * place in the order of calls that wait for a table.
   * @throws RangeError if the batch can never be full
   * @throws ReplayError RATE_LIMITED if the rate limiter of a source permits neither its share nor inserts, so that the wait could last forever
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws ReplayError CLOSED if the Replay is disposed of during the wait
   * @throws the signal's reason if the signal aborts
   */
  sampleWhenReady<const P extends SampleOptionsOf<V> & WaitOptions>(
    n: number,
    options?: P & Only<P, SampleOptionsOf<V> & WaitOptions>,
  ): Promise<MixtureBatch<V, P>> {
    return this.#draws.whole(n, (options ?? {}) as SampleOptions & WaitOptions) as Promise<unknown> as Promise<MixtureBatch<V, P>>;
  }

  /**
   * Returns batches for a `for` or `for await` loop. Works like `table.dataset`. Nothing is drawn ahead if a source has `maxTimesSampled`, or a rate limiter
   * that counts draws.
   */
  dataset<const P extends LoopOptionsOf<V>>(options: P & Only<P, LoopOptionsOf<V>>): Dataset<MixtureBatch<V, P>> {
    this.#draws.sources.open();
    return datasetOf(this.#draws, options as unknown as DatasetOptions) as unknown as Dataset<MixtureBatch<V, P>>;
  }

  /** Returns new arrays for n rows, to pass as `into`. For tables, `length` is the number of steps per item. */
  batch<const P extends BatchOptionsOf<V>>(n: number, options?: P & Only<P, SampleOptionsOf<V>>): MixtureBatch<V, P> {
    this.#draws.sources.open();
    return this.#draws.batch(n, (options ?? {}) as SampleOptions) as unknown as MixtureBatch<V, P>;
  }

  /**
   * Returns whether every source can provide its share of a batch of n rows now. Costs O(sources), and more if items differ in length or `among` is set, since
   * the next draws are then computed.
   * @throws ReplayError UNSUPPORTED if a source does not support an option
   * @throws ReplayError SPEC_MISMATCH if the columns of the sources differ
   * @throws RangeError if n, an option or a share is out of range
   */
  ready(n: number, options?: SampleOptionsOf<V>): boolean {
    return this.#draws.ready(n, options as SampleOptions | undefined);
  }

  /**
   * Sets the priorities of a batch's items, each in its own table, by key. Skips removed items, and sources that ignore priorities. Costs O(n log size). If the
   * call throws, all tables are unchanged.
   * @param batch a batch of this mixture
   * @param priorities one priority per row
   * @returns the number of priorities that were set
   * @throws TypeError, RangeError under the conditions of `table.updatePriorities`
   */
  updatePriorities(batch: object, priorities: Numbers | ColumnLike): number {
    return this.#draws.update(batch, dataBeside<Numbers>("priorities", priorities, undefined));
  }

  /**
   * Returns the number of the next draw, the remainder of each source, and the random state, in a form for JSON. To continue, pass the result as `state` to a
   * new mixture.
   */
  state(): MixtureState {
    return this.#draws.state;
  }
}

/** The options of `batch`. */
type BatchOptionsOf<V> = V extends Transitions | Sequences
  ? Pick<SampleTransitions, "beta">
  : V extends Table<infer S>
    ? TableOptionsOf<S> & { readonly length: number }
    : never;

/**
 * Returns a mixture of tables, or of views of their transitions or sequences. Each batch has rows of every source, in proportion to the shares. The sources
 * must have the same columns. A mixture has 1 to 256 sources.
 * @throws TypeError, RangeError if an argument is invalid
 * @throws ReplayError SPEC_MISMATCH if the columns of the sources differ, or if `state` belongs to a mixture with a different number of sources
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
  if (fallback !== undefined && fallback !== "others") throw mustBe(RangeError, "fallback", '"others", or omitted', fallback);
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
      `sources[${i}].from is a view with relabel, which computes rewards for whole batches. Draw from that view without a mixture, or omit relabel`,
    );
  draws.table.engine.open();
  draws.sampler.check(own);
  const value: Share = typeof share === "function" ? share : finite(`sources[${i}].share`, share, 0);
  return { from, draws, own, share: value };
}
