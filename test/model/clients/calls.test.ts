// Compares client calls with naive tables: 100 seeded sequences of calls.
import { expect, test } from "vitest";
import { Replay } from "../../../src/index.ts";
import { LocalClient } from "../../../src/tf-agents/index.ts";
import { type TwinItem, type TwinSample, twinSteps } from "../../support/client-twin.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled } from "../../support/size.ts";
import { plainColumns, Scene } from "./scene.ts";

/** Returns the part of an item that a sample shows: the whole item, or a step. */
function shown({ columns, squeezed }: TwinItem, t?: number): unknown[] {
  return columns.map((column, i) => (t !== undefined ? column[t] : squeezed[i] ? column[0] : column));
}

/** Returns the twin's samples before it is blocked, at most n. */
function drawn(scene: Scene, table: string, n: number): TwinSample[] {
  const samples: TwinSample[] = [];
  for (let sample = scene.twin(table).sample(); sample !== undefined; sample = samples.length < n ? scene.twin(table).sample() : undefined)
    samples.push(sample);
  return samples;
}

function whole(scene: Scene, table: string): void {
  const wanted = drawn(scene, table, 1 + scene.random.below(4));
  if (wanted.length === 0) {
    expect([...scene.client.sample(table, 3, { emitTimesteps: false })]).toEqual([]);
    return;
  }
  const got = [...scene.client.sample(table, wanted.length, { emitTimesteps: false })];
  expect(got.map((sample, i) => [scene.plain(table, sample, (wanted[i] as TwinSample).info.id), plainColumns(sample.data)])).toEqual(
    wanted.map(({ info, item }) => [info, shown(item)]),
  );
}

/** Draws one item as steps. If that is impossible, the call is rejected, but the item counts as sampled. */
function inSteps(scene: Scene, table: string): void {
  const wanted = scene.twin(table).sample();
  if (wanted === undefined) return;
  const length = twinSteps(wanted.item, false);
  if (length === undefined) {
    expect(() => [...scene.client.sample(table)]).toThrow(expect.objectContaining({ code: "SPEC_MISMATCH" }));
    return;
  }
  const [steps = []] = [...scene.client.sample(table)];
  expect(steps.map((sample) => [scene.plain(table, sample, wanted.info.id), plainColumns(sample.data)])).toEqual(
    Array.from({ length }, (_, t) => [wanted.info, shown(wanted.item, t)]),
  );
}

function mutate(scene: Scene, table: string): void {
  const { random } = scene;
  const keys = scene.keysOf(table);
  const some = (n: number) => Array.from({ length: random.below(n) }, () => random.pick([...keys.keys(), -1]));
  const updates = some(4).map((id) => [id, random.below(9)] as const);
  const deletes = some(2);
  const keyOf = (id: number) => keys.get(id) ?? 0;
  scene.client.mutatePriorities(table, { updates: updates.map(([id, priority]) => [keyOf(id), priority]), deletes: deletes.map(keyOf) });
  // If a key occurs twice, its last priority counts.
  for (const [id, priority] of new Map(updates)) scene.twin(table).update(id, priority);
  for (const id of deletes) scene.twin(table).delete(id);
}

function info(scene: Scene): void {
  const all = scene.client.serverInfo();
  expect(Object.keys(all)).toEqual(scene.names);
  scene.names.forEach((name, i) => {
    const twin = scene.twin(name);
    const { options } = twin;
    expect(all[name]).toMatchObject({
      name,
      maxSize: options.maxSize,
      maxTimesSampled: options.maxTimesSampled,
      currentSize: twin.size,
      numEpisodes: twin.episodes,
      numDeletedEpisodes: twin.deletedEpisodes,
      numUniqueSamples: twin.unique,
      sampler: { kind: options.sampler },
      remover: { kind: options.remover },
      rateLimiterInfo: { minSizeToSample: options.minSize, insertStats: { completed: twin.inserts }, sampleStats: { completed: twin.samples } },
    });
    expect(scene.tables[i]?.info).toEqual(all[name]);
  });
}

const CALLS = [
  (scene: Scene) => scene.insert(),
  (scene: Scene) => scene.insert(),
  (scene: Scene) => scene.write(),
  (scene: Scene) => scene.write(),
  (scene: Scene) => whole(scene, scene.random.pick(scene.names)),
  (scene: Scene) => inSteps(scene, scene.random.pick(scene.names)),
  (scene: Scene) => mutate(scene, scene.random.pick(scene.names)),
  info,
];

const seeds = Array.from({ length: scaled(100, 20) }, (_, seed) => seed);

test.each(seeds)("random calls return the same results as naive tables (sequence %i)", (seed) => {
  const random = new TestRandom(seed);
  const scene = new Scene(random);
  for (let i = 0; i < 60; i++) {
    if (random.below(40) === 0) {
      const table = random.pick(scene.names);
      scene.client.reset(table);
      scene.twin(table).reset();
    } else random.pick(CALLS)(scene);
  }
  info(scene);
  // A client restored from its checkpoint continues like the original.
  const saved = new LocalClient(Replay.restore([...scene.client.checkpoint()], { logger: null }));
  const again = Object.assign(Object.create(Scene.prototype), scene, { client: saved, tables: [] }) as Scene;
  for (const name of scene.names) whole(again, name);
  scene.client.replay.dispose();
  saved.replay.dispose();
});
