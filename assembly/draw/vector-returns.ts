/** Computes n-step returns of vector rewards, component by component, with the steps and discounts from `draw_n_step`. */
import { dtypeBytes, readNumber } from "../rows/leaf";
import { Pool } from "../rows/pool";
import { Draw, STEPS } from "./draw";
import { NONE, Returns } from "./n-step";

/**
 * Call this function after `draw_n_step` with the same arguments, and before rows are gathered, because `gather` overwrites the rows' addresses.
 * Fills f64 × components (f32 if `narrow`) for each entry, from `out` on, with the return of each of the first `components` numbers of the
 * reward. O(count × n × components)
 */
export function draw_vector_returns(
  draw: usize,
  pool: usize,
  reward: u32,
  components: u32,
  discount: u32,
  terminatedLeaf: u32,
  gamma: f64,
  narrow: u32,
  out: usize,
): void {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  const leaf = p.leaf(reward);
  const each = dtypeBytes(leaf.dtype);
  const width = <usize>(d.width << 2);
  const addresses = <usize>(d.addresses - d.rows);
  // The factors (f64 × width) begin at `selected`. In a draw of one entry, they also overwrite its addresses, but each address only after it has been read.
  const factors = <usize>d.selected;
  let window = <usize>d.rows;
  for (let i: u32 = 0; i < d.count; i++, window += width) {
    const end = window + ((<usize>load<u32>(d.u32At(STEPS, i))) << 2);
    let factor: f64 = 1;
    let to = factors;
    for (let at = window; at < end; at += 4, to += 8) {
      const bytes = <usize>load<u32>(at + addresses);
      store<f64>(to, factor);
      let alive: f64 = 1;
      if (discount != NONE) alive = Returns.number(p, bytes, discount);
      if (terminatedLeaf != NONE && Returns.number(p, bytes, terminatedLeaf) != 0) alive = 0;
      factor *= gamma * alive;
    }
    for (let c: u32 = 0; c < components; c++) {
      let sum: f64 = 0;
      to = factors;
      for (let at = window; at < end; at += 4, to += 8) sum += load<f64>(to) * readNumber(p.value(load<u32>(at), leaf) + <usize>(c * each), leaf.dtype);
      if (narrow != 0) {
        store<f32>(out, <f32>sum);
        out += 4;
      } else {
        store<f64>(out, sum);
        out += 8;
      }
    }
  }
}
