/** Tests columns that the library reads in several parts: the rows must be in order, whichever row is read first. */
import { expect, it } from "vitest";
import { openD4rl } from "../../../../../src/datasets/formats/hdf5/d4rl.ts";
import { openRobots } from "../../../../../src/datasets/formats/hdf5/open-robots.ts";
import type { ReadEpisode } from "../../../../../src/datasets/formats/reader.ts";
import { all } from "../../../../support/columns.ts";
import { dataFolder } from "../../rlds/data.ts";
import { h5File } from "./h5-file.ts";

const ROWS = 20_000;
const WIDTH = 30;

it.each([
  ["chunks", 700],
  ["chunks of more than a piece", 12_000],
  ["one block", undefined],
])("columns stored in %s are read in order", async (_, chunk) => {
  const observations = Float32Array.from({ length: ROWS * WIDTH }, (_, i) => i % 100_003);
  const file = await h5File({
    observations: chunk === undefined ? [observations, [ROWS, WIDTH]] : [observations, [ROWS, WIDTH], [chunk, WIDTH]],
    actions: [new Float32Array(ROWS), [ROWS, 1]],
    rewards: [Float32Array.from({ length: ROWS }, (_, i) => i), [ROWS]],
    terminals: [new Uint8Array(ROWS), [ROWS]],
    timeouts: [Uint8Array.from({ length: ROWS }, (_, i) => Number(i === 1233 || i === ROWS - 1)), [ROWS]],
  });
  const reader = await openD4rl(new Map([["long.hdf5", file]]) as never);
  const episodes = await all(reader);
  expect(episodes.map(({ steps }) => steps.length)).toEqual([1234, ROWS - 1234]);
  let from = 0;
  for (const { steps } of episodes) {
    const { observation, reward } = steps.columns as { readonly [name: string]: { readonly data: Float32Array } };
    const wanted = observations.subarray(from * WIDTH, (from + steps.length) * WIDTH);
    expect(observation?.data.every((value, i) => value === wanted[i])).toBe(true);
    expect(reward?.data.every((value, i) => value === from + i)).toBe(true);
    from += steps.length;
  }
  await reader.close();
});

it("half floats, booleans and texts are read in order", async () => {
  const reader = await openRobots(dataFolder("extra/robots/long.hdf5"));
  const [episode] = await all(reader);
  const columns = (episode as ReadEpisode).steps.columns as { readonly observation: { readonly [name: string]: { readonly data: ArrayLike<unknown> } } };
  const { half, flags, texts } = columns.observation;
  expect([half, flags, texts].map((column) => column?.data.length)).toEqual([30 * ROWS, 60 * ROWS, ROWS]);
  expect(Array.from(half?.data ?? []).every((value, i) => value === (i % 97) / 4)).toBe(true);
  expect(Array.from(flags?.data ?? []).every((value, i) => value === Number(i % 7 === 0))).toBe(true);
  expect(Array.from(texts?.data ?? []).every((value, i) => value === `row ${i % 1000}`)).toBe(true);
  await reader.close();
});
