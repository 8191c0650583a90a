/** Behaviour cloning from a Replay of demonstrations: the clone docks in games that nobody played. */
import { memory } from "reprise/storage";
import { expect, it } from "vitest";
import { BATCH, Clone } from "../../../page/record/clone.ts";
import { Demonstrations } from "../../../page/record/demonstrations.ts";
import { Game } from "../../../page/record/game.ts";
import { CAMERA } from "../../../page/record/picture.ts";
import { pilot } from "./pilot.ts";

it("learns to dock from 40 demonstrations, the same each time", async () => {
  const { demonstrations: store } = await Demonstrations.open(memory());
  const image = new Uint8Array(CAMERA * CAMERA * 3);
  for (let seed = 0; seed < 40; seed++) {
    const game = new Game(seed);
    store.begin(seed);
    for (;;) {
      const state = game.observation();
      const action = pilot(state);
      const { reward, end } = game.step(action);
      store.add({ observation: { state, image }, action, reward });
      if (end === undefined) continue;
      store.end(end, { state: game.observation(), image });
      break;
    }
    await store.flush();
  }
  const clone = new Clone(1);
  const unseen = Array.from({ length: 20 }, (_, i) => 1000 + i);
  const before = clone.trial(unseen);
  const errors: number[] = [];
  const UPDATES = 500;
  for (let i = 0; i < UPDATES; i++) {
    const batch = store.lesson(BATCH);
    errors.push(clone.learn(batch.steps, i / UPDATES));
    batch.release();
  }
  expect(errors.slice(-50).reduce((sum, one) => sum + one, 0) / 50).toBeLessThan((errors[0] as number) / 3);
  expect(before).toBeLessThan(5);
  const after = clone.trial(unseen);
  expect(after).toBeGreaterThan(14);
  clone.dispose();
});
