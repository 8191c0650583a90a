/** An episode's steps as columns, a piece at a time, whatever they are given as. */
import { Collector } from "./collector.ts";
import type { Each, StepSpec } from "./dataset.ts";
import { leavesOf, sameSpec } from "./leaves.ts";
import { type ColumnData, StepColumns, slicedColumn } from "./step-columns.ts";

export interface Piece {
  /** A column a leaf, in the order of the spec's leaves. */
  readonly data: readonly ColumnData[];
  readonly length: number;
  /** The place of its first step in the episode. */
  readonly from: number;
}

export interface PieceOptions {
  readonly episode: number;
  /** The most steps of a piece; all of them where it is left out. */
  readonly max?: number;
  readonly signal?: AbortSignal;
}

/** How many steps go by before somebody asks whether to go on. */
const PATIENCE = 1024;
/** A piece has no more bytes than this and one step's, where it is not to be all of the episode. */
const PIECE_BYTES = 2 ** 24;

/**
 * Columns of the right form are cut without a copy; steps one by one are checked and copied. No piece for no steps.
 * @throws RldsError SPEC_MISMATCH, with episode, step and leaf
 */
export async function* piecesOf(steps: Each<unknown>, spec: StepSpec, { episode, max = Infinity, signal }: PieceOptions): AsyncGenerator<Piece, void> {
  if (steps instanceof StepColumns && sameSpec(steps.spec, spec)) {
    const sizes = leavesOf(spec).map(({ size }) => size);
    for (let from = 0; from < steps.length; from += max) {
      signal?.throwIfAborted();
      const length = Math.min(max, steps.length - from);
      yield {
        data:
          length === steps.length
            ? steps.data
            : steps.data.map((column, i) => slicedColumn(column, from * (sizes[i] as number), (from + length) * (sizes[i] as number))),
        length,
        from,
      };
    }
    return;
  }
  const collector = new Collector(spec, Math.min(max, 64));
  let from = 0;
  let step = 0;
  const full = (value: unknown): boolean => {
    if (step % PATIENCE === 0) signal?.throwIfAborted();
    collector.add(value, { episode, step: step++ });
    return collector.length >= max || (max !== Infinity && collector.bytes >= PIECE_BYTES);
  };
  const taken = (): Piece => {
    const piece = { ...collector.take(), from };
    from = step;
    return piece;
  };
  // What is there already is not waited for.
  if (Symbol.iterator in steps) {
    for (const value of steps) if (full(value)) yield taken();
  } else {
    for await (const value of steps) if (full(value)) yield taken();
  }
  if (collector.length > 0) yield taken();
}

/** All of an episode at once. */
export async function columnsOf(steps: Each<unknown>, spec: StepSpec, options: PieceOptions): Promise<Piece> {
  for await (const piece of piecesOf(steps, spec, options)) return piece;
  return { ...new Collector(spec, 1).take(), from: 0 };
}
