/** Hindsight: a transition is stored with the goal that the agent had, and drawn with a goal that its episode came to. */
import { Drawing } from "./drawing.mjs";

const [CELL, LEFT, TOP] = [52, 40, 96];
/** The cells that the episode went through, and the goal that it missed. */
const PATH = [
  [0, 4],
  [1, 4],
  [1, 3],
  [2, 3],
  [3, 3],
  [3, 2],
  [3, 1],
];
const GOAL = [5, 0];
const NEW = 5;
const FROM = 2;
const centre = ([column, row]) => [LEFT + CELL * (column + 0.5), TOP + CELL * (row + 0.5)];

function goal(drawing, cell, colour, label) {
  const [x, y] = centre(cell);
  drawing.rect(x - 22, y - 22, 44, 44, { stroke: colour, rx: 6, strokeWidth: 2.5 });
  drawing.text(x + 28, y + 4, label, { size: 12, weight: 600, fill: colour });
}

export function draw() {
  const drawing = new Drawing(
    900,
    410,
    "Goals in hindsight",
    "An episode misses its goal. A drawn transition gets another goal, a place that the same episode reached later, so that its reward says something.",
  );
  drawing.text(24, 32, "A missed goal still teaches the way to the places on it", { size: 16, weight: 600 });
  drawing.text(24, 54, 'transitions({ gamma, relabel: { goal, achieved, strategy: "future", share: 0.8, reward } })', {
    fill: "dim",
    mono: true,
  });
  for (let row = 0; row < 5; row++)
    for (let column = 0; column < 7; column++)
      drawing.rect(LEFT + CELL * column, TOP + CELL * row, CELL, CELL, { fill: "cell", stroke: "grid" });
  drawing.path(`M${PATH.map((cell) => centre(cell).join(" ")).join("L")}`, { stroke: "line", width: 2 });
  drawing.arrow([centre(PATH[FROM]), centre(PATH[FROM + 1])], { stroke: "violet", width: 3.5 });
  for (const [step, cell] of PATH.entries()) {
    const [x, y] = centre(cell);
    drawing.circle(x, y, 11, { fill: step === FROM || step === FROM + 1 ? "violet" : "line" });
    drawing.text(x, y + 4, `${step}`, { size: 11, weight: 600, fill: "paper", anchor: "middle" });
  }
  goal(drawing, GOAL, "orange", "goal");
  goal(drawing, PATH[NEW], "green", "new goal");

  const x0 = 460;
  const table = (y, title, colour, cells) => {
    drawing.text(x0, y, title, { weight: 600, fill: colour });
    const widths = [110, 70, 110, 110];
    let x = x0;
    for (const [i, name] of ["observation", "action", "goal", "reward"].entries()) {
      drawing.text(x + widths[i] / 2, y + 22, name, { size: 12, fill: "dim", anchor: "middle" });
      drawing.rect(x, y + 30, widths[i], 32, { fill: "cell", stroke: "line" });
      const isNew = colour === "green" && i > 1;
      drawing.text(x + widths[i] / 2, y + 51, cells[i], {
        anchor: "middle",
        weight: isNew ? 600 : 400,
        fill: isNew ? "green" : "ink",
      });
      x += widths[i];
    }
  };
  table(112, "Stored, once", "orange", ["place 2", "right", "the corner", "−1"]);
  drawing.arrow([
    [660, 184],
    [660, 212],
  ]);
  drawing.text(672, 203, "a new goal for 4 rows of 5", { size: 12, fill: "dim" });
  table(236, "Drawn", "green", ["place 2", "right", "place 5", "reward(…)"]);
  drawing.text(x0, 326, "Your function reward computes the new rewards from the", { size: 12, fill: "dim" });
  drawing.text(x0, 344, "achieved places and the new goals. Stored steps stay as they are.", { size: 12, fill: "dim" });
  drawing.text(LEFT, 384, "violet: the drawn transition, from place 2 to place 3", { size: 12, fill: "dim" });
  return drawing.toString();
}
