/** Columns that are too large for one frame, in pieces. */
import type { PlacedLeaf } from "../../schema/layout.ts";
import { endsWithFinal, rowBytesOf } from "./block.ts";
import type { ColumnsMessage } from "./messages.ts";
import { referenceBytesOf, type SharedLeaves } from "./shared-frames.ts";

/** Of the text and the padding of a frame, about. */
const OVERHEAD = 8192;
/** Of a leaf, or of an entry of shared ones. */
const LEAF_BYTES = 16;

/** What the memory's end has said of frames. */
export interface FrameRules {
  readonly frameBytes: number;
  readonly shared: readonly SharedLeaves[];
}

/** The same steps as columns that fit in frames, also where all shared frames are new; they look at the same buffer. */
export function* piecesOf(message: ColumnsMessage, leaves: readonly PlacedLeaf[], lanes: number, rules: FrameRules): Generator<ColumnsMessage, void> {
  const { frameBytes, shared } = rules;
  const { buffer, rows, columns, ends, finals, finalColumns, priorities } = message;
  const stepBytes = rowBytesOf(leaves) + referenceBytesOf(leaves, shared) + 1;
  // Each row may end an episode.
  const rowBytes = (finals > 0 ? 2 : 1) * stepBytes + 8 * priorities.length;
  const room = frameBytes - OVERHEAD - LEAF_BYTES * (leaves.length + shared.length);
  const most = Math.max(1, Math.floor(room / rowBytes / lanes)) * lanes;
  const flags = ends === 0 ? undefined : new Uint8Array(buffer, ends, rows);
  const moved = (places: readonly number[], count: number) => places.map((at, i) => at + count * (leaves[i] as PlacedLeaf).arrayBytes);
  let finalsBefore = 0;
  for (let row = 0; row < rows; row += most) {
    const n = Math.min(most, rows - row);
    const count = finals === 0 || flags === undefined ? 0 : flags.subarray(row, row + n).filter(endsWithFinal).length;
    yield {
      ...message,
      rows: n,
      columns: moved(columns, row),
      ends: ends === 0 ? 0 : ends + row,
      finals: count,
      finalColumns: count === 0 ? [] : moved(finalColumns, finalsBefore),
      priorities: priorities.map((at) => (at === 0 ? 0 : at + 8 * row)),
    };
    finalsBefore += count;
  }
}
