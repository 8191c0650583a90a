/** Draws packed frames: most frames are stored as the bytes that differ from the frame before. */
import { Drawing } from "./drawing.mjs";

const [LEFT, SIZE, GAP, FRAMES] = [40, 78, 16, 9];
/** The most patches between a frame and a whole one, as docs/guides/images.md states. */
const MOST = 7;
const at = (frame) => LEFT + frame * (SIZE + GAP);
const ball = (frame) => [14 + 6 * frame, 14 + 5 * frame];
const PADDLE = 66;

export function draw() {
  const drawing = new Drawing(
    900,
    400,
    "Packed frames",
    "Nine frames of a game in which a ball moves. The first and the ninth frame are stored whole. Only the changed pixels of the seven frames between them are stored. A stack of four frames refers to four of them.",
  );
  drawing.text(24, 32, "Most frames are stored as changed bytes only", { size: 16, weight: 600 });
  drawing.text(24, 54, 'observation: packed("frames", u8(84, 84), 4)', { fill: "dim", mono: true });
  drawing.text(LEFT, 92, "what the game shows", { size: 12, fill: "dim" });
  drawing.text(LEFT, 222, "what is stored", { size: 12, fill: "dim" });
  for (let frame = 0; frame < FRAMES; frame++) {
    const x = at(frame);
    const [bx, by] = ball(frame);
    drawing.rect(x, 102, SIZE, SIZE, { fill: "cell", stroke: "line" });
    drawing.rect(x + bx, 102 + by, 8, 8, { fill: "orange" });
    drawing.rect(x + 24, 102 + PADDLE, 28, 5, { fill: "blue" });
    const isWhole = frame % (MOST + 1) === 0;
    drawing.rect(x, 232, SIZE, SIZE, {
      fill: isWhole ? "cell" : undefined,
      stroke: "line",
      dash: isWhole ? undefined : "3 3",
    });
    if (isWhole) drawing.rect(x + 24, 232 + PADDLE, 28, 5, { fill: "blue" });
    else {
      const [ox, oy] = ball(frame - 1);
      drawing.rect(x + ox, 232 + oy, 8, 8, { fill: "cell", stroke: "orange" });
    }
    drawing.rect(x + bx, 232 + by, 8, 8, { fill: "orange" });
    if (!isWhole)
      drawing.arrow([
        [x - 1, 271],
        [x - GAP + 1, 271],
      ]);
    drawing.text(x + SIZE / 2, 328, isWhole ? "whole" : `patch ${frame % (MOST + 1)}`, {
      size: 12,
      weight: isWhole ? 600 : 400,
      fill: isWhole ? "ink" : "dim",
      anchor: "middle",
    });
  }
  drawing.path(`M${at(2)} 190v8H${at(5) + SIZE}v-8`, { stroke: "violet", width: 2 });
  drawing.text((at(2) + at(5) + SIZE) / 2, 212, "one observation: a stack of four frames, by reference", {
    size: 12,
    weight: 600,
    fill: "violet",
    anchor: "middle",
  });
  drawing.text(24, 360, "At most seven patches lead back to a whole frame, so a draw never follows a long chain.", {
    size: 12,
    fill: "dim",
  });
  drawing.text(24, 380, "Nothing is lost: a batch has the same pixels as without packing.", { size: 12, fill: "dim" });
  return drawing.toString();
}
