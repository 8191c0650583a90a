/** Tests an episode whose columns are stored in pieces but read as one column. */
import { expect, test } from "vitest";
import { isLazy } from "../../../../../src/datasets/model/lazy-column.ts";
import { leavesOf } from "../../../../../src/datasets/model/leaves.ts";
import { type ColumnData, StepColumns } from "../../../../../src/datasets/model/step-columns.ts";
import { importRlds, memorySink, openRlds, type RldsDataset, type StepSpec, writeParquet } from "../../../../../src/datasets/rlds/index.ts";
import { FLAGS, leaf } from "../../../../support/random-steps.ts";
import { whole } from "../../../../support/size.ts";

const WIDTH = 128;
const LENGTH = 9000;
const stepSpec = { observation: leaf("f32", [WIDTH]), action: leaf("f32", [1]), reward: leaf("f32"), discount: leaf("f32"), ...FLAGS } as unknown as StepSpec;

function longEpisode(changeObservation: (values: Float32Array) => void = () => {}): StepColumns<unknown> {
  const columns: { readonly [path: string]: ColumnData } = {
    observation: Float32Array.from({ length: WIDTH * LENGTH }, (_, i) => i),
    action: new Float32Array(LENGTH),
    reward: new Float32Array(LENGTH).fill(1),
    discount: new Float32Array(LENGTH).fill(1),
    is_first: Uint8Array.from({ length: LENGTH }, (_, i) => Number(i === 0)),
    is_last: Uint8Array.from({ length: LENGTH }, (_, i) => Number(i === LENGTH - 1)),
    is_terminal: new Uint8Array(LENGTH),
  };
  changeObservation(columns.observation as Float32Array);
  return new StepColumns(
    stepSpec,
    leavesOf(stepSpec).map(({ path }) => columns[path] as ColumnData),
    LENGTH,
  );
}

const dataset = (steps: StepColumns<unknown>) => Object.assign([{ steps }], { stepSpec, metadataSpec: {} }) as unknown as RldsDataset<unknown>;

async function written(steps: StepColumns<unknown>): Promise<Map<string, Uint8Array>> {
  const files = memorySink();
  await writeParquet(dataset(steps), files, { groupRows: 1000 });
  return files;
}

test("pieces are read across their borders, as a whole and repeatedly", async () => {
  const wanted = longEpisode();
  const reader = await openRlds(await written(wanted));
  for await (const { steps } of reader) {
    const columns = steps as StepColumns<{ readonly observation: Float32Array }>;
    const at = leavesOf(stepSpec).findIndex(({ path }) => path === "observation");
    const [column, whole] = [columns.parts[at], wanted.data[at] as Float32Array];
    if (!isLazy(column)) throw new Error("the column was joined");
    for (const [from, to] of [
      [0, 1],
      [999, 1001],
      [500, 4500],
      [LENGTH - 1, LENGTH],
      [3, 3],
    ] as const) {
      const part = column.subarray(from * WIDTH, to * WIDTH);
      expect(isLazy(part) ? part.read() : part).toEqual(whole.subarray(from * WIDTH, to * WIDTH));
    }
    expect(columns.at(1000).observation).toEqual(whole.subarray(1000 * WIDTH, 1001 * WIDTH));
    expect(columns.data[at]).toEqual(whole);
    expect(columns.data[at]).toBe(columns.data[at]);
    expect(columns.at(8999).observation).toEqual(whole.subarray(8999 * WIDTH));
  }
  await reader.close();
});

test.runIf(whole)("a rewritten episode has the same values", async () => {
  const wanted = longEpisode();
  const reader = await openRlds(await written(wanted));
  const files = memorySink();
  await writeParquet(reader as RldsDataset<unknown>, files);
  const again = await openRlds(files);
  for await (const { steps } of again) expect((steps as StepColumns<unknown>).data).toEqual(wanted.data);
  await Promise.all([reader.close(), again.close()]);
});

test.runIf(whole)("a value in any piece that is not finite is reported with its step", async () => {
  for (const step of [0, 4096, 8999]) {
    const faulty = longEpisode((values) => values.fill(Number.NaN, step * WIDTH + 7, step * WIDTH + 8));
    const reader = await openRlds(await written(faulty));
    const imported = importRlds(reader as RldsDataset<never>, { mode: "strict" });
    const readAll = async () => {
      for await (const _ of imported as AsyncIterable<unknown>);
    };
    await expect(readAll()).rejects.toMatchObject({ code: "INVALID_DATA", episode: 0, step });
    await reader.close();
  }
});
