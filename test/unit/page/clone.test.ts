/** Tests behaviour cloning from a Replay of demonstrations: the clone must dock in unseen games. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { memory } from "reprise/storage";
import { expect, it } from "vitest";
import { BATCH, Clone } from "../../../page/record/clone.ts";
import { Demonstrations } from "../../../page/record/demonstrations.ts";
import { Game } from "../../../page/record/game.ts";
import { CAMERA } from "../../../page/record/picture.ts";
import { scaled, whole } from "../../support/size.ts";
import { pilot } from "./pilot.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Returns a store of demonstrations in which the pilot has docked `episodes` times. */
async function demonstrated(episodes: number): Promise<Demonstrations> {
  const { demonstrations: store } = await Demonstrations.open(memory());
  const image = new Uint8Array(CAMERA * CAMERA * 3);
  for (let seed = 0; seed < episodes; seed++) {
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
  return store;
}

/** Makes one update and returns the error. */
function learn(clone: Clone, store: Demonstrations, share: number): number {
  const batch = store.lesson(BATCH);
  const error = clone.learn(batch.steps, share);
  batch.release();
  return error;
}

it.runIf(whole)("learns to dock in unseen games from 40 demonstrations", async () => {
  const store = await demonstrated(40);
  const clone = new Clone(1);
  const unseen = Array.from({ length: 20 }, (_, i) => 1000 + i);
  const before = clone.trial(unseen);
  const errors: number[] = [];
  const UPDATES = 500;
  for (let i = 0; i < UPDATES; i++) errors.push(learn(clone, store, i / UPDATES));
  expect(errors.slice(-50).reduce((sum, one) => sum + one, 0) / 50).toBeLessThan((errors[0] as number) / 3);
  expect(before).toBeLessThan(5);
  const after = clone.trial(unseen);
  expect(after).toBeGreaterThan(14);
  clone.dispose();
});

it("a clone leaves no memory behind after dispose", async () => {
  const store = await demonstrated(1);
  const cloned = (count: number): number => {
    for (let i = 0; i < count; i++) {
      const clone = new Clone(1);
      learn(clone, store, 0);
      clone.trial([1]);
      clone.dispose();
    }
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = cloned(scaled(2, 1));
  expect(cloned(scaled(10, 2)) - before).toBeLessThan(scaled(2, 1) * 2 ** 20);
});
