/** Actors on other machines: steps come over sockets, and weights go back. */
import { Drawing } from "./drawing.mjs";

const ACTORS = [
  { name: "a page", note: "a player, and the policy", colour: "green" },
  { name: "a Node process", note: "a simulator, and the policy", colour: "violet" },
  { name: "a Deno process", note: "the same, on another machine", colour: "pink" },
];

function box(drawing, x, y, width, height, title, colour) {
  drawing.rect(x, y, width, height, { fill: "cell", stroke: colour, rx: 6, strokeWidth: 1.5 });
  drawing.text(x + 14, y + 24, title, { weight: 600, fill: colour === "line" ? "ink" : colour });
}

export function draw() {
  const drawing = new Drawing(
    900,
    400,
    "Actors over sockets",
    "Three actors send blocks of steps over WebSockets to one process with a Replay and a learner. Confirmations and the learner's weights go back over the same sockets.",
  );
  drawing.text(24, 32, "Actors append from anywhere; one process stores and learns", { size: 16, weight: 600 });
  for (const [i, { name, note, colour }] of ACTORS.entries()) {
    const y = 62 + 106 * i;
    box(drawing, 24, y, 240, 86, name, colour);
    drawing.text(38, y + 44, note, { size: 12, fill: "dim" });
    drawing.text(38, y + 68, "remoteWriter(url, { spec })", { size: 12, mono: true });
    drawing.arrow(
      [
        [268, y + 34],
        [474, y + 34],
      ],
      { stroke: colour },
    );
    drawing.arrow(
      [
        [474, y + 56],
        [268, y + 56],
      ],
      { stroke: "line", dash: "5 4" },
    );
    if (i > 0) continue;
    drawing.text(371, y + 26, "blocks of steps", { size: 12, fill: colour, anchor: "middle" });
    drawing.text(371, y + 74, "confirmations, weights", { size: 12, fill: "dim", anchor: "middle" });
  }
  box(drawing, 480, 62, 396, 298, "one process: memory and learner", "line");
  for (const [i, { colour }] of ACTORS.entries()) {
    const y = 96 + 106 * i - (i === 0 ? 0 : 8);
    const top = i === 0 ? 100 : y;
    drawing.rect(496, top, 150, 30, { fill: "paper", stroke: colour, rx: 4 });
    drawing.text(571, top + 20, "acceptWriter(socket)", { size: 12, mono: true, anchor: "middle" });
  }
  drawing.rect(690, 100, 170, 94, { fill: "step", stroke: "line", rx: 4 });
  drawing.text(775, 126, "Replay", { weight: 600, anchor: "middle" });
  drawing.text(775, 148, "each step once,", { size: 12, fill: "dim", anchor: "middle" });
  drawing.text(775, 166, "limits for each actor", { size: 12, fill: "dim", anchor: "middle" });
  drawing.arrow([
    [646, 115],
    [684, 130],
  ]);
  drawing.arrow([
    [646, 208],
    [684, 170],
  ]);
  drawing.arrow([
    [646, 310],
    [672, 260],
    [692, 200],
  ]);
  drawing.rect(690, 248, 170, 92, { fill: "paper", stroke: "blue", rx: 4 });
  drawing.text(775, 272, "learner", { weight: 600, fill: "blue", anchor: "middle" });
  drawing.text(775, 294, "sample, update", { size: 12, fill: "dim", anchor: "middle" });
  drawing.text(775, 316, "replay.publish(weights)", { size: 11, mono: true, anchor: "middle" });
  drawing.arrow(
    [
      [750, 194],
      [750, 244],
    ],
    { stroke: "blue" },
  );
  drawing.arrow(
    [
      [800, 248],
      [800, 198],
    ],
    { stroke: "blue" },
  );
  drawing.text(744, 224, "batches", { size: 11, fill: "dim", anchor: "end" });
  drawing.text(806, 224, "priorities", { size: 11, fill: "dim" });
  drawing.text(
    24,
    386,
    "A connection that breaks is made again: no step is lost that was confirmed, and none is stored twice.",
    {
      size: 12,
      fill: "dim",
    },
  );
  return drawing.toString();
}
