/** Draws mixtures: batches whose rows come from several tables, or views of tables, of one Replay or of several. */

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
   * Its share of each batch, or a function that returns the share for the number of a draw (from 0 on). Only proportions count: a source with share 1 next to
   * one with share 3 provides a quarter of the rows. A source with share 0 provides none.
   */
  readonly share: number | ((draw: number) => number);
}

export interface MixtureOptions {
  /** Seed of the mixture's own random state, which only `exact: false` uses. Default: 0. */
  readonly seed?: number | bigint;
  /**
   * Whether each batch has n × share rows of a source, rounded to whole rows: largest remainder first, earlier sources first among equals. The remainder of a
   * source is carried to the next batch, so that shares are exact over many batches. If false, the source of each row is drawn at random. Default: true.
   */
  readonly exact?: boolean;
  /**
   * "others": if a source has fewer items than the `minSize` of its rate limiter (1 by default), the other sources provide its rows. Default: such a source is
   * an error.
   */
  readonly fallback?: "others";
  /** Continues from a result of `state()` of a mixture with the same sources. */
  readonly state?: MixtureState;
}

type TableOptionsOf<S> = SampleOptions<PathOf<S>, ColumnSet<S>>;
/** The options of `sample`: those that the sources themselves accept. */
type SampleOptionsOf<V> = V extends Transitions
  ? SampleTransitions
  : V extends Sequences
    ? SampleSequences
    : V extends Table<infer S>
      ? TableOptionsOf<S>
      : never;
type LoopOptionsOf<V> = SampleOptionsOf<V> & Pick<DatasetOptions, "batchSize" | "signal" | "timeoutMs" | "dropRemainder" | "prefetch">;

/** A batch of a mixture: a batch of its first source, plus the source number of each row. */
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

/** The column of source numbers has room for this many sources. */
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
   * Draws n rows, a share from each source, with the rows of the first source first. Never waits. Accepts the options of the sources' own `sample`. Weights
   * correct for the priorities within each source, not for shares. With `into`, allocates nothing but strings while each source provides as many rows as
   * before. Costs as much as the draws of the parts.
   * @throws ReplayError EMPTY if a source has no items, RATE_LIMITED if a rate limiter does not allow a share now, TOO_FEW, SPEC_MISMATCH if columns differ,
   * UNSUPPORTED, OUT_OF_MEMORY; nothing has changed in any source then · RangeError if shares are negative, not finite or all 0
   */
  sample<const P extends SampleOptionsOf<V>>(n: number, options?: P & Only<P, SampleOptionsOf<V>>): MixtureBatch<V, P> {
    return this.#draws.sample(n, options as SampleOptions | undefined) as unknown as MixtureBatch<V, P>;
  }

  /**
   * Draws n rows as soon as every source can provide its share. Draws nothing before, so a wait that ends without a batch has taken nothing. It has no place in
   * the queues of calls that wait for draws from one table.
   * @throws RangeError if it can never be full · ReplayError RATE_LIMITED if other draws must come first · TIMEOUT, CLOSED, or the reason of the signal
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

  /** Returns new arrays for n rows, to pass as `into`; for tables, with the `length` of their items. */
  batch<const P extends BatchOptionsOf<V>>(n: number, options?: P & Only<P, SampleOptionsOf<V>>): MixtureBatch<V, P> {
    this.#draws.sources.open();
    return this.#draws.batch(n, (options ?? {}) as SampleOptions) as unknown as MixtureBatch<V, P>;
  }

  /**
   * Returns whether every source can provide its share of a batch of n now. O(sources), plus a look at the next draws if items differ in length or `among` is
   * set
   * @throws ReplayError UNSUPPORTED, SPEC_MISMATCH · RangeError if the tables do not allow it, as `sample` does; waiting would not help
   */
  ready(n: number, options?: SampleOptionsOf<V>): boolean {
    return this.#draws.ready(n, options as SampleOptions | undefined);
  }

  /**
   * Sets the priorities of a batch's items, each in its own table, by key. Skips removed items, and sources that ignore priorities. O(n log size)
   * @param batch a batch of this mixture
   * @param priorities one per row
   * @returns the number of priorities that were set
   * @throws TypeError, RangeError as `table.updatePriorities` does; nothing has changed in any table then
   */
  updatePriorities(batch: object, priorities: Numbers | ColumnLike): number {
    return this.#draws.update(batch, dataBeside<Numbers>("priorities", priorities, undefined));
  }

  /** Returns the number of the next draw, the remainders of each source, and the random state, for JSON. Pass it as `state` to a new mixture to continue. */
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
 * Returns a mixture of tables, or of views of their transitions or sequences: each batch has rows of every source, by shares. The sources must have the same
 * columns.
 * @throws TypeError, RangeError if an argument is wrong · ReplayError SPEC_MISMATCH if a view has other columns than the first, or `state` is of other sources
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
