import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { seeded } from "../../../examples/random.js";
import { BOAT, Game, limited, MAX_STEPS, RING, ROCK } from "../../../page/record/game.ts";
import { CAMERA, Painter } from "../../../page/record/picture.ts";
import { pilot } from "./pilot.ts";

function played(seed: number, act: (state: Float32Array) => [number, number]) {
  const game = new Game(seed);
  const rewards: number[] = [];
  for (;;) {
    const { reward, end } = game.step(act(game.observation()));
    rewards.push(reward);
    if (end !== undefined) return { game, rewards, end };
  }
}

it("a game starts at a distance from rocks, ring and edge", () => {
  for (let seed = 0; seed < 500; seed++) {
    const { state } = new Game(seed);
    const at = (i: number) => [state[i] as number, state[i + 1] as number] as const;
    const apart = (a: number, b: number) => Math.hypot(at(a)[0] - at(b)[0], at(a)[1] - at(b)[1]);
    expect(apart(0, 4)).toBeGreaterThanOrEqual(0.5);
    for (const rock of [6, 8]) {
      expect(apart(0, rock)).toBeGreaterThan(BOAT + ROCK);
      expect(apart(4, rock)).toBeGreaterThan(RING + ROCK + BOAT);
    }
    for (const thing of [0, 4, 6, 8]) for (const place of at(thing)) expect(place > BOAT && place < 1 - BOAT).toBe(true);
  }
});

it("a game ends docked, wrecked or late, and the pilot's games end with the matching reward", () => {
  const ends = new Map<string, number>();
  for (let seed = 0; seed < 100; seed++) {
    const { end, rewards } = played(seed, pilot);
    ends.set(end, (ends.get(end) ?? 0) + 1);
    expect(rewards.at(-1)).toBeCloseTo({ docked: 1, wrecked: -1, late: 0 }[end] - 1 / MAX_STEPS);
    for (const reward of rewards.slice(0, -1)) expect(reward).toBe(-1 / MAX_STEPS);
  }
  expect(ends.get("docked")).toBeGreaterThan(90);
  expect(played(1, () => [0, 0])).toMatchObject({ end: "late", game: { steps: MAX_STEPS } });
  const wreck = (state: ArrayLike<number>) => limited((state[6] as number) - (state[0] as number), (state[7] as number) - (state[1] as number));
  expect(played(3, wreck).end).toBe("wrecked");
});

it("limits an action to length 1, and limiting it again changes nothing", () => {
  expect(limited(1, 0)).toEqual([1, 0]);
  expect(limited(0.2, 0.3)).toEqual([Math.fround(0.2), Math.fround(0.3)]);
  const random = seeded(1);
  for (let i = 0; i < 1000; i++) {
    const action = limited(4 * random() - 2, 4 * random() - 2);
    expect(limited(...action)).toEqual(action);
    expect(Math.hypot(...action)).toBeLessThan(1.000001);
  }
});

it("produces the same states and pictures for the same seed and actions, in every runtime", () => {
  const hash = createHash("sha256");
  const painter = new Painter(CAMERA, 3);
  const pixels = new Uint8Array(CAMERA * CAMERA * 3);
  const random = seeded(11);
  const game = new Game(11);
  for (let t = 0; t < 40; t++) {
    const action = limited(2 * random() - 1, 2 * random() - 1);
    painter.paint(pixels, game.state, action);
    hash.update(pixels).update(new Uint8Array(game.observation().buffer));
    game.step(action);
  }
  expect(hash.digest("hex").slice(0, 16)).toBe("ac723cf56a6fae37");
});

it("paints the same picture in RGB and in opaque RGBA", () => {
  const [three, four] = [new Uint8Array(32 * 32 * 3), new Uint8ClampedArray(32 * 32 * 4)];
  new Painter(32, 3).paint(three, new Game(2).state, [0, 1]);
  new Painter(32, 4).paint(four, new Game(2).state, [0, 1]);
  for (let i = 0; i < 32 * 32; i++) {
    expect([...four.subarray(4 * i, 4 * i + 3)]).toEqual([...three.subarray(3 * i, 3 * i + 3)]);
    expect(four[4 * i + 3]).toBe(255);
  }
});
