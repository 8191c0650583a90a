/** Sequences of 6 steps with a burn-in of 2, over an episode of 10 steps and its final observation. */
import { Drawing } from "./drawing.mjs";

const [LEFT, WIDTH, STEPS] = [124, 62, 10];
const at = (step) => LEFT + step * WIDTH;

/** The sequences that the rule makes: their first step, how many steps are burn-in, and the step that they only bootstrap from. */
export const SEQUENCES = [
  { name: "sequence 1", colour: "green", first: 0, burnIn: 0, bootstrap: 5 },
  { name: "sequence 2", colour: "violet", first: 3, burnIn: 2, bootstrap: 8 },
  { name: "sequence 3", colour: "pink", first: 6, burnIn: 2, bootstrap: 10 },
];
export const RULE = { length: 6, burnIn: 2 };

export function draw() {
  const drawing = new Drawing(
    900,
    370,
    "Sequences with burn-in",
    "Three sequences of up to six steps overlap over one episode. The first two steps of a sequence warm up the recurrent state, the last one is only bootstrapped from, and each step of the episode is learned from once.",
  );
  drawing.text(24, 32, "Every step is learned from once; burn-in only warms up the state", { size: 16, weight: 600 });
  drawing.text(24, 54, "items: [{ table, sequence: { length: 6, burnIn: 2 } }]", { fill: "dim", mono: true });
  drawing.text(24, 99, "episode", { weight: 600 });
  for (let step = 0; step <= STEPS; step++) {
    const isLast = step === STEPS;
    drawing.rect(at(step), 76, WIDTH, 36, { fill: isLast ? "last" : "step", stroke: "line" });
    drawing.text(at(step) + WIDTH / 2, 99, isLast ? "final" : `s${step}`, { anchor: "middle" });
  }
  for (const [i, { name, colour, first, burnIn, bootstrap }] of SEQUENCES.entries()) {
    const y = 132 + 54 * i;
    drawing.text(24, y + 23, name, { weight: 600, fill: colour });
    for (let step = first; step < first + RULE.length; step++) {
      const x = at(step) + 2;
      const width = WIDTH - 4;
      const middle = at(step) + WIDTH / 2;
      if (step > bootstrap) {
        drawing.rect(x, y, width, 36, { stroke: "line", dash: "3 3" });
        drawing.text(middle, y + 23, "padding", { size: 11, fill: "dim", anchor: "middle" });
      } else if (step === bootstrap) {
        drawing.rect(x, y, width, 36, { fill: "last", stroke: colour });
        drawing.text(middle, y + 23, "bootstrap", { size: 11, anchor: "middle" });
      } else if (step < first + burnIn) {
        drawing.rect(x, y, width, 36, { fill: "cell", stroke: colour, dash: "4 3" });
        drawing.text(middle, y + 23, "burn-in", { size: 11, fill: "dim", anchor: "middle" });
      } else {
        drawing.rect(x, y, width, 36, { fill: colour });
        drawing.text(middle, y + 23, `s${step}`, { fill: "paper", weight: 600, anchor: "middle" });
      }
    }
  }
  drawing.text(24, 316, "filled: learningMask 1", { size: 12, fill: "dim" });
  drawing.text(190, 316, 'stored state: the recurrent state at the first step of each sequence (state: ["hidden"])', {
    size: 12,
    fill: "dim",
  });
  drawing.text(24, 340, "The first sequence of an episode has no burn-in, since the state there is known.", {
    size: 12,
    fill: "dim",
  });
  return drawing.toString();
}
