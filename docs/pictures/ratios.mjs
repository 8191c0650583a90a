/** The ratios of bench/README.md on a log scale, those below 1 included. */
import { readFileSync } from "node:fs";
import { Drawing } from "./drawing.mjs";

/** Rows of bench/README.md, and their names in the picture. */
export const ROWS = [
  ["uniform sample of 256, tfjs snake", "uniform sample of 256", "the TensorFlow.js snake example"],
  ["steps over a WebSocket", "a step over a WebSocket", "a JSON message per step"],
  ["uniform sample of 256, object ring", "uniform sample of 256", "an array of step objects"],
  ["rlds steps of half_cheetah", "steps of half-cheetah, TFDS files", "tensorflow_datasets in Python"],
  ["prioritized cycle", "prioritized draw of 256, weights, update", "sum trees in JavaScript, batched"],
  ["uniform sample of 256", "uniform sample of 256", "a ring of typed arrays"],
  ["nested append + item by rule, object ring", "append with an item that evicts another", "an array of step objects"],
  ["observer call, trajectory of 2", "a call of an observer", "our own append and createItem"],
  ["gather of 32 rows of 28224 bytes", "a window of 32 images of 28 KB", "one TypedArray.set"],
  ["draw of 256 × f16[84, 84]", "256 images as half floats", "the same as f32"],
  ["columns of 256 steps + items", "append in blocks of 256", "a ring of typed arrays, without keys"],
  ["getNext of 256 × 2, episodic", "getNext of TF-Agents' episodic buffer", "our own table.sample"],
  ["staged append + item by rule", "append with an item, one by one", "a ring of typed arrays, without keys"],
  ["staged append + item by rule, closure", "append with an item, one by one", "bare arrays that nothing reads"],
];
const [LOWEST, HIGHEST] = [0.1, 1000];
const [LEFT, RIGHT, TOP, PITCH] = [300, 880, 76, 34];

/** The ratio of each row of the page. @throws Error for a name that it does not have */
export function ratiosOf(page) {
  const found = new Map();
  for (const line of page.split("\n")) {
    const [, name, , , , ratio] = line.split("|").map((cell) => cell.trim());
    if (Number(ratio) > 0 && !found.has(name)) found.set(name, Number(ratio));
  }
  return ROWS.map(([name]) => {
    if (!found.has(name)) throw new Error(`bench/README.md has no row "${name}"`);
    return found.get(name);
  });
}

const x = (ratio) => LEFT + ((RIGHT - LEFT) * Math.log(ratio / LOWEST)) / Math.log(HIGHEST / LOWEST);

export function draw(page = readFileSync(new URL("../../bench/README.md", import.meta.url), "utf8")) {
  const ratios = ratiosOf(page);
  const bottom = TOP + PITCH * ROWS.length;
  const drawing = new Drawing(
    940,
    bottom + 66,
    "Speed of Reprise against other ways in the same runtime, on a log scale",
    ROWS.map(([, label, rival], i) => `${label}, against ${rival}: ${ratios[i]}`).join(". "),
  );
  drawing.text(24, 32, "How many times as fast as the other way", { size: 16, weight: 600 });
  drawing.text(24, 54, "log scale: each line is ten times the one before", { size: 12, fill: "dim" });
  for (const ratio of [0.1, 1, 10, 100, 1000]) {
    const isOne = ratio === 1;
    const line = `M${x(ratio)} ${TOP - 10}V${bottom + 4}`;
    drawing.path(line, { stroke: isOne ? "ink" : "grid", width: isOne ? 1.5 : 1 });
    drawing.text(x(ratio), bottom + 22, `${ratio}×`, { size: 12, fill: "dim", anchor: "middle" });
  }
  for (const [i, [, label, rival]] of ROWS.entries()) {
    const ratio = ratios[i];
    const y = TOP + PITCH * i;
    drawing.text(LEFT - 14, y + 8, label, { anchor: "end" });
    drawing.text(LEFT - 14, y + 23, `against ${rival}`, { size: 11, fill: "dim", anchor: "end" });
    const [from, to] = [x(Math.min(1, ratio)), x(Math.max(1, ratio))];
    drawing.rect(from, y + 2, to - from, 18, { fill: ratio < 1 ? "orange" : "blue" });
    // A loss is written on the right of the line at 1, where nothing is in its way.
    const figure = ratio >= 100 ? ratio.toFixed(0) : ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2);
    drawing.text(to + 8, y + 16, `${figure}×`, { size: 12, weight: 600 });
  }
  drawing.rect(24, bottom + 38, 12, 12, { fill: "blue" });
  drawing.text(42, bottom + 49, "Reprise is faster", { size: 12, fill: "dim" });
  drawing.rect(170, bottom + 38, 12, 12, { fill: "orange" });
  drawing.text(188, bottom + 49, "Reprise is slower", { size: 12, fill: "dim" });
  drawing.text(916, bottom + 49, "figures, machine and dates: bench/README.md", {
    size: 12,
    fill: "dim",
    anchor: "end",
  });
  return drawing.toString();
}
