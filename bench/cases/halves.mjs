/** Compares half floats with f32: the same numbers in half the memory, and the same batches. */
import { Replay, uniform } from "../package.mjs";
import { Random } from "../random.mjs";

const FORMS = {
  // The first two leaves are stored in the row. The third, an image, is stored in a separate column.
  "f16[64]": { leaf: { dtype: "f16", shape: [64] }, rows: 100_000, batch: 256 },
  "bf16[64]": { leaf: { dtype: "bf16", shape: [64] }, rows: 100_000, batch: 256 },
  "f16[84, 84]": { leaf: { dtype: "f16", shape: [84, 84] }, rows: 4096, batch: 256 },
};

function filled({ leaf, rows }, dtype) {
  const replay = new Replay({ spec: { x: { ...leaf, dtype } }, tables: { t: { maxSize: rows, sampler: uniform() } }, seed: 1 });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  const random = new Random(23);
  const size = leaf.shape.reduce((a, b) => a * b);
  const steps = Array.from({ length: 64 }, () => ({ x: Float32Array.from({ length: size }, () => random.below(2048) / 8) }));
  for (let k = 0; k < rows; k++) writer.append(steps[k & 63]);
  return { replay, writer, steps };
}

function drawing(form, dtype) {
  const table = filled(form, dtype).replay.table("t");
  const options = { into: table.batch(form.batch, { length: 1 }) };
  return (n) => {
    for (let k = 0; k < n; k++) table.sample(form.batch, options);
    return options.into;
  };
}

function appending(form, dtype) {
  const { writer, steps } = filled(form, dtype);
  return (n) => {
    for (let k = 0; k < n; k++) writer.append(steps[k & 63]);
    return writer.length;
  };
}

function besideF32(name, unit, form, side, limit) {
  return { name, unit, rivalName: "the same of f32", limit, ours: () => side(form, form.leaf.dtype), rival: () => side(form, "f32") };
}

export const cases = Object.entries(FORMS).flatMap(([name, form]) => [
  besideF32(`draw of ${form.batch} × ${name}`, "µs/batch", form, drawing, 0.45),
  besideF32(`append of ${name}`, "ns/step", form, appending),
]);
