/** How a step becomes rows of batches: steps that are stored once, items that overlap, and priorities that come back by key. */
import { Drawing } from "./drawing.mjs";

const WIDTH = 84;
const LEFT = 24;
/** The x of the left edge of a step's cell. */
const at = (step) => LEFT + step * WIDTH;

const ITEMS = [
  { name: "A", colour: "green", first: 0, last: 3, steps: "3 steps", priority: "0.9" },
  { name: "B", colour: "violet", first: 1, last: 4, steps: "3 steps", priority: "0.2" },
  { name: "C", colour: "pink", first: 2, last: 4, steps: "2 steps: the episode ends", priority: "0.4" },
  { name: "D", colour: "orange", first: 3, last: 4, steps: "1 step", priority: "0.1" },
];
const [A, , C] = ITEMS;
const ROWS = [
  { item: A, cells: ["s0", "a0", "r0+γr1+γ²r2", "γ³", "s3"] },
  { item: C, cells: ["s2", "a2", "r2+γr3", "0", "s4"] },
  { item: A, cells: ["s0", "a0", "r0+γr1+γ²r2", "γ³", "s3"] },
];
const COLUMNS = [
  { name: "observation", width: 84 },
  { name: "action", width: 52 },
  { name: "returns", width: 104 },
  { name: "discounts", width: 70 },
  { name: "nextObservation", width: 98 },
];

export function draw() {
  const drawing = new Drawing(
    960,
    560,
    "How Reprise works",
    "A writer stores each step once. Four items refer to overlapping runs of steps. A sample copies the runs of the drawn items into typed arrays, and new priorities go back to the items by key.",
  );
  drawing.text(LEFT, 34, "1  Write", { size: 16, weight: 600 });
  drawing.text(LEFT, 56, "writer.append({ observation, action, reward })", { fill: "dim", mono: true });
  drawing.arrow([
    [66, 66],
    [66, 96],
  ]);
  drawing.text(86, 88, "Steps: each one is stored once, in WebAssembly memory", { fill: "dim" });
  for (let step = 0; step < 4; step++) {
    drawing.rect(at(step), 102, WIDTH, 40, { fill: "step", stroke: "line" });
    drawing.text(at(step) + WIDTH / 2, 127, `s${step} a${step} r${step}`, { size: 14, anchor: "middle" });
  }
  drawing.rect(at(4), 102, WIDTH, 40, { fill: "last", stroke: "line" });
  drawing.text(at(4) + WIDTH / 2, 127, "s4", { size: 14, anchor: "middle" });
  drawing.text(at(5) + 8, 118, "the final observation, from", { size: 12, fill: "dim" });
  drawing.text(at(5) + 8, 136, "endEpisode({ final, terminated: true })", { size: 12, fill: "dim", mono: true });
  for (const [i, { name, colour, first, last, steps }] of ITEMS.entries()) {
    const y = 152 + 34 * i;
    const [x0, x1] = [at(first) + 4, at(last + 1) - 4];
    drawing.path(`M${x0} ${y}v8H${x1}v-8`, { stroke: colour, width: 2 });
    const text = `item ${name}: s${first} → s${last} (${steps})`;
    const middle = i < 3;
    drawing.text(middle ? (x0 + x1) / 2 : x1, y + 24, text, {
      size: 12,
      weight: 600,
      fill: colour,
      anchor: middle ? "middle" : "end",
    });
  }

  drawing.text(LEFT, 332, "2  Store", { size: 16, weight: 600 });
  drawing.text(LEFT, 354, "A table holds items: references to runs of steps", { fill: "dim" });
  for (const [i, { name, colour, priority }] of ITEMS.entries()) {
    const x = LEFT + 108 * i;
    drawing.rect(x, 368, 98, 48, { fill: "cell", stroke: colour, rx: 4, strokeWidth: 1.5 });
    drawing.text(x + 49, 388, `item ${name}`, { weight: 600, fill: colour, anchor: "middle" });
    drawing.text(x + 49, 406, `priority ${priority}`, { size: 12, fill: "dim", anchor: "middle" });
  }
  drawing.text(LEFT, 440, "sampler: which items are drawn", { fill: "dim", size: 12 });
  drawing.text(LEFT, 458, "remover: which item leaves a full table", { fill: "dim", size: 12 });
  drawing.text(LEFT, 476, "rate limiter: when inserts and draws wait", { fill: "dim", size: 12 });

  const x0 = 536;
  drawing.text(x0, 240, "3  Draw", { size: 16, weight: 600 });
  drawing.text(x0, 262, "transitions.sample(3)", { fill: "dim", mono: true });
  drawing.text(x0 + 178, 262, "copies into typed arrays", { fill: "dim" });
  drawing.arrow([
    [456, 392],
    [494, 392],
    [494, 340],
    [530, 340],
  ]);
  let x = x0;
  for (const { name, width } of COLUMNS) {
    drawing.text(x + width / 2, 290, name, { size: 12, fill: "dim", anchor: "middle" });
    x += width;
  }
  for (const [row, { item, cells }] of ROWS.entries()) {
    let left = x0;
    for (const [i, { width }] of COLUMNS.entries()) {
      drawing.rect(left, 298 + 30 * row, width, 30, { fill: "cell", stroke: "line" });
      const y = 318 + 30 * row;
      drawing.text(left + width / 2, y, cells[i], { size: 12, weight: 600, fill: item.colour, anchor: "middle" });
      left += width;
    }
  }
  drawing.text(x0, 410, "discount 0: the episode terminated at s4", { size: 12, fill: "dim" });
  drawing.text(x0, 428, "A came twice: its priority is the highest", {
    size: 12,
    fill: "dim",
  });

  drawing.text(LEFT, 510, "4  Learn", { size: 16, weight: 600 });
  drawing.text(x0, 520, "table.updatePriorities(batch.keys, errors)", { fill: "dim", mono: true });
  const loop = [
    [740, 440],
    [740, 500],
    [360, 500],
    [360, 424],
  ];
  drawing.arrow(loop, { dash: "5 4" });
  drawing.text(LEFT, 532, "Your errors become the new priorities, by key:", { fill: "dim", size: 12 });
  drawing.text(LEFT, 548, "a late update never reaches another item.", { fill: "dim", size: 12 });
  return drawing.toString();
}
