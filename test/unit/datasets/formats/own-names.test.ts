/** Tests leaves with names that all objects inherit: every reader, editor, writer and draw must treat them as own properties. */
import { describe, expect, it } from "vitest";
import { openJsonl } from "../../../../src/datasets/formats/jsonl/open-jsonl.ts";
import { writeJsonl } from "../../../../src/datasets/formats/jsonl/write.ts";
import { openNpz } from "../../../../src/datasets/formats/npz/open-npz.ts";
import { openParquet } from "../../../../src/datasets/formats/parquet/open-parquet.ts";
import { writeParquet } from "../../../../src/datasets/formats/parquet/write-parquet.ts";
import type { RldsReader } from "../../../../src/datasets/formats/reader.ts";
import { mapSteps, type RldsDataset } from "../../../../src/datasets/rlds/index.ts";
import { Replay } from "../../../../src/index.ts";
import { all } from "../../../support/columns.ts";
import { archive, npyHeader } from "./npz/npz-archive.ts";

const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty"];

/** Checks that the step is a plain object whose values under these names are own properties. */
function expectOwn(step: object, within: (step: object) => object = (one) => one): void {
  const part = within(step);
  expect(Object.getPrototypeOf(step)).toBe(Object.prototype);
  expect(Object.getPrototypeOf(part)).toBe(Object.prototype);
  for (const name of NAMES) expect(Object.hasOwn(part, name)).toBe(true);
}

const values = `{${NAMES.map((name) => `"${name}":{"polluted":true}`).join(",")}}`;
const line = (flags: string) => `{"observation":${values},"action":1,"reward":1,${values.slice(1, -1)},${flags}}`;
const lines = new Blob([`${line('"terminated":false')}\n${line('"terminated":true')}`]);
const observation = (step: object) => (step as { observation: object }).observation;

describe("inherited names in JSON lines", () => {
  const steps = async (reader: RldsReader) => (await all(reader)).flatMap(({ steps: each }) => [...each]) as object[];

  it("are read, changed and written as own properties", async () => {
    const reader = await openJsonl(lines);
    const read = await steps(reader);
    expect(read.length).toBe(3);
    for (const step of read) {
      expectOwn(step);
      expectOwn(step, observation);
    }
    for await (const { steps: changed } of mapSteps(reader, (step) => ({ ...step }))) for await (const step of changed) expectOwn(step, observation);
    const files = new Map<string, Uint8Array>();
    await writeParquet(reader, files);
    await writeJsonl(reader, files);
    for (const written of [await openParquet(files), await openJsonl(files)]) for (const step of await steps(written)) expectOwn(step, observation);
    expect(({} as { polluted?: unknown }).polluted).toBe(undefined);
  });
});

it("a Parquet column named __proto__ becomes an own property", async () => {
  const own = JSON.parse('{"__proto__":1,"is_first":true,"is_last":true,"is_terminal":true}');
  const stepSpec = JSON.parse(
    '{"__proto__":{"dtype":"f32","shape":[]},"is_first":{"dtype":"bool","shape":[]},"is_last":{"dtype":"bool","shape":[]},"is_terminal":{"dtype":"bool","shape":[]}}',
  );
  const files = new Map<string, Uint8Array>();
  await writeParquet(Object.assign([{ steps: [own] }], { stepSpec }) as unknown as RldsDataset<unknown>, files);
  const [episode] = await all(await openParquet(files));
  const [step] = [...(episode as { steps: Iterable<object> }).steps] as [object];
  expect(Object.getPrototypeOf(step)).toBe(Object.prototype);
  expect(Object.getOwnPropertyDescriptor(step, "__proto__")?.value).toBe(1);
});

it("inherited names in NumPy archives become own properties, even as groups of arrays", async () => {
  const bytes = archive(
    ...["action", "reward", "is_first", "is_terminal", ...NAMES.flatMap((name) => [`${name}/polluted`, `observation/${name}`])].map((name) => ({
      name: `${name}.npy`,
      header: npyHeader("|b1", "(3,)"),
      elements: 3,
    })),
  );
  for await (const { steps } of await openNpz(new Blob([bytes])))
    for (const step of steps) {
      expectOwn(step);
      expectOwn(step, observation);
    }
});

it("a Replay accepts inherited names in its spec, except __proto__", () => {
  const names = NAMES.filter((name) => name !== "__proto__");
  const leaves = names.map((name) => `"${name}":{"dtype":"f32","shape":[]}`).join(",");
  const replay = new Replay({ spec: JSON.parse(`{"observation":{${leaves}}}`), tables: { t: { maxSize: 4 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  writer.append(JSON.parse(`{"observation":{${names.map((name, i) => `"${name}":${i}`).join(",")}}}`));
  const { steps } = replay.table("t").sample(1);
  for (const name of names) expect(Object.hasOwn(observation(steps as object), name)).toBe(true);
  replay.dispose();
  const spec = JSON.parse('{"observation":{"__proto__":{"dtype":"f32","shape":[]}}}');
  expect(() => new Replay({ spec, tables: { t: { maxSize: 4 } } })).toThrow(/keys of observation must .*__proto__/);
});
