/** The rows of an episode that has begun, until it is whole. */
import { isText } from "../../../schema/leaf.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { lazyPieces } from "./joined-pieces.ts";
import { bytesOf, joined, slice } from "./table.ts";

/** A column of more bytes stays in the pieces in which it was read. */
const LAZY_BYTES = 2 ** 22;

export class EpisodeBuffer<S> {
  readonly #spec: StepSpec;
  readonly #leaves: readonly LeafEntry[];
  readonly #maxBytes: number;
  /** Per leaf its rows, in pieces. */
  readonly #chunks: ColumnData[][];
  #bytes = 0;
  length = 0;

  constructor(spec: StepSpec, maxBytes: number) {
    this.#spec = spec;
    this.#leaves = leavesOf(spec);
    this.#maxBytes = maxBytes;
    this.#chunks = this.#leaves.map(() => []);
  }

  /** Rows from … to - 1 of columns in the order of the spec's leaves. @throws RldsError CORRUPT where an episode has no end */
  push(data: readonly ColumnData[], from: number, to: number, file: string): void {
    const chunk = data.map((column, k) => slice(column, (this.#leaves[k] as LeafEntry).size, from, to));
    chunk.forEach((column, k) => void this.#chunks[k]?.push(column));
    this.length += to - from;
    this.#bytes += bytesOf(chunk);
    if (this.#bytes > this.#maxBytes)
      throw corruptFile({ file }, `an episode has more than the ${this.#maxBytes} bytes that maxBytes allows: give a larger one`);
  }

  /** The steps; it begins anew. */
  take(): StepColumns<S> {
    // The pieces of a leaf go before the next one is joined: an episode is not in memory twice. Long ones are joined only if someone needs all of it.
    const data = this.#leaves.map(({ leaf, size }, k) => {
      const pieces = (this.#chunks[k] as ColumnData[]).splice(0);
      return size > 1 && !isText(leaf) && bytesOf(pieces) > LAZY_BYTES ? lazyPieces(leaf, size, pieces) : joined(leaf, pieces);
    });
    const steps = new StepColumns<S>(this.#spec, data, this.length);
    this.#bytes = 0;
    this.length = 0;
    return steps;
  }
}
