/** Discards an episode: its items, its steps, and its due priorities. */
import { LINK_FINAL } from "../rows/row";
import { DROPPED, Stream, stream_end } from "../rows/stream";
import { admitPending, cancelItem, removeItem, Table } from "../tables/table";
import { Dues } from "./dues";
import { Writer } from "./writer";

/**
 * Deletes the items of a table, including waiting ones, that begin in the open episode of a stream; returns how many. O(slots), or O(1) if there are no such
 * items
 */
export function table_discard(table: usize, stream: usize): u32 {
  const t = changetype<Table>(table);
  const s = changetype<Stream>(stream);
  const slots = t.slots();
  let count: u32 = 0;
  if (!s.isOpen()) return 0;
  // The highest slots come first, because they are most likely to contain the newest items. The loop ends when no item of the episode is left.
  for (let slot = slots.high; slot != 0 && (t.pending != 0 || t.episodes().items(s.episode) != 0); slot--) {
    if (!slots.isUsed(slot) || t.rows().episode(slots.item(slot).first) != s.episode) continue;
    if (slots.isPending(slot)) cancelItem(t, slot);
    else removeItem(t, slot);
    count += 1;
  }
  admitPending(t);
  return count;
}

/**
 * Releases the steps of a lane's open episode, in a writer that is not across. No items are made, and the episode does not count as ended. If the next step of
 * the lane is the final step of that episode, it will be dropped.
 */
export function writer_discard(writer: usize, lane: u32): void {
  const w = changetype<Writer>(writer);
  const s = w.stream(lane);
  if (!s.isOpen()) return;
  const finalIsNext = s.awaits == LINK_FINAL;
  stream_end(changetype<usize>(s), 0);
  if (finalIsNext) s.awaits = DROPPED;
  Dues.clear(w, s);
}
