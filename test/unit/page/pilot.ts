/** Plays the game in tests: heads for the ring, brakes, and avoids the rocks. */
import { limited } from "../../../page/record/game.ts";

export function pilot(state: ArrayLike<number>): [number, number] {
  const at = (i: number) => state[i] as number;
  let [x, y] = [3.5 * (at(4) - at(0)) - 2.4 * at(2), 3.5 * (at(5) - at(1)) - 2.4 * at(3)];
  for (const rock of [6, 8]) {
    const [dx, dy] = [at(0) - at(rock), at(1) - at(rock + 1)];
    const distance = Math.sqrt(dx * dx + dy * dy);
    if (distance > 0.3) continue;
    // The boat moves away from the rock, and around it on the side of the ring.
    const side = dx * (at(5) - at(1)) - dy * (at(4) - at(0)) > 0 ? 1 : -1;
    const push = (0.3 - distance) / 0.17;
    x += push * (1.6 * (dx / distance) - side * 1.2 * (dy / distance));
    y += push * (1.6 * (dy / distance) + side * 1.2 * (dx / distance));
  }
  return limited(x, y);
}
