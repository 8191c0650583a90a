/** A stream as a record. */
import { E_CORRUPT, fail } from "../memory/error";
import { numberOf } from "../rows/pool";
import { LINK_ROW } from "../rows/row";
import { Stream } from "../rows/stream";
import { exchange, transfer } from "./names";

/** A stream: last row, rows in the window, episode, steps of it, whether the next step opens one, then the window's rows (u32 each); 0, or CORRUPT. */
export function stream_record(stream: usize, at: usize, saving: u32): i32 {
  const s = changetype<Stream>(stream);
  const p = s.rows();
  const window = s.recent();
  transfer(stream + offsetof<Stream>("episode"), at + 8, 12, saving);
  if (saving != 0) {
    store<u32>(at, numberOf(p, s.last));
    store<u32>(at, window.count, 4);
  } else {
    s.last = exchange(p, load<u32>(at), 0);
    if (s.last > LINK_ROW || load<u32>(at, 4) > window.capacity) return fail(E_CORRUPT, 1, s.last);
  }
  const count = load<u32>(at, 4);
  for (let i: u32 = 0; i < count; i++) {
    at += 4;
    if (saving != 0) store<u32>(at, numberOf(p, window.get(i)), 16);
    else {
      const row = exchange(p, load<u32>(at, 16), 0);
      if (row == 0 || row > LINK_ROW) return fail(E_CORRUPT, 1, row);
      window.push(row);
      p.retain(row);
    }
  }
  return 0;
}
