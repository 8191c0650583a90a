/** Tests errors of writers that occur before anything is sent, so no server is needed. */
import { afterAll, expect, it, vi } from "vitest";
import { f32, i32 } from "../../../src/index.ts";
import { BufferedSteps } from "../../../src/reverb/buffered-steps.ts";
import { ReverbClient } from "../../../src/reverb/index.ts";
import { type MeasuredLeaf, measureLeaves, type PlacedLeaf } from "../../../src/schema/layout.ts";
import { leavesOf } from "../../../src/schema/spec.ts";
import { createConfig, patternFromTransform } from "../../../src/tf-agents/index.ts";
import { TestRandom } from "../../support/random.ts";

const spec = { a: i32(), b: f32(2) };
const client = new ReverbClient("127.0.0.1:1", { spec, reconnectTimeoutMs: 0 });
afterAll(() => client.close());

it("writer rejects rules that are invalid or not supported by Reverb", () => {
  const of = (rule: object) => () => client.writer({ keep: 4, items: [{ table: "t", length: 2, ...rule }] as never });
  const unsupported = (message: RegExp) => expect.objectContaining({ code: "UNSUPPORTED", message: expect.stringMatching(message) });
  expect(of({ nStep: 3, length: undefined })).toThrow(unsupported(/^items\[0\]\.nStep is not supported with a Reverb server.*nStep \+ 1 steps/));
  expect(of({ columns: { x: { leaf: "a" } } })).toThrow(unsupported(/structuredWriter/));
  expect(of({ priority: "max" })).toThrow(unsupported(/Pass a number/));
  expect(of({ length: 5 })).toThrow(/items\[0\]\.length must .*1 … 4, got 5/);
  expect(of({ stride: 0 })).toThrow("items[0].stride");
  expect(of({ priority: -1 })).toThrow(/items\[0\]\.priority must .*got -1/);
  expect(of({ priority: Number.NaN })).toThrow(RangeError);
  expect(of({ every: 2 })).toThrow("items[0] has no option");
  expect(() => client.writer({ keep: 0 })).toThrow("keep must be");
  expect(() => client.writer({ keep: 1, lanes: 2 } as never)).toThrow("writer has no option");
});

it("append and createItem reject invalid steps and items, and change nothing", () => {
  const writer = client.writer({ keep: 2 });
  writer.append({ a: 1, b: [1, 2] });
  expect(() => writer.append({ a: 1.5, b: [1, 2] })).toThrow(expect.objectContaining({ code: "INVALID_DATA" }));
  expect(() => writer.append({ a: 1 } as never)).toThrow(/^b is required/);
  expect(() => writer.createItem("t", { length: 2 })).toThrow(/length must .*1 … 1, got 2/);
  expect(() => writer.createItem("t", { length: 1, priority: -1 })).toThrow(/priority must .*got -1/);
  expect(writer.itemsMade.size).toBe(0);
  writer.close();
  expect(() => writer.append({ a: 1, b: [1, 2] })).toThrow(expect.objectContaining({ code: "CLOSED" }));
});

it("a rejected flush leaves the incomplete chunk and its items unchanged", async () => {
  const writer = client.legacyWriter({ maxSequenceLength: 3, chunkLength: 3 });
  writer.append({ a: 1, b: [1, 2] });
  // The item waits for its chunk and is not sent. Otherwise there would be a promise, because the table is unknown.
  const waits = () => expect(writer.createItem("t", 1, 1)).toBeUndefined();
  waits();
  const aborted = AbortSignal.abort(new Error("not now"));
  for (const options of [{ blockUntilNumItems: -1 }, { timeoutMs: -1 }, { signal: 1 }, { signal: aborted }, { timeout: 1 }, null]) {
    await expect(writer.flush(options as never)).rejects.toThrow();
    waits();
  }
  await expect(writer.flush()).rejects.toMatchObject({ code: "IO" });
  const sent = writer.createItem("t", 1, 1);
  await expect(sent).rejects.toMatchObject({ code: "IO" });
  writer.close();
  await expect(writer.flush()).rejects.toMatchObject({ code: "CLOSED" });
});

it("legacyWriter and structuredWriter reject invalid options", () => {
  expect(() => client.legacyWriter({ maxSequenceLength: 3, chunkLength: 4 })).toThrow(/chunkLength must .*1 … 3, got 4/);
  expect(() => client.legacyWriter({ maxSequenceLength: 0 })).toThrow("maxSequenceLength");
  expect(() => client.legacyWriter({ maxSequenceLength: 1, maxInFlightItems: 0 })).toThrow("maxInFlightItems");
  const other = patternFromTransform({ a: f32() }, (step) => ({ x: step.a.at(-1) }));
  expect(() => client.structuredWriter([createConfig(other, "t")])).toThrow(/a of configs\[0\] must .*i32.*\[\].*got f32 of shape \[\]/);
  const without = new ReverbClient("127.0.0.1:1");
  for (const make of [
    () => without.writer({ keep: 1 }),
    () => without.legacyWriter({ maxSequenceLength: 1 }),
    () => without.structuredWriter([createConfig(other, "t")]),
  ])
    expect(make).toThrow(expect.objectContaining({ code: "SPEC_MISMATCH", message: expect.stringContaining("this client has no spec") }));
  without.close();
});

it("a connection error is reported once, by the item's promise or by flush", async () => {
  const gone = { code: "IO", message: expect.stringContaining("127.0.0.1:1") };
  const pattern = patternFromTransform({ a: i32(), b: f32(2) }, (step) => ({ x: step.a.at(-1) }));
  const step = { a: 1, b: [1, 2] as const };
  // Each step makes one item, or two items that share a promise.
  for (const tables of [["t"], ["t", "u"]]) {
    for (const make of [
      () => client.writer({ keep: 1, items: tables.map((table) => ({ table, length: 1 })) }),
      () => client.structuredWriter(tables.map((table) => createConfig(pattern, table))),
    ]) {
      const writer = make();
      await expect(writer.append(step)).rejects.toMatchObject(gone);
      await writer.flush();
      void writer.append(step);
      await expect(writer.flush()).rejects.toMatchObject(gone);
      await writer.flush();
      const read = writer.append(step) as Promise<void>;
      void writer.append(step);
      await expect(Promise.all([read])).rejects.toMatchObject(gone);
      await expect(writer.flush()).rejects.toMatchObject(gone);
      writer.close();
    }
  }
  using trajectories = client.trajectoryWriter({ numKeepAliveRefs: 1 });
  trajectories.append(step);
  await expect(trajectories.createItem("t", 1, { a: trajectories.history.a.slice(-1) })).rejects.toMatchObject(gone);
  await trajectories.flush();
});

it("flush reports the error of an unawaited endEpisode, and close logs unreported errors", async () => {
  const warnings: string[] = [];
  const own = new ReverbClient("127.0.0.1:1", { spec, reconnectTimeoutMs: 0, logger: (message) => void warnings.push(message) });
  const writer = own.trajectoryWriter({ numKeepAliveRefs: 1 });
  const item = () => {
    writer.append({ a: 1, b: [1, 2] });
    return writer.createItem("t", 1, { a: writer.history.a.slice(-1) });
  };
  const ended = async () => new Promise((resolve) => setTimeout(resolve, 20));
  void item();
  void writer.endEpisode({ timeoutMs: 60_000 });
  await ended();
  await expect(writer.flush()).rejects.toMatchObject({ code: "IO" });
  await writer.flush();
  void item();
  await expect(writer.endEpisode({ timeoutMs: 60_000 })).rejects.toMatchObject({ code: "IO" });
  await writer.flush();
  expect(warnings).toEqual([]);
  void item();
  writer.close();
  await vi.waitFor(() => expect(warnings).toHaveLength(1));
  expect(warnings[0]).toMatch(/^reprise: a writer was closed .*127\.0\.0\.1:1.*flush\(\) before close\(\)/);
  // An error that the program has already received is not reported again.
  const other = own.writer({ keep: 1, items: [{ table: "t", length: 1 }] });
  const read = other.append({ a: 1, b: [1, 2] });
  other.close();
  await expect(read).rejects.toMatchObject({ code: "IO" });
  await ended();
  expect(warnings).toHaveLength(1);
  own.close();
});

it("unawaited promises of several items cause no unhandled rejections, and flush reports the error", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  const pattern = patternFromTransform({ a: i32(), b: f32(2) }, (step) => ({ x: step.a.at(-1) }));
  const writers = [
    client.writer({ keep: 1, items: ["t", "u"].map((table) => ({ table, length: 1 })) }),
    client.structuredWriter([createConfig(pattern, "t"), createConfig(pattern, "u")]),
  ];
  for (const writer of writers) void writer.append({ a: 1, b: [1, 2] });
  for (const writer of writers) await expect(writer.flush()).rejects.toMatchObject({ code: "IO" });
  await new Promise((resolve) => setTimeout(resolve, 10));
  process.off("unhandledRejection", note);
  for (const writer of writers) writer.close();
  expect(unhandled).toEqual([]);
});

it("chunkKeys returns the chunks of all stored steps after any sequence of calls", () => {
  const random = new TestRandom(7);
  const leaves = measureLeaves(leavesOf({ a: i32(), b: i32(), wide: i32(300) })).map((leaf): PlacedLeaf => ({ ...leaf, kind: 0, offset: 0, staged: 0 }));
  const held = new BufferedSteps(leaves, 8, { maxChunk: 3 });
  const keep = leaves.map(() => 8);
  const steps = leaves.map(() => new Set<number>());
  for (let step = 0; step < 2000; step++) {
    held.add(
      step,
      leaves.map(({ index, size }) => {
        if (random.below(5) === 0) return undefined;
        steps[index]?.add(step);
        return new Int32Array(size);
      }),
    );
    steps.forEach((own, i) => void own.delete(step - (keep[i] as number)));
    const chance = random.below(40);
    if (chance === 0) held.endEpisode(step + 1);
    else if (chance === 1) {
      held.clear();
      for (const own of steps) own.clear();
      held.endEpisode(step + 1);
    } else if (chance === 2) {
      const i = random.below(3);
      keep[i] = 1 + random.below(8);
      held.configure(i, keep[i] as number, 3, step + 1);
      for (const own of steps[i] as Set<number>) if (own < step + 1 - (keep[i] as number)) steps[i]?.delete(own);
    }
    held.chunkAll();
    const keys = steps.flatMap((own, i) => [...own].map((at) => held.locate(leaves[i] as PlacedLeaf, at, new Set()).chunkKey));
    expect(held.chunkKeys()).toEqual(new Set(keys));
  }
});

it("configure with a shorter history releases older steps and their chunks", () => {
  const leaf = { ...(measureLeaves(leavesOf({ a: i32() }))[0] as MeasuredLeaf), kind: 0, offset: 0, staged: 0 } as PlacedLeaf;
  const held = new BufferedSteps([leaf], 10, { maxChunk: 1 });
  const add = (step: number) => {
    held.add(step, [new Int32Array([step])]);
    held.chunkAll();
  };
  for (let step = 0; step < 10; step++) add(step);
  held.configure(0, 2, 1, 10);
  expect([held.oldest(0, 10), held.chunkKeys().size]).toEqual([8, 2]);
  add(10);
  expect([held.oldest(0, 11), held.chunkKeys().size]).toEqual([9, 2]);
});
