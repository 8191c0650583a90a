/**
 * Streams for a journal: │ last u32 │ oldest u32 │ count u32 │ episode u32 │ its steps u32 │ fresh u32 │, rows by number.
 * The rows of a window are linked, so that its oldest and their count tell them all.
 */
import { E_CORRUPT, fail } from "../memory/error";
import { numberOf, rowOf } from "../rows/pool";
import { Stream } from "../rows/stream";

export function journal_stream(stream: usize, at: usize): void {
  const s = changetype<Stream>(stream);
  const p = s.rows();
  const window = s.recent();
  store<u32>(at, numberOf(p, s.last));
  store<u32>(at, window.count == 0 ? 0 : numberOf(p, window.get(0)), 4);
  store<u32>(at, window.count, 8);
  memory.copy(at + 12, stream + offsetof<Stream>("episode"), 12);
}

/** Of a stream without steps: once the rows have their names, takes its window back. 0, or CORRUPT. */
export function journal_load_stream(stream: usize, at: usize): i32 {
  const s = changetype<Stream>(stream);
  const p = s.rows();
  const window = s.recent();
  const count = load<u32>(at, 8);
  if (load<u32>(at) > p.high || load<u32>(at, 4) > p.high || count > window.capacity) return fail(E_CORRUPT, 1, count);
  s.last = rowOf(p, load<u32>(at));
  memory.copy(stream + offsetof<Stream>("episode"), at + 12, 12);
  let row = rowOf(p, load<u32>(at, 4));
  for (let i: u32 = 0; i < count; i++) {
    if (row == 0) return fail(E_CORRUPT, 1, i);
    window.push(row);
    p.retain(row);
    row = p.next(row);
  }
  return 0;
}
