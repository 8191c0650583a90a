/** Compares reports, statistics and transformations of the real datasets in test/data with the results of their own tools. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { batch, importRlds, inspectRlds, mapSteps, openTfds, statistics, truncateAfter } from "../../../../src/datasets/rlds/index.ts";

const DATA = new URL("../../../data/tfds/", import.meta.url);
const EXPECTED = JSON.parse(readFileSync(new URL("expected.json", DATA), "utf8"));
const NAMES = ["half_cheetah", "cartpole", "cartpole_pixels"];

test.each(NAMES)("%s has no faults, and its lengths, mean return and sums equal those of tensorflow_datasets", async (name) => {
  const expected = EXPECTED[name];
  const rlds = await openTfds(fileURLToPath(new URL(name, DATA)));
  const report = await inspectRlds(rlds);
  const { episodes, steps, mean_return, lengths, columns } = expected;
  expect(report).toMatchObject({ complete: true, episodes, steps, transitions: steps - episodes, faultyEpisodes: 0, zeroFinalSteps: episodes });
  expect(report.zeroFinalObservations.count).toBe(0);
  expect(report.lengths).toMatchObject({ min: Math.min(...lengths), max: Math.max(...lengths), total: steps });
  expect(report.returns.mean).toBeCloseTo(mean_return, 9);
  const found = await statistics(rlds);
  expect(found.lengths.values).toEqual(lengths);
  expect(found.returns.mean).toBeCloseTo(mean_return, 9);
  for (const { path, count, shape, mean } of found.leaves) {
    const column = columns[path] ?? columns[path.replaceAll("/", ".")];
    expect(shape).toEqual(column.shape);
    const size = shape.reduce((a, b) => a * b, 1);
    // Placeholder actions, rewards and discounts of last steps are ignored here; actions and rewards are zeros, so their sums are unaffected.
    if (path === "discount") continue;
    expect(Math.abs(mean * count * size - column.sum), path).toBeLessThan(1e-6 * Math.max(1, Math.abs(column.sum)));
  }
  const imported = importRlds(rlds);
  let given = 0;
  for await (const episode of imported) given += (episode.steps as unknown as { length: number }).length;
  expect(given).toBe(steps);
  expect(imported.report.kept).toMatchObject({ episodes, steps });
  await rlds.close();
});

test("transformations can be chained on the dataset of a reader", async () => {
  const rlds = await openTfds(fileURLToPath(new URL("cartpole", DATA)));
  const short = truncateAfter(
    mapSteps(rlds, (step) => ({ ...step, reward: (step.reward as number) / 2 })),
    (_, index) => index === 9,
  );
  const imported = importRlds(short);
  const windows = [];
  for await (const { steps } of batch(imported, { size: 5, dropRemainder: true })) for await (const window of steps) windows.push(window);
  expect(imported.report).toMatchObject({ complete: true, episodes: 40, steps: 400, returns: { total: 40 * 4.5 } });
  expect(windows.length).toBe(80);
  expect(windows[1]).toMatchObject({
    observation: { shape: [5, 4] },
    reward: { data: new Float32Array(5).fill(0.5) },
    is_last: { data: new Uint8Array([0, 0, 0, 0, 1]) },
  });
  // The spec is known after the first step.
  expect(short.stepSpec).toEqual(rlds.stepSpec);
  await rlds.close();
});
