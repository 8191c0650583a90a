/** Compares datasets written by the real tensorflow_datasets with the results of that package. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { openTfds, type RldsReader } from "../../../../../src/datasets/rlds/index.ts";
import { foundIn } from "../../../../support/rlds-columns.ts";
import { some } from "../../../../support/size.ts";

const DATA = fileURLToPath(new URL("../../../../data/tfds/", import.meta.url));
const EXPECTED = JSON.parse(readFileSync(`${DATA}expected.json`, "utf8"));

async function expectAsExpected(reader: RldsReader, name: string): Promise<void> {
  const found = await foundIn(reader);
  const expected = EXPECTED[name];
  expect(reader.episodes).toBe(expected.episodes);
  expect(found.lengths).toEqual(expected.lengths);
  expect(found.steps).toBe(expected.steps);
  expect(found.mean_return).toBeCloseTo(expected.mean_return, 6);
  expect(Object.keys(found.columns).sort()).toEqual(Object.keys(expected.columns).sort());
  for (const [path, { sum, ...column }] of Object.entries(expected.columns as Record<string, { sum?: number }>)) {
    const { sum: own, ...rest } = found.columns[path] as { sum?: number };
    expect({ path, ...rest }).toEqual({ path, ...column });
    if (sum !== undefined) expect(Math.abs((own as number) - sum)).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(sum)));
  }
}

describe("openTfds with a path", () => {
  test.each(some(Object.keys(EXPECTED), 2))("reads %s as tensorflow_datasets does", async (name) => {
    await expectAsExpected(await openTfds(`${DATA}${name}/1.0.0`), name);
    await expectAsExpected(await openTfds(`${DATA}${name}`), name);
  });
});
