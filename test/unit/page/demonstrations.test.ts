/** Tests the store of the room Record: acknowledged data must survive a crash at any byte. */
import { type MemoryDirectory, memory } from "reprise/storage";
import { expect, it } from "vitest";
import { seeded } from "../../../examples/random.js";
import { CAPACITY, Demonstrations, type Ending } from "../../../page/record/demonstrations.ts";
import { Game, limited, MAX_STEPS } from "../../../page/record/game.ts";
import { CAMERA, Painter } from "../../../page/record/picture.ts";
import { scaled, whole } from "../../support/size.ts";

const painter = new Painter(CAMERA, 3);

function seen(game: Game) {
  const image = new Uint8Array(CAMERA * CAMERA * 3);
  painter.paint(image, game.state, [0, 0]);
  return { state: game.observation(), image };
}

/** Plays randomly until the game ends or the number of steps is reached. */
function play(store: Demonstrations, seed: number, most = 300): Ending {
  const game = new Game(seed);
  const random = seeded(seed);
  store.begin(seed);
  for (let t = 0; t < most; t++) {
    const observation = seen(game);
    const action = limited(2 * random() - 1, 2 * random() - 1);
    const { reward, end } = game.step(action);
    store.add({ observation, action, reward });
    if (end === undefined) continue;
    store.end(end, seen(game));
    return end;
  }
  return "stopped";
}

const CRASHES = scaled(25, 3);
const opened = (dir: MemoryDirectory) => Demonstrations.open(dir);

it("the store returns recorded episodes step by step, with the final observation", async () => {
  const { demonstrations: store, cut } = await opened(memory());
  expect(cut).toBe(undefined);
  for (const seed of [1, 2, 3]) play(store, seed);
  expect(store.episodes.map(({ id, seed }) => [id, seed])).toEqual([
    [1, 1],
    [2, 2],
    [3, 3],
  ]);
  for (const { id, seed, steps, return: sum } of store.episodes) {
    const { rows, state, image, action, reward } = store.read(id);
    expect(rows).toBe(steps + 1);
    expect(reward.reduce((total, one) => total + one, 0)).toBeCloseTo(sum, 4);
    const game = new Game(seed);
    for (let t = 0; t <= steps; t++) {
      expect(state.subarray(10 * t, 10 * t + 10)).toEqual(game.observation());
      expect(Buffer.from(image.subarray(CAMERA * CAMERA * 3 * t, CAMERA * CAMERA * 3 * (t + 1))).equals(seen(game).image)).toBe(true);
      if (t < steps) game.step([action[2 * t] as number, action[2 * t + 1] as number]);
    }
  }
});

it("a lesson is drawn only from used episodes, each step with equal probability", async () => {
  const { demonstrations: store } = await opened(memory());
  play(store, 1, 10);
  store.end("stopped");
  play(store, 2, 30);
  store.end("stopped");
  expect(store.episodes.map(({ used }) => used)).toEqual([false, false]);
  for (const id of [1, 2]) store.use(id, true);
  const shares = () => {
    const batch = store.lesson(4000);
    const first = new Game(1).state[4] as number;
    let count = 0;
    for (let i = 0; i < 4000; i++) if ((batch.steps.state.data[10 * i + 4] as number) === Math.fround(first)) count++;
    return count / 4000;
  };
  expect(shares()).toBeCloseTo(0.25, 1);
  store.use(1, false);
  expect(shares()).toBe(0);
  store.use(1, true);
  store.use(2, false);
  expect(shares()).toBe(1);
  expect(store.episodes.map(({ used }) => used)).toEqual([true, false]);
});

it("loses no acknowledged data in a crash, and reports the episode that was cut", async () => {
  const random = seeded(5);
  let [cuts, crashes] = [0, 0];
  for (let dir = memory(), seed = 1; crashes < CRASHES; crashes++) {
    const { demonstrations: store, cut } = await opened(dir);
    const before = { episodes: [...store.episodes], steps: store.steps };
    if (cut !== undefined) {
      cuts++;
      expect(before.episodes.at(-1)).toEqual(cut);
      expect(cut.ending).toBe("cut");
      const { rows, reward } = store.read(cut.id);
      expect(rows).toBe(cut.steps);
      expect(reward.reduce((sum, one) => sum + one, 0)).toBeCloseTo(cut.return, 4);
    }
    for (const { id, steps, ending } of before.episodes) expect(store.read(id).rows).toBe(ending === "cut" ? steps : steps + 1);
    // The further changes are whole episodes, an open one, a deletion and an unused episode; only some are acknowledged.
    play(store, seed++, 8);
    store.end("stopped", seen(new Game(1)));
    const open = Math.floor(random() * 12);
    if (random() < 0.3 && store.episodes.length > 2) store.delete((store.episodes[0] as { id: number }).id);
    if (random() < 0.3) store.use((store.episodes[0] as { id: number }).id, random() < 0.5);
    const flushes = random() < 0.7;
    play(store, seed++, open);
    const saved = flushes ? { ...(await store.flush()), list: [...store.episodes] } : undefined;
    store.add({ observation: seen(new Game(2)), action: [0, 1], reward: 0 });
    dir = dir.crash(Math.floor(random() * 40_000));
    const { demonstrations: after, cut: last } = await opened(dir.crash());
    if (saved !== undefined) {
      expect(after.episodes.slice(0, saved.list.length)).toEqual(saved.list);
      expect(after.steps).toBeGreaterThanOrEqual(saved.steps);
      if (open > 0) expect(last?.steps).toBeGreaterThanOrEqual(open);
    }
  }
  expect(cuts).toBeGreaterThan(CRASHES / 5);
});

it.runIf(whole)("the store rejects an episode when it is full, and accepts one after a deletion", async () => {
  const { demonstrations: store } = await opened(memory());
  const game = new Game(1);
  const step = { observation: seen(game), action: limited(0, 0), reward: 0 } as const;
  for (let i = 0; i < CAPACITY / MAX_STEPS; i++) {
    store.begin(i);
    for (let t = 0; t < MAX_STEPS; t++) store.add(step);
    store.end("late");
    if (i % 8 === 0) await store.flush();
  }
  expect(() => store.begin(1)).toThrow(`The store is full: it contains ${CAPACITY} steps`);
  expect(store.steps).toBe(CAPACITY);
  store.delete(7);
  expect(() => store.read(7)).toThrow("Episode 7 no longer exists");
  store.begin(1);
  store.add(step);
  expect(store.end("stopped")?.id).toBe(CAPACITY / MAX_STEPS + 1);
});

it("flush rejects while the disk is full, and succeeds when there is space again", async () => {
  let full = false;
  const dir = memory({ fault: ({ kind }) => (full && kind === "write" ? { code: "ENOSPC" } : undefined) });
  const { demonstrations: store } = await opened(dir);
  play(store, 1, 5);
  await store.flush();
  full = true;
  store.add({ observation: seen(new Game(2)), action: [0, 1], reward: 0 });
  await expect(store.flush()).rejects.toThrow(expect.objectContaining({ code: "IO" }));
  full = false;
  expect((await store.flush()).steps).toBe(6);
  expect((await opened(dir.crash())).cut?.steps).toBe(6);
});

it.runIf(whole)("the store opens and reads while the disk is full, and saves pending changes later", async () => {
  const first = memory();
  const { demonstrations: before } = await opened(first);
  for (const seed of [1, 2]) play(before, seed);
  play(before, 3, 4);
  await before.flush();
  let full = true;
  const dir = memory({ files: first.files(), fault: ({ kind }) => (full && kind === "write" ? { code: "ENOSPC" } : undefined) });
  const { demonstrations: store, cut } = await opened(dir);
  expect(cut).toMatchObject({ id: 3, ending: "cut", steps: 4 });
  for (let tries = 0; tries < 3; tries++) {
    await expect(store.flush()).rejects.toThrow(expect.objectContaining({ code: "IO" }));
    // A failed write does not affect reading.
    expect(store.episodes.map(({ id }) => store.read(id).rows)).toEqual([before.read(1).rows, before.read(2).rows, 4]);
    store.use(1, true);
    store.lesson(8).release();
  }
  full = false;
  await store.flush();
  const { demonstrations: after, cut: none } = await opened(dir.crash());
  expect(none).toBe(undefined);
  expect(after.episodes.map(({ id, ending, used }) => [id, ending, used])).toEqual([
    [1, before.episodes[0]?.ending, true],
    [2, before.episodes[1]?.ending, before.episodes[1]?.used],
    [3, "cut", false],
  ]);
});

it("the store keeps no episode without steps", async () => {
  const { demonstrations: store } = await opened(memory());
  store.begin(9);
  expect(store.end("stopped")).toBe(undefined);
  expect(store.episodes).toEqual([]);
});
