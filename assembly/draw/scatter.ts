/** Scatter writes the values of outputs back to the steps that the outputs show. Scatter is the inverse of `gather`. */
import { copyBytes } from "../memory/bytes";
import { BYTES, tracking } from "../rows/changes";
import { Pool } from "../rows/pool";
import { Draw } from "./draw";
import { chooseRows, OUTPUT_BYTES, Output } from "./output";

/**
 * Writes the values of outputs (OUTPUT × n), stored where `to` points, to the steps that the outputs show in all entries, and skips padding. If several values
 * go to the same step, the last one is kept. Supports NARROW and WIDE leaves. Returns how many values were written. O(bytes)
 */
export function scatter(draw: usize, pool: usize, outputs: usize, n: u32): u32 {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  let written: u32 = 0;
  for (let k: u32 = 0; k < n; k++, outputs += OUTPUT_BYTES) {
    const o = changetype<Output>(outputs);
    const leaf = p.leaf(o.leaf);
    assert(leaf.frames == 1, "a value that other steps share stays");
    let from = <usize>o.to;
    for (let i: u32 = 0; i < d.count; i++) {
      chooseRows(d, i, o.steps + ((i * o.each) << 2), o.count);
      for (let at = <usize>d.selected, end = at + ((<usize>o.count) << 2); at < end; at += 4, from += <usize>leaf.bytes) {
        const row = load<u32>(at);
        if (row == 0) continue;
        copyBytes(p.value(row, leaf), from, leaf.bytes);
        if (tracking()) p.noteChange(row, BYTES);
        written += 1;
      }
    }
  }
  return written;
}
