/** Implements a view of a table's items as sequences, for recurrent networks and world models: every step, with its returns and masks. */

import { finite, mustBe, onlyKeys } from "../../base/error.ts";
import { customInspect, PlainText } from "../../base/inspect.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import { kindOf } from "../../base/typed-arrays.ts";
import type { WaitOptions } from "../../base/wait.ts";
import { listLength, type Numbers } from "../../schema/copy-numbers.ts";
import { type DatasetOf, type DatasetOptions, datasetOf } from "../dataset.ts";
import { type SampleOptions, VIEW_OPTIONS } from "../options.ts";
import { type SampledTable, Sampler } from "../sampler.ts";
import { Draws, drawsOfViews } from "../waiting.ts";
import type { AnySequences, PriorityOptions, SampleSequences, SequenceBatch, SequenceDatasetOptions, SequenceViewOptions } from "./sequence-batch.ts";
import { SequenceView } from "./sequence-view.ts";

/** Makes an unknown option a type error. */
type Only<O, Known> = { readonly [K in Exclude<keyof O, keyof Known>]: never };

const NO_OPTIONS: PriorityOptions = {};

// biome-ignore lint/suspicious/noExplicitAny: the default is a view of any table
export class Sequences<S = any, R = any, O = any> {
  readonly #view: SequenceView;
  readonly #draws: Draws<AnySequences>;

  static {
    customInspect<Sequences>(this, "Sequences", (view) => {
      const { gamma, n, names } = view.#view;
      return { table: view.#draws.table.name, gamma, n, parts: new PlainText(names.join(", ")) };
    });
  }

  /** Created by `table.sequences`. */
  constructor(table: SampledTable, options: SequenceViewOptions) {
    hideFrames(new.target);
    let view: SequenceView | undefined;
    const sampler = new Sampler<AnySequences>(table, VIEW_OPTIONS, (of) => (view = new SequenceView(of, options)));
    this.#view = view as unknown as SequenceView;
    this.#draws = new Draws(sampler);
    drawsOfViews.set(this, this.#draws);
  }

  /**
   * Draws n items and copies their sequences into arrays. Never waits. With `into`, allocates nothing but strings. Costs O(n log size + n × steps × rewards of
   * a return + bytes).
   * @throws TypeError, RangeError if n or an option is invalid
   * @throws ReplayError EMPTY if the table has no items
   * @throws ReplayError RATE_LIMITED if the rate limiter does not allow n draws now
   * @throws ReplayError TOO_FEW if there are too few distinct items
   * @throws ReplayError SPEC_MISMATCH if `into` has different columns or shapes
   * @throws ReplayError UNSUPPORTED if the table does not support an option
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   */
  sample<const P extends SampleSequences>(n: number, options?: P & Only<P, SampleSequences>): SequenceBatch<S, R, O, P> {
    return this.#draws.sampler.sample(n, options as SampleOptions | undefined) as unknown as SequenceBatch<S, R, O, P>;
  }

  /** Draws n sequences, each as soon as the rate limiter allows it. Works like `sampleWhenReady` of a table. */
  sampleWhenReady<const P extends SampleSequences & WaitOptions>(
    n: number,
    options?: P & Only<P, SampleSequences & WaitOptions>,
  ): Promise<SequenceBatch<S, R, O, P>> {
    return this.#draws.whole(n, (options ?? {}) as SampleOptions & WaitOptions) as Promise<unknown> as Promise<SequenceBatch<S, R, O, P>>;
  }

  /** Returns batches for a `for` or `for await` loop. Works like `table.dataset`. */
  dataset<const P extends SequenceDatasetOptions>(options: P & Only<P, SequenceDatasetOptions>): DatasetOf<SequenceBatch<S, R, O, P>, P> {
    this.#draws.table.engine.open();
    return datasetOf(this.#draws, options as unknown as DatasetOptions) as unknown as DatasetOf<SequenceBatch<S, R, O, P>, P>;
  }

  /** Returns new arrays for n sequences, to pass as `into`. With `beta`, the arrays also include weights. */
  batch<const P extends Pick<SampleSequences, "beta">>(n: number, options?: P & Only<P, Pick<SampleSequences, "beta">>): SequenceBatch<S, R, O, P> {
    this.#draws.table.engine.open();
    return this.#view.batch(n, (options ?? {}) as SampleOptions) as unknown as SequenceBatch<S, R, O, P>;
  }

  /**
   * Returns the priority of each sequence of a batch, for `updatePriorities(batch.keys, priorities)`: eta × the largest absolute error + (1 - eta) × the mean
   * absolute error, over the steps whose `learningMask` is 1 (R2D2, Kapturowski et al., 2019, section 2.3). A sequence without such a step has the priority 0.
   * Allocates nothing with `into`. Costs O(steps).
   * @param errors one number per step in one flat array of shape [count, T], or longer; errors of other steps are not read
   * @returns an array of `batch.count` elements, or `into`, whose elements after `count` become 0
   * @throws TypeError if an argument has the wrong type
   * @throws RangeError if an array is too short, or if eta is outside [0, 1]
   */
  prioritiesOf(
    batch: { readonly count: number; readonly learningMask: { readonly data: ArrayLike<number>; readonly shape: readonly number[] } },
    errors: Numbers,
    options: PriorityOptions = NO_OPTIONS,
  ): Float64Array {
    const { eta = 0.9, into } = onlyKeys("prioritiesOf", options, "eta, into");
    finite("eta", eta, 0, 1);
    const { count, learningMask } = batch;
    const { data } = learningMask;
    const steps = learningMask.shape[1] as number;
    if (into !== undefined && (kindOf(into) !== "Float64Array" || into.length < count))
      throw mustBe(TypeError, "into", `a Float64Array of at least ${count} elements`, into);
    if (listLength(errors) < count * steps) throw mustBe(RangeError, "errors", `one number per step, at least ${count} × ${steps}`, errors);
    const priorities = into ?? new Float64Array(count);
    for (let i = 0; i < count; i++) {
      let largest = 0;
      let sum = 0;
      let learned = 0;
      for (let k = i * steps; k < (i + 1) * steps; k++) {
        if (data[k] === 0) continue;
        const error = Math.abs(errors[k] as number);
        // A NaN error reaches the result through `sum`, so that updatePriorities rejects it.
        if (!(error <= largest)) largest = error;
        sum += error;
        learned++;
      }
      priorities[i] = learned === 0 ? 0 : eta * largest + (1 - eta) * (sum / learned);
    }
    priorities.fill(0, count);
    return priorities;
  }
}
