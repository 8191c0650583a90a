/** Measures wide steps: rows of 84 × 84 × 4 bytes from a store of 116 MB, compared with one contiguous copy of the same bytes. */
import { Replay, u8, uniform } from "../package.mjs";
import { Random } from "../random.mjs";

const ROW = 84 * 84 * 4;
const ROWS = 4096;
const BATCH = 32;

function frames() {
  const random = new Random(13);
  return Uint8Array.from({ length: ROW }, () => random.below(256));
}

/** Returns a side that draws batches of `items` items of `length` steps each. A batch has BATCH rows in total. */
function ours(items, length) {
  const replay = new Replay({ spec: { frame: u8(84, 84, 4) }, tables: { t: { maxSize: ROWS, sampler: uniform() } }, seed: 1 });
  const writer = replay.writer({ items: [{ table: "t", length }] });
  const frame = frames();
  for (let k = 0; k < ROWS; k++) writer.append({ frame });
  const table = replay.table("t");
  const options = { into: table.batch(items, { length }) };
  return (n) => {
    for (let k = 0; k < n; k++) table.sample(items, options);
    return options.into;
  };
}

/** Returns a rival that copies BATCH rows per batch from an array of the same size, in `sets` copies that each begin at a random row. */
function copies(sets) {
  const store = new Uint8Array(ROW * ROWS);
  const frame = frames();
  for (let k = 0; k < ROWS; k++) store.set(frame, k * ROW);
  const random = new Random(17);
  const out = new Uint8Array(ROW * BATCH);
  const rows = BATCH / sets;
  return (n) => {
    for (let k = 0; k < n; k++) {
      for (let to = 0; to < out.length; to += ROW * rows) {
        const at = ROW * random.below(ROWS - rows + 1);
        out.set(store.subarray(at, at + ROW * rows), to);
      }
    }
    return out;
  };
}

function against(name, items, length, sets, rest) {
  const rivalName = sets === 1 ? "one TypedArray.set" : `${sets} TypedArray.sets`;
  return { name, unit: "µs/batch", rivalName, ours: () => ours(items, length), rival: () => copies(sets), ...rest };
}

export const cases = [
  // The limit for windows is a contiguous copy. Scattered rows are compared with it, and with the same number of copies.
  against(`gather of ${BATCH} rows of ${ROW} bytes`, 1, BATCH, 1, { limit: 0.8 }),
  against(`gather of ${BATCH} scattered rows of ${ROW} bytes`, BATCH, 1, 1),
  against(`gather of ${BATCH} scattered rows, row by row`, BATCH, 1, BATCH, { again: true }),
];
