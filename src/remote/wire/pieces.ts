/** Splits columns that are too large for one frame. */
import type { PlacedLeaf } from "../../schema/layout.ts";
import { endsWithFinal, rowBytesOf } from "./block.ts";
import type { ColumnsMessage } from "./messages.ts";
import { referenceBytesOf, type SharedLeaves } from "./shared-frames.ts";

/** The approximate number of bytes of a frame's text and padding. */
const OVERHEAD = 8192;
/** The approximate number of additional bytes of a frame per leaf, and per entry of shared leaves. */
const LEAF_BYTES = 16;

/** The frame limits that the Replay's end has set. */
export interface FrameRules {
  readonly frameBytes: number;
  readonly shared: readonly SharedLeaves[];
}

/** Yields the same steps as columns that fit into frames, even if all shared frames are new. The pieces are views of the same buffer. */
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
