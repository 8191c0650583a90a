/** Tests the exports of the page's room Record: the kept episodes, as recorded, in formats that the readers can open. */

import { openRlds } from "reprise/rlds";
import { memory } from "reprise/storage";
import { expect, it } from "vitest";
import { Demonstrations } from "../../../page/record/demonstrations.ts";
import { datasetOf, write } from "../../../page/record/export.ts";
import { Game } from "../../../page/record/game.ts";
import { CAMERA, Painter } from "../../../page/record/picture.ts";
import { some } from "../../support/size.ts";
import { pilot } from "./pilot.ts";

const painter = new Painter(CAMERA, 3);

function seen(game: Game) {
  const image = new Uint8Array(CAMERA * CAMERA * 3);
  painter.paint(image, game.state, [0, 0]);
  return { state: game.observation(), image };
}

/** Records four episodes: 1 and 3 dock, 2 is stopped, and 4 is cut after 7 steps. All except 2 are used. */
async function recorded(): Promise<Demonstrations> {
  const dir = memory();
  const { demonstrations: store } = await Demonstrations.open(dir);
  for (const [seed, most] of [
    [1, 300],
    [2, 5],
    [3, 300],
    [4, 7],
  ] as const) {
    const game = new Game(seed);
    store.begin(seed);
    for (let t = 0; t < most; t++) {
      const observation = seen(game);
      const action = pilot(observation.state);
      const { reward, end } = game.step(action);
      store.add({ observation, action, reward });
      if (end === undefined) continue;
      store.end(end, seen(game));
      break;
    }
    if (seed === 2) store.end("stopped", seen(game));
  }
  await store.flush();
  const { demonstrations: again, cut } = await Demonstrations.open(dir.crash());
  again.use(cut?.id ?? 0, true);
  expect(again.episodes.map(({ ending, used }) => [ending, used])).toEqual([
    ["docked", true],
    ["stopped", false],
    ["docked", true],
    ["cut", true],
  ]);
  return again;
}

for (const format of some(["tfds", "lerobot-images"] as const, 1)) {
  it(`${format} contains the used episodes, pixel by pixel`, async () => {
    const store = await recorded();
    const files = new Map<string, Uint8Array>();
    await write(format, store, files, {});
    const data = await openRlds(files);
    const lengths: number[] = [];
    const used = store.episodes.filter((episode) => episode.used);
    for await (const { steps } of data) {
      const { seed, ending } = used[lengths.length] as (typeof used)[number];
      const game = new Game(seed);
      let count = 0;
      let last: { is_last: unknown; is_terminal: unknown } | undefined;
      for await (const { observation, action, is_last, is_terminal } of steps) {
        const { state, image } = seen(game);
        expect([...observation.state]).toEqual([...state]);
        expect(Buffer.from(observation.image.data ?? observation.image).equals(image)).toBe(true);
        last = { is_last, is_terminal };
        count++;
        game.step([action[0], action[1]]);
      }
      expect(Boolean(last?.is_last)).toBe(true);
      if (format === "tfds") expect(Boolean(last?.is_terminal)).toBe(ending === "docked");
      lengths.push(count);
    }
    // RLDS adds a step for the last observation. In the cut episode, the state after the last step is unknown.
    const more = format === "tfds" ? 1 : 0;
    expect(lengths).toEqual(used.map(({ steps, ending }) => (ending === "cut" ? steps - 1 : steps) + more));
    await data.close();
  });
}

it("an export omits a cut episode of a single step, because no action in it has an outcome", async () => {
  const dir = memory();
  const { demonstrations: store } = await Demonstrations.open(dir);
  store.begin(1);
  store.add({ observation: seen(new Game(1)), action: [1, 0], reward: 0 });
  await store.flush();
  const { demonstrations: again, cut } = await Demonstrations.open(dir.crash());
  again.use(cut?.id ?? 0, true);
  expect(datasetOf(again).episodes).toBe(0);
  await expect(write("lerobot-images", again, new Map(), {})).rejects.toThrow(expect.objectContaining({ code: "EMPTY" }));
});

it("minari contains a folder for each used episode", async () => {
  const store = await recorded();
  const files = new Map<string, Uint8Array>();
  await write("minari", store, files, {});
  const parts = [...files.keys()].filter((path) => path.endsWith(".parquet"));
  expect(parts).toEqual([0, 1, 2].map((number) => `docking-v0/data/${number}/part-0.parquet`));
});
