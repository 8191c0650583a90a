/** Tests hosts that compile WebAssembly ahead of time and pass the core as a module. Such hosts forbid compilation, so the package must not compile code. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as main from "../../src/index.ts";
import * as pfrl from "../../src/pfrl/index.ts";
import type { Directory } from "../../src/storage/index.ts";
import * as storage from "../../src/storage/index.ts";
import * as agents from "../../src/tf-agents/index.ts";
import { moduleOf, root } from "../support/core.ts";
import { some } from "../support/size.ts";

const { Module } = WebAssembly;
const MODULES = some(["release", "scalar", "debug"] as const, 1).map((target) => [target, moduleOf(target)] as const);
const SOURCES = { main, storage, agents, pfrl };

async function bundled<T>(entry: string): Promise<T> {
  return (await import(pathToFileURL(join(root, "dist", entry)).href)) as T;
}

const BUNDLE: typeof SOURCES = {
  main: await bundled("index.js"),
  storage: await bundled("storage.js"),
  agents: await bundled("agents.js"),
  pfrl: await bundled("pfrl.js"),
};

beforeEach(() => {
  WebAssembly.Module = function forbidden() {
    throw new Error("compiling is forbidden");
  } as unknown as typeof Module;
});

afterEach(() => {
  WebAssembly.Module = Module;
});

describe.each([
  ["the sources", SOURCES],
  ["the bundle", BUNDLE],
])("nothing is compiled in %s if a module is passed", (_, { main: { i32, Replay }, storage, agents, pfrl }) => {
  const spec = { x: i32() };
  const tables = { t: { maxSize: 4 } };
  const step = (k: number) => ({ state: k, action: k, reward: k, nextState: k + 1, isStateTerminal: k % 3 === 2 });
  const plain = (column: { readonly data: ArrayLike<number | bigint> }) => Array.from(column.data);

  test.each(MODULES)("to a Replay, its plan, and a restored snapshot (%s)", (_, module) => {
    expect(Replay.plan({ spec, tables, module }).steps).toBe(4);
    const replay = new Replay({ spec, tables, module });
    replay.writer({ items: [{ table: "t", length: 1 }] }).appendColumns({ x: [1, 2, 3, 4, 5] });
    const again = Replay.restore<typeof spec, "t">(replay.snapshot(), { module });
    for (const one of [replay, again]) expect(plain(one.table("t").sample(4, { replacement: false }).steps.x).sort()).toEqual([2, 3, 4, 5]);
  });

  test.each(MODULES)("to a Replay in a directory, also when it is reopened by its directory only (%s)", async (_, module) => {
    const dir = storage.memory();
    const replay = await Replay.open({ dir, spec, tables, module });
    replay.writer({ items: [{ table: "t", length: 1 }] }).appendColumns({ x: [1, 2, 3] });
    await replay.flush();
    replay.dispose();
    const again = await Replay.open<typeof spec, "t">({ dir, module });
    expect(again.table("t").size).toBe(3);
    again.dispose();
  });

  test.each(MODULES)("to the Replay of a writer with history (%s)", (_, module) => {
    const client = new agents.LocalClient(new Replay({ spec, tables, module }));
    const writer = client.trajectoryWriter({ numKeepAliveRefs: 3 });
    for (let x = 0; x < 3; x++) writer.append({ x });
    expect(plain(writer.history.x.slice().values())).toEqual([0, 1, 2]);
    writer.createItem("t", 1, { x: writer.history.x.slice() });
    expect(client.table("t").size).toBe(1);
  });

  test.each(MODULES)("to TF-Agents replay buffers (%s)", (_, module) => {
    const uniform = new agents.TFUniformReplayBuffer(spec, { batchSize: 2, maxLength: 3, module });
    const episodic = new agents.EpisodicReplayBuffer(spec, { capacity: 2, beginEpisodeFn: () => false, endEpisodeFn: () => false, module });
    uniform.addBatch({ x: Int32Array.of(7, 7) });
    episodic.addSequence({ x: Int32Array.of(7) }, -1);
    for (const buffer of [uniform, episodic]) expect(plain(buffer.getNext()[0].x as never)).toEqual([7]);
  });

  test.each(MODULES)("to PFRL buffers, also when they are saved, loaded and prioritized (%s)", async (_, module) => {
    const directory = storage.memory();
    const makers = [
      () => new pfrl.ReplayBuffer(10, { module }),
      () => new pfrl.PrioritizedReplayBuffer(10, { module }),
      () => new pfrl.EpisodicReplayBuffer(10, { module }),
      () => new pfrl.PrioritizedEpisodicReplayBuffer(10, { module }),
    ];
    for (const [i, make] of makers.entries()) {
      const [buffer, again] = [make(), make()];
      for (let k = 0; k < 6; k++) buffer.append(step(k));
      buffer.save({ directory, file: `${i}` });
      await again.loadAsync({ directory, file: `${i}` });
      expect(again.length).toBe(buffer.length);
      if ("sampleEpisodes" in again) again.sampleEpisodes(2);
      else again.sample(2);
      if ("updateErrors" in again) again.updateErrors([1, 2]);
    }
  });

  test.each(MODULES)("to persistent PFRL buffers with ancestors (%s)", (_, module) => {
    const makers = [
      (dir: Directory, ancestor: Directory | null) => new pfrl.PersistentReplayBuffer(dir, 10, { module, ancestor, durability: "manual" }),
      (dir: Directory, ancestor: Directory | null) => new pfrl.PersistentEpisodicReplayBuffer(dir, 10, { module, ancestor, durability: "manual" }),
    ];
    for (const make of makers) {
      const dir = storage.memory();
      const parent = make(dir, null);
      for (let k = 0; k < 6; k++) parent.append(step(k));
      parent.close();
      const buffer = make(storage.memory(), dir);
      expect(buffer.length).toBe(parent.length);
      buffer.close();
    }
  });
});
