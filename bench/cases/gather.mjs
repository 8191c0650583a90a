/** Wide steps: rows of 84 × 84 × 4 bytes, from a store that no cache holds, against one copy of the same bytes that lie together. */
import { Replay, u8, uniform } from "../../dist/index.js";
import { Random } from "../random.mjs";

const ROW = 84 * 84 * 4;
const ROWS = 4096;
const BATCH = 32;

function frames() {
  const random = new Random(13);
  return Uint8Array.from({ length: ROW }, () => random.below(256));
}

function ours() {
  const replay = new Replay({ spec: { frame: u8(84, 84, 4) }, tables: { t: { maxSize: ROWS, sampler: uniform() } }, seed: 1 });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  const frame = frames();
  for (let k = 0; k < ROWS; k++) writer.append({ frame });
  const table = replay.table("t");
  const options = { into: table.batch(BATCH, { length: 1 }) };
  return (n) => {
    for (let k = 0; k < n; k++) table.sample(BATCH, options);
    return options.into;
  };
}

/** At a random place of as large a store. */
function oneSet() {
  const store = new Uint8Array(ROW * ROWS);
  const frame = frames();
  for (let k = 0; k < ROWS; k++) store.set(frame, k * ROW);
  const random = new Random(17);
  const out = new Uint8Array(ROW * BATCH);
  return (n) => {
    for (let k = 0; k < n; k++) {
      const at = ROW * random.below(ROWS - BATCH + 1);
      out.set(store.subarray(at, at + ROW * BATCH));
    }
    return out;
  };
}

export const cases = [
  {
    name: `gather of ${BATCH} rows of ${ROW} bytes`,
    unit: "µs/batch",
    rivalName: "one TypedArray.set",
    limit: 0.8,
    make: () => ({ ours: ours(), rival: oneSet() }),
  },
];
