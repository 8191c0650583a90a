/** Stores a column in pieces, which are joined only when the whole column is needed. */
import { type AnyArray, type Dtype, type NumberArray, zeros } from "../../../schema/dtype.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { LazyColumn, type LazyValues } from "../../model/lazy-column.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { joined } from "./table.ts";

class JoinedPieces implements LazyValues {
  readonly rows: number;
  readonly size: number;
  readonly #leaf: StepLeaf;
  #pieces: readonly NumberArray[];
  /** The index of the first element of each piece, followed by the total number of elements. */
  #starts: Float64Array;

  constructor(leaf: StepLeaf, size: number, pieces: readonly NumberArray[]) {
    this.size = size;
    this.#leaf = leaf;
    this.#pieces = pieces;
    this.#starts = startsOf(pieces);
    this.rows = (this.#starts.at(-1) as number) / size;
  }

  check(): void {}

  read(from: number, to: number): AnyArray {
    if (from === 0 && to === this.rows) return this.#join();
    const [begin, end] = [from * this.size, to * this.size];
    const first = this.#pieceAt(begin);
    // A range within one piece is not copied.
    if (end <= (this.#starts[first + 1] ?? 0)) {
      const start = this.#starts[first] as number;
      return (this.#pieces[first] as NumberArray).subarray(begin - start, end - start) as AnyArray;
    }
    const all = zeros(this.#leaf.dtype as Dtype, end - begin) as NumberArray;
    for (let k = first, at = begin; at < end; k++) {
      const start = this.#starts[k] as number;
      const part = (this.#pieces[k] as NumberArray).subarray(at - start, Math.min(end, this.#starts[k + 1] as number) - start);
      all.set(part as never, at - begin);
      at += part.length;
    }
    return all as AnyArray;
  }

  /** Joins the pieces and releases them, so the column is not in memory twice. */
  #join(): AnyArray {
    const [first] = this.#pieces;
    if (this.#pieces.length === 1 && first !== undefined) return first as AnyArray;
    const all = joined(this.#leaf, this.#pieces as readonly ColumnData[]) as NumberArray;
    this.#pieces = [all];
    this.#starts = startsOf(this.#pieces);
    return all as AnyArray;
  }

  #pieceAt(element: number): number {
    let [low, high] = [0, this.#pieces.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] as number) <= element) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function startsOf(pieces: readonly NumberArray[]): Float64Array {
  const starts = new Float64Array(pieces.length + 1);
  pieces.forEach((piece, k) => {
    starts[k + 1] = (starts[k] as number) + piece.length;
  });
  return starts;
}

/** Returns a lazy column of consecutive pieces. The pieces are joined only when the whole column is needed. */
export function lazyPieces(leaf: StepLeaf, size: number, pieces: readonly ColumnData[]): ColumnData {
  return LazyColumn.of(new JoinedPieces(leaf, size, pieces as readonly NumberArray[]));
}
