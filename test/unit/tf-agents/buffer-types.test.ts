import { expectTypeOf, test } from "vitest";
import { type Column, type ColumnLike, f32, i64, Replay } from "../../../src/index.ts";
import { ReverbClient } from "../../../src/reverb/index.ts";
import {
  type ApartElement,
  type ApartInfo,
  type BufferInfo,
  type Client,
  type Element,
  EpisodicReplayBuffer,
  LocalClient,
  type ReplayBuffer,
  type ReverbInfo,
  ReverbReplayBuffer,
  StatefulEpisodicReplayBuffer,
  type TableInfo,
  TFUniformReplayBuffer,
} from "../../../src/tf-agents/index.ts";

const spec = { x: f32(2), l: i64() } as const;
type S = typeof spec;
const never = { beginEpisodeFn: () => false, endEpisodeFn: () => false };
const uniform = new TFUniformReplayBuffer(spec, { batchSize: 1 });
const episodic = new EpisodicReplayBuffer(spec, { capacity: 2, ...never });
const stateful = new StatefulEpisodicReplayBuffer(episodic);
const reverb = new ReverbReplayBuffer(spec, { client: new Replay({ spec, tables: { t: { maxSize: 1 } } }), tableName: "t" });
uniform.addBatch({ x: [[1, 2]], l: [3] });
stateful.addSequence({ x: [[1, 2]], l: [3] });

test("ids are one column, or possibly a list of columns if timeStacked is false", () => {
  for (const buffer of [uniform, episodic, stateful] as const) {
    const [items, info] = buffer.getNext({ sampleBatchSize: 2, numSteps: 1 });
    expectTypeOf(items).toEqualTypeOf<{ readonly x: Column<"f32", [...number[], 2]>; readonly l: Column<"i64"> }>();
    expectTypeOf(info).toEqualTypeOf<BufferInfo>();
    expectTypeOf(info.ids.data).toEqualTypeOf<Float64Array<ArrayBuffer>>();
    expectTypeOf(buffer.getNext({ numSteps: 1, timeStacked: true })[1].ids.shape).toEqualTypeOf<number[]>();
    for (const [, of] of buffer.asDataset({ singleDeterministicPass: true })) expectTypeOf(of.ids.data).toEqualTypeOf<Float64Array<ArrayBuffer>>();
    const [apart, by] = buffer.getNext({ numSteps: 1, timeStacked: false });
    expectTypeOf(apart[0]?.x).toEqualTypeOf<Column<"f32", [...number[], 2]> | undefined>();
    expectTypeOf(by).toEqualTypeOf<ApartInfo>();
    expectTypeOf(by.ids).toEqualTypeOf<Column<"f64"> | readonly Column<"f64">[]>();
    expectTypeOf(buffer.getNext({ numSteps: 1, timeStacked: true as boolean })).toEqualTypeOf<Element<S> | ApartElement<S>>();
  }
  for (const [, info] of reverb.asDataset()) expectTypeOf(info).toEqualTypeOf<ReverbInfo>();
});

test("a remote client returns promises and bigint ids, and a local client returns values", () => {
  const client = new ReverbClient("localhost:1");
  const far = new ReverbReplayBuffer(spec, { client, tableName: "t" });
  type Told = [ReturnType<typeof far.numFrames>, typeof far.capacity, ReturnType<typeof far.getTableInfo>, ReturnType<typeof far.clear>];
  expectTypeOf<Told>().toEqualTypeOf<[Promise<number>, Promise<number>, Promise<TableInfo>, Promise<void>]>();
  expectTypeOf(far.updatePriorities).parameter(0).toEqualTypeOf<ArrayLike<bigint> | ColumnLike<"u64">>();
  expectTypeOf(far.updatePriorities).returns.toEqualTypeOf<Promise<undefined>>();
  type IdsOf<B extends { asDataset(): AsyncIterable<readonly [unknown, { ids: unknown }]> }> =
    ReturnType<B["asDataset"]> extends AsyncIterable<infer E extends readonly [unknown, { ids: unknown }]> ? E[1]["ids"] : never;
  expectTypeOf<IdsOf<typeof far>>().toEqualTypeOf<Column<"u64">>();
  expectTypeOf<IdsOf<typeof reverb>>().toEqualTypeOf<Column<"f64">>();
  expectTypeOf([reverb.numFrames(), reverb.capacity, reverb.updatePriorities([1], [1])]).toEqualTypeOf<number[]>();
  const local = new ReverbReplayBuffer(spec, { client: LocalClient.of({ spec, tables: [{ name: "t", maxSize: 1 }] }), tableName: "t" });
  expectTypeOf(local.numFrames()).toEqualTypeOf<number>();
  expectTypeOf<IdsOf<typeof local>>().toEqualTypeOf<Column<"f64">>();
  const any = (): ReverbReplayBuffer<S, Client<S>> => new ReverbReplayBuffer(spec, { client: client as never as Client<S>, tableName: "t" });
  expectTypeOf<ReturnType<ReturnType<typeof any>["numFrames"]>>().toEqualTypeOf<number | Promise<number>>();
  expectTypeOf<IdsOf<ReturnType<typeof any>>>().toEqualTypeOf<Column<"f64"> | Column<"u64">>();
  const both: readonly ReplayBuffer<S>[] = [far, local, any()];
  expectTypeOf(both[0]?.capacity).toEqualTypeOf<number | Promise<number> | undefined>();
  client.close();
});

test("every buffer of a spec is a ReplayBuffer of that spec and of any spec", () => {
  const own: readonly ReplayBuffer<S>[] = [uniform, episodic, stateful, reverb];
  const any: readonly ReplayBuffer[] = [...own, uniform, episodic, stateful, reverb];
  expectTypeOf(own[0]?.dataSpec).toEqualTypeOf<S | undefined>();
  expectTypeOf(any[0]?.numFrames()).toEqualTypeOf<number | Promise<number> | undefined>();
});

test("extract returns typed arrays, and extendEpisodes also accepts lists of numbers", () => {
  const copies = episodic.extract([0]);
  expectTypeOf(copies.length).toEqualTypeOf<Uint32Array<ArrayBuffer>>();
  expectTypeOf(copies.completed).toEqualTypeOf<Uint8Array<ArrayBuffer>>();
  expectTypeOf(episodic.extendEpisodes([-1], [0], copies)).toEqualTypeOf<number[]>();
  episodic.extendEpisodes([-1], [0], { length: [1], completed: [0], items: copies.items });
  stateful.extract([0]).length.fill(1);
});

test("sequencePreprocessFn receives typed columns", () => {
  uniform.asDataset({
    sequencePreprocessFn(items) {
      expectTypeOf(items).toEqualTypeOf<{ readonly x: Column<"f32", [...number[], 2]>; readonly l: Column<"i64"> }>();
      return items;
    },
  });
});
