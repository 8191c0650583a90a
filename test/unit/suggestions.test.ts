/** Tests that the error for an unknown option, table, leaf, column, field or word suggests the nearest known name, in every call that accepts names. */
import { expect, test } from "vitest";
import { castLeaves, filterWhere, openJsonl } from "../../src/datasets/rlds/index.ts";
import { f32, i32, prioritized, Replay } from "../../src/index.ts";

const spec = { observation: f32(4), action: i32(), reward: f32() };
const replay = new Replay({ spec, tables: { train: { maxSize: 100, sampler: prioritized(0.6) } }, logger: null });
const writer = replay.writer({ items: [{ table: "train", length: 2 }] });
for (let t = 0; t < 10; t++) writer.append({ observation: [1, 2, 3, t], action: t, reward: 1 });
const table = replay.tables.train;
const step = '{"observation":[1,2],"action":2,"reward":0,"is_first":true,"is_last":true,"is_terminal":false}';

const dataset = (options: object = {}) => openJsonl(new Blob([`{"steps":[${step},${step}]}\n`]), options);
async function pass(data: unknown): Promise<void> {
  for await (const { steps } of (await data) as AsyncIterable<{ steps: Iterable<unknown> }>) for (const _ of steps);
}
const made = (options: object) => new Replay({ spec, tables: { train: { maxSize: 1 } }, ...options } as never);

test.each<[what: string, word: string, call: () => unknown]>([
  ["an option", "seed", () => made({ sede: 1 })],
  ["an option of a call", "length", () => writer.createItem("train", { lenght: 1 } as never)],
  ["a table", "train", () => replay.table("trian" as never)],
  ["a table of a rule", "train", () => replay.writer({ items: [{ table: "trains" as never, length: 1 }] })],
  ["a table of an option", "train", () => made({ storedBytes: { max: 1e6, evictFrom: "Train" } })],
  ["a leaf of a column", "reward", () => table.sample(2, { columns: { r: { leaf: "rewrad" as never, at: 0 } } })],
  ["a leaf in a role", "reward", () => made({ transition: { reward: "rewards" } })],
  [
    "a leaf that a rule needs",
    "rewar",
    () => new Replay({ spec: { observation: f32(), action: i32(), rewar: f32() }, tables: { t: { maxSize: 9 } } }).tables.t.transitions({ gamma: 0.9 }),
  ],
  ["a part of a transition", "action", () => table.transitions({ gamma: 0.9, next: ["acton" as never] })],
  ["a dtype", "f32", () => made({ spec: { a: { dtype: "f322", shape: [] } } })],
  ["a word", "disabled", () => replay.writer({ lanes: 2, autoreset: "disable" as never })],
  ["a field of a step", "reward", () => writer.append({ observation: [1, 2, 3, 4], action: 1, rewrad: 1 } as never)],
  ["a column of a batch", "action", () => table.writeSteps(table.sample(2, { columns: { action: { leaf: "action", at: 0 } } }), { actoin: [1, 2] } as never)],
  ["an option of a reader", "finalObservation", () => dataset({ finalObservations: "rlds" })],
  ["a column of a reader", "observation", () => dataset({ without: ["observaton"] }).then(pass)],
  ["a leaf of a dataset", "action", async () => pass(castLeaves((await dataset()) as never, { acton: "f32" }))],
  ["a leaf of a condition", "reward", async () => pass(filterWhere((await dataset()) as never, { path: "rewad", comparison: ">", value: 1 }))],
  ["a word of a condition", "length", async () => pass(filterWhere((await dataset()) as never, { path: "lenght", comparison: ">", value: 1 }))],
])("%s with a typo suggests %s", async (_what, word, call) => {
  const error = await Promise.resolve()
    .then(call)
    .then(
      () => undefined,
      (reason: unknown) => reason as Error,
    );
  expect(error?.message).toMatch(new RegExp(`[Dd]id you mean "?${word}"?\\?`));
});

test("an unknown name that resembles no known name gets no suggestion", () => {
  expect(() => made({ xyz: 1 })).toThrow(/^Replay has no option "xyz"\. Options: spec, /);
  expect(() => replay.table("evaluation" as never)).toThrow(/^table must be one of "train", got "evaluation"$/);
});
