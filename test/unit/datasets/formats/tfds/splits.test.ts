/** Compares splits, and parts of splits, with tensorflow_datasets. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { partsOf } from "../../../../../src/datasets/formats/tfds/split.ts";
import { openTfds } from "../../../../../src/datasets/rlds/index.ts";

const DTYPES = fileURLToPath(new URL("../../../../data/extra/tfds/dtypes", import.meta.url));
const CARTPOLE = fileURLToPath(new URL("../../../../data/tfds/half_cheetah", import.meta.url));

const split = (name: string, shardLengths: readonly number[]) => ({ name, shardLengths, path: () => name });
const SPLITS = [split("train", [13, 14, 13]), split("test", [5])];

function ranges(text: string): unknown {
  return partsOf(text, SPLITS).map(({ split: { name }, from, to }) => [name, from, to]);
}

test.each([
  ["train", [["train", 0, 40]]],
  ["train[:10]", [["train", 0, 10]]],
  ["train[10:]", [["train", 10, 40]]],
  ["train[-5:]", [["train", 35, 40]]],
  ["train[:-5]", [["train", 0, 35]]],
  ["train[10%:20%]", [["train", 4, 8]]],
  ["train[:-5%]", [["train", 0, 38]]],
  // Python rounds 0.5 to the even number: 12.5 % of 5 is 0.625, and 50 % is 2.5.
  ["test[:50%]", [["test", 0, 2]]],
  ["test[:70%]", [["test", 0, 4]]],
  ["test[30%:]", [["test", 2, 5]]],
  ["train[1shard:]", [["train", 13, 40]]],
  ["train[1shard]", [["train", 13, 27]]],
  ["train[:-1shard]", [["train", 0, 27]]],
  [
    "train[:1]+test",
    [
      ["train", 0, 1],
      ["test", 0, 5],
    ],
  ],
  [
    "all",
    [
      ["train", 0, 40],
      ["test", 0, 5],
    ],
  ],
])("%s selects the expected ranges", (text, expected) => {
  expect(ranges(text)).toEqual(expected);
});

test.each([
  "",
  "train[",
  "train[:]",
  "train[3]",
  "train[1:2:3]",
  "train[:1.5]",
  "train[:101%]",
  "train[a:]",
  "all[:3]",
  "train[:41]",
  "train[-41:]",
  "other",
  "train test",
])("the split %j is rejected", (text) => {
  expect(() => ranges(text)).toThrow(RangeError);
});

test("a part of a split returns the same episodes as that range of the whole", async () => {
  const ids = async (text?: string) => {
    const found: number[] = [];
    const reader = await openTfds(CARTPOLE, { split: text });
    for await (const { steps } of reader) found.push(Number(steps.at(0).reward));
    expect(reader.episodes).toBe(found.length);
    return found;
  };
  const all = await ids();
  expect(await ids("train[12:29]")).toEqual(all.slice(12, 29));
  expect(await ids("train[38:]+train[:1]")).toEqual([...all.slice(38), ...all.slice(0, 1)]);
  expect(await ids("train[20:10]")).toEqual([]);
});

test("the split defaults to train if there are several", async () => {
  const reader = await openTfds(DTYPES);
  expect([reader.splits, reader.split, reader.episodes]).toEqual([["train", "test"], "train", 5]);
  expect((await openTfds(DTYPES, { split: "all" })).episodes).toBe(7);
  await expect(openTfds(DTYPES, { split: "validation" })).rejects.toThrow(/split must be one of train, test, got "validation"/);
});
