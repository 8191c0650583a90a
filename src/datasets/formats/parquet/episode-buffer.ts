/** Buffers the rows of an episode until it is complete. */
import { type Dtype, type NumberArray, zeros } from "../../../schema/dtype.ts";
import { isText } from "../../../schema/leaf.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { lazyPieces } from "./joined-pieces.ts";
import { bytesOf, joined, slice } from "./table.ts";

/** The size in bytes above which a column remains in the pieces in which it was read. */
const LAZY_BYTES = 2 ** 22;
/** The size in bytes above which a column of single numbers becomes one growing array, so that its pieces do not fragment memory. */
const GROWN_BYTES = 2 ** 19;
/** The number of rows that a file states is trusted up to this multiple of the rows that were read. */
const MAX_GROWTH = 16;

export class EpisodeBuffer<S> {
  readonly #spec: StepSpec;
  readonly #leaves: readonly LeafEntry[];
  readonly #maxBytes: number;
  /** The rows of each leaf, in pieces. */
  readonly #chunks: ColumnData[][];
  /** The growing array of each leaf, if it replaces the pieces. */
  readonly #grown: (NumberArray | undefined)[];
  #bytes = 0;
  length = 0;

  constructor(spec: StepSpec, maxBytes: number) {
    this.#spec = spec;
    this.#leaves = leavesOf(spec);
    this.#maxBytes = maxBytes;
    this.#chunks = this.#leaves.map(() => []);
    this.#grown = this.#leaves.map(() => undefined);
  }

  /**
   * Adds the rows `from` … `to - 1` of columns in the order of the spec's leaves. @param following the maximum number of rows that follow in the file
   * @throws RldsError CORRUPT if the episode takes more than maxBytes
   */
  push(data: readonly ColumnData[], from: number, to: number, file: string, following = 0): void {
    const chunk = data.map((column, k) => slice(column, (this.#leaves[k] as LeafEntry).size, from, to));
    const length = this.length + to - from;
    chunk.forEach((column, k) => {
      const bytes = (column as NumberArray).BYTES_PER_ELEMENT;
      const isSingle = this.#leaves[k]?.size === 1 && bytes !== undefined;
      if (isSingle && (this.#grown[k] !== undefined || length * bytes > GROWN_BYTES)) this.#grow(k, column as NumberArray, length, following);
      else this.#chunks[k]?.push(column);
    });
    this.length = length;
    this.#bytes += bytesOf(chunk);
    if (this.#bytes > this.#maxBytes)
      throw corruptFile({ file }, `an episode takes more than the ${this.#maxBytes} bytes that maxBytes allows. Increase maxBytes`);
  }

  /** Returns the steps and empties the buffer. */
  take(): StepColumns<S> {
    // The pieces of a leaf are released before the next leaf is joined, so an episode is not in memory twice. Large columns are joined only on demand.
    const data = this.#leaves.map(({ leaf, size }, k) => {
      const pieces = (this.#chunks[k] as ColumnData[]).splice(0);
      const grown = this.#grown[k];
      this.#grown[k] = undefined;
      if (grown !== undefined) return grown.subarray(0, this.length) as ColumnData;
      return size > 1 && !isText(leaf) && bytesOf(pieces) > LAZY_BYTES ? lazyPieces(leaf, size, pieces) : joined(leaf, pieces);
    });
    const steps = new StepColumns<S>(this.#spec, data, this.length);
    this.#bytes = 0;
    this.length = 0;
    return steps;
  }

  /** Grows the array of a leaf. A large capacity costs nothing, because the system allocates memory only when it is written. */
  #grow(k: number, column: NumberArray, length: number, following: number): void {
    let grown = this.#grown[k];
    if (grown === undefined || grown.length < length) {
      const larger = zeros((this.#leaves[k] as LeafEntry).leaf.dtype as Dtype, length + Math.min(following, (MAX_GROWTH - 1) * length)) as NumberArray;
      let at = 0;
      for (const piece of [...(grown === undefined ? [] : [grown.subarray(0, this.length)]), ...(this.#chunks[k] as ColumnData[]).splice(0)]) {
        larger.set(piece as never, at);
        at += piece.length;
      }
      grown = larger;
      this.#grown[k] = grown;
    }
    grown.set(column as never, this.length);
  }
}
