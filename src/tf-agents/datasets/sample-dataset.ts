/** Implements datasets of samples as async iterables and web streams. Elements are single samples or batches. */

import { codeOf, flag, integer, onlyKeys } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { WaitOptions } from "../../base/wait.ts";
import { type ElementSource, elementsOf } from "../../batch/iterate.ts";
import { Column, type ColumnLike } from "../../schema/column.ts";
import { map, type Nest } from "../../schema/nest.ts";
import { stack } from "../nest.ts";
import type { ReplaySample, SampleInfo } from "../sampling/sample.ts";
import type { LeafSignature, Signature } from "../signature.ts";
import { readableOf } from "./readable.ts";

/** The signature of an element. */
export interface ElementSpec {
  /** The signature of the info. Keys of a server are u64, and keys of this process are f64. */
  readonly info: { readonly [K in keyof SampleInfo]: LeafSignature };
  readonly data: Signature;
}

/** A batch of samples. Each field of the info is a column [samples], and the data are columns [samples, …]. */
// biome-ignore lint/suspicious/noExplicitAny: of any spec
export interface SampleBatch<Data = any> {
  readonly info: { readonly [K in keyof SampleInfo]: ColumnLike };
  readonly data: Data;
}

/** The source of the elements of one iteration. */
export interface ElementStream<E> extends Required<Pick<ElementSource<E>, "later">> {
  /** Releases the resources of the stream. */
  close(): void;
}

/** The base of datasets and of their batches. */
class Elements<E> implements AsyncIterable<E> {
  readonly elementSpec: ElementSpec;
  protected readonly begin: () => ElementStream<E>;
  protected readonly signal: AbortSignal | undefined;

  constructor(elementSpec: ElementSpec, begin: () => ElementStream<E>, signal: AbortSignal | undefined) {
    this.elementSpec = elementSpec;
    this.begin = begin;
    this.signal = signal;
  }

  /**
   * Starts an iteration with its own draws. An iteration that has ended restarts at the next call to `next`.
   * @throws the errors of the source
   * @throws the signal's reason if the signal aborts
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<E, undefined> {
    return new Iteration(this.begin, this.signal);
  }

  /** Returns a web stream of the elements. The stream draws an element only when it is read. Cancelling the stream ends the iteration. */
  stream(): ReadableStream<E> {
    return readableOf(this);
  }
}

/** A dataset of batches of samples, created by `batch`. */
export class SampleBatches extends Elements<SampleBatch> {}

export class SampleDataset<E extends ReplaySample = ReplaySample> extends Elements<E> {
  /**
   * Returns batches of n elements. The last batch is shorter, unless `dropRemainder` is set. If an error cuts a batch short, the next call to `next` throws the
   * error.
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError SPEC_MISMATCH during iteration if elements have different shapes
   */
  batch(n: number, options: { readonly dropRemainder?: boolean } = {}): SampleBatches {
    integer("n", n, 1, MAX_LENGTH);
    const { dropRemainder = false } = onlyKeys("options", options, "dropRemainder");
    flag("dropRemainder", dropRemainder);
    const rows = dropRemainder ? n : null;
    const batched = (spec: unknown) =>
      map(spec as Nest<never>, (leaf: LeafSignature): LeafSignature => ({ ...leaf, shape: leaf.shape && [rows, ...leaf.shape] }));
    const spec = { info: batched(this.elementSpec.info) as unknown as ElementSpec["info"], data: batched(this.elementSpec.data) };
    return new SampleBatches(spec, () => new Batches(this.begin(), n, dropRemainder), this.signal);
  }
}

/** One traversal of the elements. When the traversal ends, its source is closed. An error does not end the traversal. */
class Iteration<E> implements AsyncIterableIterator<E, undefined> {
  readonly #begin: () => ElementStream<E>;
  readonly #signal: AbortSignal | undefined;
  #source: ElementStream<E> | undefined;
  #elements: AsyncIterator<E, undefined> | undefined;
  #hasEnded = false;

  constructor(begin: () => ElementStream<E>, signal: AbortSignal | undefined) {
    this.#begin = begin;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<E, undefined>> {
    if (this.#hasEnded) return { done: true, value: undefined };
    const elements = this.#elements ?? this.#startElements();
    let result: IteratorResult<E, undefined> | undefined;
    try {
      result = await elements.next();
      return result;
    } finally {
      if ((result?.done || this.#signal?.aborted) && this.#elements === elements) this.#close();
    }
  }

  async return(): Promise<IteratorResult<E, undefined>> {
    this.#hasEnded = true;
    await this.#elements?.return?.();
    this.#close();
    return { done: true, value: undefined };
  }

  #startElements(): AsyncIterator<E, undefined> {
    const source = this.#begin();
    const begin = () => ({ later: (wait: WaitOptions) => source.later(wait), next: () => undefined });
    const elements = elementsOf<E>(begin, this.#signal === undefined ? {} : { signal: this.#signal })[Symbol.asyncIterator]() as AsyncIterator<E, undefined>;
    this.#source = source;
    this.#elements = elements;
    return elements;
  }

  #close(): void {
    this.#source?.close();
    this.#source = undefined;
    this.#elements = undefined;
  }
}

/** Returns the signature of a sample's info, as in `elementSpec`. @param keyDtype the dtype of the client's keys */
export function infoSpec(keyDtype: LeafSignature["dtype"] = "f64"): ElementSpec["info"] {
  return {
    key: { dtype: keyDtype, shape: [] },
    probability: { dtype: "f64", shape: [] },
    tableSize: { dtype: "u32", shape: [] },
    priority: { dtype: "f64", shape: [] },
    timesSampled: { dtype: "u32", shape: [] },
  };
}

/** Collects elements into batches. If an error occurs, the elements before it are returned first. */
class Batches implements ElementStream<SampleBatch> {
  readonly #source: ElementStream<ReplaySample>;
  readonly #n: number;
  readonly #drops: boolean;
  #samples: ReplaySample[] = [];
  /** Set when the source has failed or ended. `error` is undefined if the source ended without an error, to which a time limit also leads. */
  #end: { readonly error: unknown } | undefined;

  constructor(source: ElementStream<ReplaySample>, n: number, drops: boolean) {
    this.#source = source;
    this.#n = n;
    this.#drops = drops;
  }

  close(): void {
    this.#source.close();
  }

  async later(wait: WaitOptions): Promise<SampleBatch | undefined> {
    while (this.#end === undefined && this.#samples.length < this.#n) {
      try {
        const sample = await this.#source.later(wait);
        if (sample === undefined) this.#end = { error: undefined };
        else this.#samples.push(sample);
      } catch (error) {
        this.#end = { error: codeOf(error) === "TIMEOUT" ? undefined : error };
      }
    }
    const samples = this.#samples;
    const end = this.#end;
    if (samples.length === this.#n || (samples.length > 0 && !(this.#drops && end?.error === undefined))) {
      this.#samples = [];
      return batchOf(samples);
    }
    this.#end = undefined;
    if (end?.error !== undefined) throw end.error;
    return undefined;
  }
}

function batchOf(samples: readonly ReplaySample[]): SampleBatch {
  const info = (name: keyof SampleInfo) => samples.map((sample) => sample.info[name]);
  const keys = info("key");
  const column = (data: Column["data"]) => new Column(data, [samples.length]);
  return {
    info: {
      key: column(typeof keys[0] === "bigint" ? BigUint64Array.from(keys as bigint[]) : Float64Array.from(keys as number[])),
      probability: column(Float64Array.from(info("probability") as number[])),
      tableSize: column(Uint32Array.from(info("tableSize") as number[])),
      priority: column(Float64Array.from(info("priority") as number[])),
      timesSampled: column(Uint32Array.from(info("timesSampled") as number[])),
    },
    data: stack(samples.map((sample) => sample.data)),
  };
}
