/** Implements a view of a table's items as transitions: observation and action, the return over some steps, and the next observation. */

import { customInspect, PlainText } from "../../base/inspect.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import type { WaitOptions } from "../../base/wait.ts";
import { type DatasetOf, type DatasetOptions, datasetOf } from "../dataset.ts";
import { type SampleOptions, VIEW_OPTIONS } from "../options.ts";
import { type SampledTable, Sampler } from "../sampler.ts";
import { Draws, drawsOfViews } from "../waiting.ts";
import type { AnyTransitions, SampleTransitions, TransitionBatch, TransitionDatasetOptions, TransitionOptions } from "./transition-batch.ts";
import { TransitionView } from "./transition-view.ts";

/** Makes an unknown option a type error. */
type Only<O, Known> = { readonly [K in Exclude<keyof O, keyof Known>]: never };

// biome-ignore lint/suspicious/noExplicitAny: the default is a view of any table
export class Transitions<S = any, R = any, O = any> {
  readonly #view: TransitionView;
  readonly #draws: Draws<AnyTransitions>;

  static {
    customInspect<Transitions>(this, "Transitions", (view) => {
      const { gamma, n, names } = view.#view;
      return { table: view.#draws.table.name, gamma, ...(n !== undefined && { n }), parts: new PlainText(names.join(", ")) };
    });
  }

  /** Created by `table.transitions`. */
  constructor(table: SampledTable, options: TransitionOptions) {
    hideFrames(new.target);
    let view: TransitionView | undefined;
    const sampler = new Sampler<AnyTransitions>(table, VIEW_OPTIONS, (of) => (view = new TransitionView(of, options)));
    this.#view = view as unknown as TransitionView;
    this.#draws = new Draws(sampler);
    drawsOfViews.set(this, this.#draws);
  }

  /**
   * Draws n items and copies their transitions into arrays. Never waits. With `into`, allocates nothing but strings. Costs O(n log size + n × steps + bytes).
   * @throws ReplayError EMPTY if the table has no items
   * @throws ReplayError RATE_LIMITED if the rate limiter does not allow n draws now
   * @throws ReplayError TOO_FEW if there are too few distinct items
   * @throws ReplayError SPEC_MISMATCH if an item has a single step or begins with the last step of an episode, or if `into` has different columns or shapes
   * @throws ReplayError UNSUPPORTED if the table does not support an option
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   * @throws TypeError, RangeError if n or an option is invalid
   * @throws RangeError if the view's option `n` is too large for every item, and for every rule of an open writer
   */
  sample<const P extends SampleTransitions>(n: number, options?: P & Only<P, SampleTransitions>): TransitionBatch<S, R, O, P> {
    return this.#draws.sampler.sample(n, options as SampleOptions | undefined) as unknown as TransitionBatch<S, R, O, P>;
  }

  /** Draws n transitions, each as soon as the rate limiter allows it. Works like `sampleWhenReady` of a table. */
  sampleWhenReady<const P extends SampleTransitions & WaitOptions>(
    n: number,
    options?: P & Only<P, SampleTransitions & WaitOptions>,
  ): Promise<TransitionBatch<S, R, O, P>> {
    return this.#draws.whole(n, (options ?? {}) as SampleOptions & WaitOptions) as Promise<unknown> as Promise<TransitionBatch<S, R, O, P>>;
  }

  /** Returns batches for a `for` or `for await` loop. Works like `table.dataset`. */
  dataset<const P extends TransitionDatasetOptions>(options: P & Only<P, TransitionDatasetOptions>): DatasetOf<TransitionBatch<S, R, O, P>, P> {
    this.#draws.table.engine.open();
    return datasetOf(this.#draws, options as unknown as DatasetOptions) as unknown as DatasetOf<TransitionBatch<S, R, O, P>, P>;
  }

  /** Returns new arrays for n transitions, to pass as `into`. With `beta`, the arrays also include weights. */
  batch<const P extends Pick<SampleTransitions, "beta">>(n: number, options?: P & Only<P, Pick<SampleTransitions, "beta">>): TransitionBatch<S, R, O, P> {
    this.#draws.table.engine.open();
    return this.#view.batch(n, (options ?? {}) as SampleOptions) as unknown as TransitionBatch<S, R, O, P>;
  }
}
