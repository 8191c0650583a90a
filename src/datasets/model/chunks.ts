/** Reads the steps of an episode as columns, one chunk at a time. */
import { Collector } from "./collector.ts";
import type { MaybeAsyncIterable, StepSpec } from "./dataset.ts";
import { isLazy } from "./lazy-column.ts";
import { leavesOf, sameSpec } from "./leaves.ts";
import { type ColumnData, StepColumns, slicedColumn } from "./step-columns.ts";

export interface Chunk {
  /** One column per leaf, in the order of the spec's leaves. */
  readonly data: readonly ColumnData[];
  readonly length: number;
  /** The index of the chunk's first step in the episode. */
  readonly from: number;
}

export interface ChunkOptions {
  readonly episode: number;
  /** The maximum number of steps per chunk. Default: no limit. */
  readonly max?: number;
  readonly signal?: AbortSignal;
}

/** The number of steps between two checks of the signal. */
const STEPS_PER_CHECK = 1024;
/** The approximate maximum size of a chunk in bytes. It applies only with the option `max`, and only to steps that arrive one by one and to lazy columns. */
const PIECE_BYTES = 2 ** 24;

/**
 * Yields the steps of an episode as chunks of columns. Columns that match the spec are sliced without a copy, and lazy columns are read. Single steps are
 * checked and copied. Yields nothing if there are no steps.
 * @throws RldsError SPEC_MISMATCH if a step does not match the spec. The error includes the episode, the step and the leaf
 */
export async function* readChunks(
  steps: MaybeAsyncIterable<unknown>,
  spec: StepSpec,
  { episode, max = Infinity, signal }: ChunkOptions,
): AsyncGenerator<Chunk, void> {
  if (steps instanceof StepColumns && sameSpec(steps.spec, spec)) {
    const sizes = leavesOf(spec).map(({ size }) => size);
    const lazyBytes = steps.parts.reduce((sum, column, i) => sum + (isLazy(column) ? (sizes[i] as number) : 0), 0);
    const height = lazyBytes === 0 || max === Infinity ? max : Math.max(1, Math.min(max, Math.floor(PIECE_BYTES / lazyBytes)));
    for (let from = 0; from < steps.length; from += height) {
      signal?.throwIfAborted();
      const length = Math.min(height, steps.length - from);
      const range = (column: ColumnData, i: number) => {
        const part = slicedColumn(column, from * (sizes[i] as number), (from + length) * (sizes[i] as number));
        return isLazy(part) ? part.read() : part;
      };
      yield { data: length === steps.length && (lazyBytes === 0 || max === Infinity) ? steps.data : steps.parts.map(range), length, from };
    }
    return;
  }
  const collector = new Collector(spec, Math.min(max, 64));
  let from = 0;
  let step = 0;
  const full = (value: unknown): boolean => {
    if (step % STEPS_PER_CHECK === 0) signal?.throwIfAborted();
    collector.add(value, { episode, step: step++ });
    return collector.length >= max || (max !== Infinity && collector.bytes >= PIECE_BYTES);
  };
  const takeChunk = (): Chunk => {
    const chunk = { ...collector.take(), from };
    from = step;
    return chunk;
  };
  // The loop over a synchronous source avoids an await per step.
  if (Symbol.iterator in steps) {
    for (const value of steps) if (full(value)) yield takeChunk();
  } else {
    for await (const value of steps) if (full(value)) yield takeChunk();
  }
  if (collector.length > 0) yield takeChunk();
}

/** Reads a whole episode as one chunk. */
export async function columnsOf(steps: MaybeAsyncIterable<unknown>, spec: StepSpec, options: ChunkOptions): Promise<Chunk> {
  for await (const chunk of readChunks(steps, spec, options)) return chunk;
  return { ...new Collector(spec, 1).take(), from: 0 };
}
