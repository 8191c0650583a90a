/**
 * Saves streams as records: │ last u32 │ oldest u32 │ count u32 │ episode u32 │ its steps u32 │ awaits u32 │, rows by number. The rows of a stream's recent
 * steps are linked, so the oldest row and the count determine all of them.
 */
import { E_CORRUPT, fail } from "../memory/error";
import { numberOf, rowOf } from "../rows/pool";
import { LINK_ENDS, LINK_FINAL } from "../rows/row";
import { countLinks, DROPPED, Stream } from "../rows/stream";

export function record_stream(stream: usize, out: usize): void {
  const s = changetype<Stream>(stream);
  const p = s.rows();
  const recent = s.recent();
  store<u32>(out, numberOf(p, s.last));
  store<u32>(out, recent.count == 0 ? 0 : numberOf(p, recent.get(0)), 4);
  store<u32>(out, recent.count, 8);
  memory.copy(out + 12, stream + offsetof<Stream>("episode"), 12);
}

/** Restores the recent steps of an empty stream, after links have become names (`record_name_rows`). Returns 0 or CORRUPT. */
export function record_load_stream(stream: usize, from: usize): i32 {
  const s = changetype<Stream>(stream);
  const p = s.rows();
  const recent = s.recent();
  const count = load<u32>(from, 8);
  if (load<u32>(from) > p.high || load<u32>(from, 4) > p.high || count > recent.capacity) return fail(E_CORRUPT, 1, count);
  s.last = rowOf(p, load<u32>(from));
  memory.copy(stream + offsetof<Stream>("episode"), from + 12, 12);
  if (s.awaits > DROPPED && s.awaits != LINK_FINAL && s.awaits != LINK_ENDS) return fail(E_CORRUPT, 1, s.awaits);
  let row = rowOf(p, load<u32>(from, 4));
  for (let i: u32 = 0; i < count; i++) {
    if (row == 0) return fail(E_CORRUPT, 1, i);
    recent.push(row);
    p.retain(row);
    row = p.next(row);
  }
  s.straightAt = s.last - countLinks(s, false);
  s.numberedAt = s.last - countLinks(s, true);
  return 0;
}
