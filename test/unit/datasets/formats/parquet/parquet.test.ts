/** Tests round trips of Parquet files, and reading files of pandas and pyarrow. .ci/round-trip.mjs reads the written files with pyarrow. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { memorySink, openParquet, openTfds, type RldsDataset, writeParquet } from "../../../../../src/datasets/rlds/index.ts";
import { errorFrom } from "../../../../support/later.ts";
import { expectError } from "../../../../support/refused.ts";
import { all, EVERYTHING, everything, everythingStep, expectSameColumns, METADATA, SECOND_STEP } from "../../../../support/rlds-data.ts";
import { some } from "../../../../support/size.ts";

const DATA = fileURLToPath(new URL("../../../../data/", import.meta.url));
const FOLDER = mkdtempSync(join(tmpdir(), "reprise-parquet-"));
afterAll(() => rmSync(FOLDER, { recursive: true }));
const PLAIN = `${DATA}extra/plain.parquet`;

describe("files from writeParquet", () => {
  it.each(some(["cartpole", "half_cheetah", "cartpole_pixels"], 1))("restore %s column by column", async (name) => {
    const source = await openTfds(`${DATA}tfds/${name}`);
    const files = memorySink();
    const report = await writeParquet(source, files, { fileBytes: 200_000, groupRows: 1000 });
    expect(report.files.length).toBe({ half_cheetah: 4, cartpole: 1, cartpole_pixels: 2 }[name]);
    const again = await openParquet(files);
    expect({ episodes: again.episodes, steps: again.steps }).toEqual({ episodes: report.episodes, steps: report.steps });
    expect(await expectSameColumns(again, source)).toBe(report.episodes);
  });

  it.each([{}, { compression: "none" as const, groupRows: 2 }, { fileBytes: 1, groupRows: 1 }])(
    "restore every dtype, text, shapes, metadata and empty episodes: %o",
    async (options) => {
      const data = everything([0, 3, 0, 0, 5, 2, 0]);
      const files = memorySink();
      await writeParquet(data, files, options);
      const again = await openParquet(files);
      expect(again.stepSpec).toEqual(EVERYTHING);
      expect(again.metadataSpec).toEqual({ ...METADATA, final_step: { dtype: "string", shape: [] } });
      expect(again.episodes).toBe(7);
      const found = await all(again);
      expect(found.map(({ steps }) => steps.length)).toEqual([0, 3, 0, 0, 5, 2, 0]);
      expect(found[6]).toMatchObject({ id: 6n * 2n ** 55n, score: 6 / 7, vector: Float32Array.of(6, 3, 2), inner: { ok: true } });
      expect(found[1]?.steps[1]).toMatchObject(SECOND_STEP);
      expect(found[4]?.steps[2]).toMatchObject({ discount: Number.NEGATIVE_INFINITY });
      // The reader determines how each episode ends, so a second round trip changes no bytes.
      const [twice, more] = [memorySink(), memorySink()];
      await writeParquet(again, twice, options);
      const second = await openParquet(twice);
      expect(await all(second)).toEqual(found);
      await writeParquet(second, more, options);
      expect([...more]).toEqual([...twice]);
    },
  );

  it("restore bytes, and the smallest and largest integers", async () => {
    const leaf = (dtype: string, shape: number[] = []) => ({ dtype, shape });
    const stepSpec = { observation: leaf("bytes"), action: leaf("u64", [2]), more: [leaf("i64"), leaf("bytes", [2])] };
    const steps = [
      { observation: Uint8Array.of(0, 255), action: [2n ** 64n - 1n, 0], more: [-(2n ** 63n), [new Uint8Array(0), Uint8Array.of(1)]] },
      { observation: new Uint8Array(0), action: [1, 2], more: [2n ** 63n - 1n, [new Uint8Array(3), Uint8Array.of(7)]] },
    ];
    const files = memorySink();
    await writeParquet(Object.assign([{ steps }], { stepSpec }) as unknown as RldsDataset<unknown>, files);
    const [episode] = await all(await openParquet(files));
    expect(episode?.steps).toEqual([
      { observation: Uint8Array.of(0, 255), action: BigUint64Array.of(2n ** 64n - 1n, 0n), more: [-(2n ** 63n), [new Uint8Array(0), Uint8Array.of(1)]] },
      { observation: new Uint8Array(0), action: BigUint64Array.of(1n, 2n), more: [2n ** 63n - 1n, [new Uint8Array(3), Uint8Array.of(7)]] },
    ]);
  });

  it("are one file or a folder of parts, and are replaced only with overwrite", async () => {
    const path = join(FOLDER, "one.parquet");
    expect((await writeParquet(everything(), path)).files).toEqual(["one.parquet"]);
    const one = await openParquet(path);
    expect(await all(one)).toHaveLength(4);
    await one.close();
    expectError(await errorFrom(writeParquet(everything(), path)), "IO", /already exists/);
    expect((await writeParquet(everything([1]), path, { overwrite: true })).episodes).toBe(1);
    const folder = join(FOLDER, "parts");
    await writeParquet(everything([2, 2, 2, 2]), folder, { fileBytes: 1, groupRows: 1 });
    expect(readdirSync(folder)).toHaveLength(4);
    expectError(await errorFrom(writeParquet(everything(), folder)), "IO", /not empty/);
    await writeParquet(everything([2, 2]), folder, { fileBytes: 1, groupRows: 1, overwrite: true });
    expect(readdirSync(folder)).toEqual(["part-00000.parquet", "part-00001.parquet"]);
    expect(await all(await openParquet(folder))).toHaveLength(2);
  });

  it("are rejected if a part is missing or belongs to another dataset", async () => {
    const files = memorySink();
    await writeParquet(everything([2, 2, 2]), files, { fileBytes: 1, groupRows: 1 });
    const part = (i: number) => files.get(`part-0000${i}.parquet`) as Uint8Array;
    const read = async (map: Map<string, Uint8Array>) => errorFrom(openParquet(map).then(all));
    expectError(
      await read(
        new Map([
          ["a.parquet", part(0)],
          ["b.parquet", part(1)],
        ]),
      ),
      "CORRUPT",
      /last part.*missing/,
    );
    expectError(
      await read(
        new Map([
          ["a.parquet", part(0)],
          ["b.parquet", part(2)],
        ]),
      ),
      "CORRUPT",
      /the next part must be 1, got 2/,
    );
    expectError(
      await read(
        new Map([
          ["a.parquet", part(0)],
          ["b.parquet", readFileSync(PLAIN)],
        ]),
      ),
      "CORRUPT",
      /spec of the file differs/,
    );
    expectError(await read(new Map()), "NOT_FOUND", /no .parquet file/);
  });

  it("are not left after an invalid step, and the error names episode, step and leaf", async () => {
    const data = everything();
    (data[2]?.steps as unknown[])[3] = { ...everythingStep(3, 5), u32: -1 };
    const files = memorySink();
    const error = await errorFrom(writeParquet(data, files, { groupRows: 1 }));
    expectError(error, "SPEC_MISMATCH", /^u32 must be u32, an integer in 0 … 4294967295, got -1 \(episode 2, step 3\)$/);
    expect(files.size).toBe(0);
    expectError(await errorFrom(writeParquet(data, files, { compression: "zip" as never })), RangeError, /^compression/);
    const named = Object.assign([{ steps: [{ observation: 1, action: 1, step_index: 1 }] }], { metadataSpec: {} });
    expectError(await errorFrom(writeParquet(named as never, files)), "UNSUPPORTED", /^two columns would be named step_index/);
    const controller = new AbortController();
    controller.abort(new Error("enough"));
    expect((await errorFrom(writeParquet(everything(), files, { signal: controller.signal }))).message).toBe("enough");
    expect(files.size).toBe(0);
  });
});

describe("files of other programs", () => {
  it("are read by the names of their columns, with defaults for missing columns", async () => {
    const found = await openParquet(PLAIN);
    expect(found.stepSpec).toMatchObject({
      observation: { dtype: "f64", shape: [2] },
      pose: { x: { dtype: "f64", shape: [] }, ok: { dtype: "bool", shape: [] } },
      ...{
        action: { dtype: "i64" },
        reward: { dtype: "f64" },
        note: { dtype: "string" },
        when: { dtype: "i64" },
        small: { dtype: "i8" },
        unsigned: { dtype: "u32" },
        half: { dtype: "f16" },
      },
    });
    const episodes = await all(found);
    await found.close();
    const { lengths, state } = JSON.parse(readFileSync(`${DATA}extra/expected_parquet.json`, "utf8"));
    expect(episodes.map(({ steps }) => steps.length)).toEqual(lengths);
    const steps = episodes.flatMap((episode) => episode.steps) as { [name: string]: unknown }[];
    expect(steps.map(({ observation }) => Array.from(observation as Float64Array))).toEqual(state);
    expect(steps.map(({ is_last }) => is_last)).toEqual([0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1].map(Boolean));
    expect(steps.map(({ is_terminal }) => is_terminal)).toEqual([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1].map(Boolean));
    expect(steps.map(({ is_first }) => is_first)).toEqual([1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0].map(Boolean));
    expect(steps.map(({ discount }) => discount)).toEqual([1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0]);
    expect(steps[2]?.reward).toBeNaN();
    expect(steps[11]).toMatchObject({ action: 6n, note: "row 11", half: 11 / 8, unsigned: 4294967207, small: 6, when: 1704067211000000n });
  });

  it("are read by other names with the option columns", async () => {
    const found = await openParquet(PLAIN, {
      columns: { "observation/x": "pose.x", "observation/all": "obs", action: "small", done: "truncated", terminal: "pose/ok", language: "note" },
    });
    expect(found.stepSpec).toMatchObject({ observation: { x: { dtype: "f64" }, all: { shape: [2] } }, action: { dtype: "i8" }, language: { dtype: "string" } });
    expect(await all(found)).toHaveLength(3);
    await found.close();
    expectError(await errorFrom(openParquet(PLAIN, { columns: { action: "nowhere" } })), RangeError, /columns\.action must be one of obs, pose\/x/);
    expectError(await errorFrom(openParquet(PLAIN, { columns: { action: 1 as never } })), TypeError, /columns\.action/);
    expectError(
      await errorFrom(openParquet(PLAIN, { columns: { "observation/a": "obs", observation: "half" } })),
      "UNSUPPORTED",
      /the paths of two columns in a step conflict: observation/,
    );
    expectError(await errorFrom(openParquet(PLAIN, { columns: { done: "note" } })), "UNSUPPORTED", /note must contain one boolean/);
  });

  it("are separated by episode_id or done, or contain one episode per file", async () => {
    const { parquetWriteBuffer } = await import("hyparquet-writer");
    const file = (columns: { [name: string]: unknown[] }) =>
      new Uint8Array(parquetWriteBuffer({ columnData: Object.entries(columns).map(([name, data]) => ({ name, data })) as never }));
    const base = { "observation.a": [1.5, 2.5, 3.5, 4.5], actions: [1, 2, 3, 4] };
    const numbered = await all(await openParquet(new Map([["x.parquet", file({ ...base, episode_id: ["a", "a", "b", "c"] })]])));
    expect(numbered.map(({ steps }) => steps.length)).toEqual([2, 1, 1]);
    expect(numbered[0]?.steps[1]).toEqual({ observation: { a: 2.5 }, action: 2, reward: 0, discount: 1, is_first: false, is_last: true, is_terminal: false });
    const two = await all(
      await openParquet(
        new Map([
          ["a.parquet", file(base)],
          ["b.parquet", file(base)],
        ]),
      ),
    );
    expect(two.map(({ steps }) => steps.length)).toEqual([4, 4]);
    const open = await all(await openParquet(new Map([["x.parquet", file({ ...base, done: [false, true, false, false] })]])));
    expect(open.map(({ steps }) => (steps as { is_last: boolean; is_terminal: boolean }[]).map((step) => [step.is_last, step.is_terminal]))).toEqual([
      [
        [false, false],
        [true, true],
      ],
      [
        [false, false],
        [false, false],
      ],
    ]);
    const other = new Map([
      ["a.parquet", file(base)],
      ["b.parquet", file({ ...base, actions: [1.5, 2, 3, 4] })],
    ]);
    expectError(await errorFrom(openParquet(other).then(all)), "SPEC_MISMATCH", /actions, as in the first file/);
    expectError(await errorFrom(openParquet(new Map([["x.parquet", file({ actions: [1, 2] })]]))), "UNSUPPORTED", /no column for observation.*rename:/);
    const missing = file({ ...base, actions: [1, null, 3, 4] });
    expectError(await errorFrom(openParquet(new Map([["x.parquet", missing]])).then(all)), "INVALID_DATA", /column actions must/);
  });
});
