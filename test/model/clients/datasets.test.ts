// Compares datasets of a table with a naive list of its items: 100 seeded sequences.
import { expect, test } from "vitest";
import { type Column, f32, fifo, i32, lifo } from "../../../src/index.ts";
import { LocalClient, type ReplaySample, type SampleBatch, Table, TimestepDataset, TrajectoryDataset } from "../../../src/tf-agents/index.ts";
import { ClientTwin, type TwinSample, twinSteps } from "../../support/client-twin.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled } from "../../support/size.ts";

const SPEC = { a: i32(), b: f32(2) } as const;
const ANY = { a: { dtype: "i32", shape: [null] }, b: { dtype: "f32", shape: [null, 2] } } as const;
const STEP = { a: { dtype: "i32", shape: [] }, b: { dtype: "f32", shape: [2] } } as const;

class Scene {
  readonly random: TestRandom;
  readonly twin: ClientTwin;
  readonly client: LocalClient<typeof SPEC>;
  readonly #writer;
  #count = 0;
  readonly ids = new Map<unknown, number>();

  constructor(seed: number) {
    this.random = new TestRandom(seed);
    const { random } = this;
    const sampler = random.pick(["fifo", "lifo"] as const);
    const maxTimesSampled = 1 + random.below(3);
    const minSize = 1 + random.below(2);
    const maxSize = 3 + random.below(20);
    const limits = { samplesPerInsert: 1, minSize, minDiff: -Number.MAX_VALUE, maxDiff: Number.MAX_VALUE };
    this.twin = new ClientTwin({ name: "t", maxSize, sampler, remover: "fifo", maxTimesSampled, ...limits });
    const table = new Table({ name: "t", maxSize, sampler: sampler === "fifo" ? fifo() : lifo(), maxTimesSampled, rateLimiter: limits, ...this.#signature() });
    this.client = LocalClient.of({ spec: SPEC, tables: [table], seed: 1, maxBytes: 2 ** 24, logger: null });
    this.#writer = this.client.trajectoryWriter({ numKeepAliveRefs: 4, validateItems: false });
  }

  #signature() {
    const kind = this.random.below(3);
    return kind === 0 ? {} : { signature: kind === 1 ? ANY : STEP };
  }

  /** Writes an item of several steps, sometimes with columns of different lengths. */
  write(): void {
    const { random } = this;
    const length = 1 + random.below(4);
    const uneven = random.below(12) === 0 && length > 1;
    const steps = Array.from({ length }, () => [random.below(1000), [random.below(50), random.below(50) / 2]] as const);
    for (const [a, b] of steps) this.#writer.append({ a, b });
    const { a, b } = this.#writer.history;
    this.#writer.createItem("t", 1, { a: a.slice(), b: b.slice(uneven ? 1 : 0) });
    this.#writer.endEpisode();
    const columns = [steps.map((step) => step[0]), steps.slice(uneven ? 1 : 0).map((step) => step[1])];
    this.twin.insert({ id: this.#count, episode: this.#count++, columns, squeezed: [false, false], priority: 1 });
  }

  plain({ info: { key, ...info }, data }: ReplaySample, wanted: number): unknown {
    if (!this.ids.has(key)) this.ids.set(key, wanted);
    return [{ id: this.ids.get(key), ...info }, [data.a, data.b].map((column: Column) => column.toArray())];
  }
}

/** Returns the expected elements of one iteration, and whether it fails midway. */
function expected(
  scene: Scene,
  maxSamples: number,
  each: "item" | "step",
): { readonly elements: (readonly [TwinSample["info"], unknown[]])[]; readonly breaks: boolean } {
  const elements: (readonly [TwinSample["info"], unknown[]])[] = [];
  for (let i = 0; i !== maxSamples; i++) {
    const sample = scene.twin.sample();
    if (sample === undefined) break;
    const { info, item } = sample;
    if (each === "item") {
      elements.push([info, item.columns as unknown[]]);
      continue;
    }
    const length = twinSteps(item, true);
    if (length === undefined) return { elements, breaks: true };
    for (let t = 0; t < length; t++) elements.push([info, item.columns.map((column) => column[t])]);
  }
  return { elements, breaks: false };
}

async function collected<E>(from: AsyncIterable<E>): Promise<{ readonly elements: E[]; readonly breaks: boolean }> {
  const elements: E[] = [];
  try {
    for await (const element of from) elements.push(element);
    return { elements, breaks: false };
  } catch (error) {
    expect(error).toMatchObject({ code: "SPEC_MISMATCH" });
    return { elements, breaks: true };
  }
}

async function* read<E>(stream: ReadableStream<E>): AsyncGenerator<E> {
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}

const seeds = Array.from({ length: scaled(100, 20) }, (_, seed) => seed);

test.each(seeds)("datasets of sequence %i equal a naive list of items", async (seed) => {
  const scene = new Scene(seed);
  const { random } = scene;
  const own = scene.client.serverInfo().t?.signature;
  for (let round = 0; round < 6; round++) {
    for (let n = random.below(6); n > 0; n--) scene.write();
    const each = random.pick(["item", "step"] as const);
    const maxSamples = random.pick([-1, -1, 1, 2, 5]);
    const options = { maxSamples, rateLimiterTimeoutMs: 0, spec: each === "item" ? ANY : STEP };
    const dataset = each === "item" ? new TrajectoryDataset(scene.client, "t", options) : new TimestepDataset(scene.client, "t", options);
    if (own !== undefined && (own === ANY || "a" in (own as object)) && JSON.stringify(own) !== JSON.stringify(options.spec)) {
      // The signature is for the other kind, so nothing is drawn.
      expect(await collected(dataset)).toEqual({ elements: [], breaks: true });
      continue;
    }
    const wanted = expected(scene, maxSamples, each);
    const isStepwise = each === "step";
    if (isStepwise && random.below(2) === 0) {
      const n = 1 + random.below(3);
      const got = await collected(dataset.batch(n) as AsyncIterable<SampleBatch<{ readonly a: Column; readonly b: Column }>>);
      const flat = got.elements.flatMap(({ info, data }) => {
        const rows = [data.a.toArray(), data.b.toArray()] as unknown[][];
        return Array.from(info.priority.data as ArrayLike<unknown>, (priority, i) => [priority, info.timesSampled.data[i], rows.map((column) => column[i])]);
      });
      expect(flat).toEqual(wanted.elements.map(([info, values]) => [info.priority, info.timesSampled, values]));
      expect(got.elements.slice(0, -1).every(({ info }) => info.key.data.length === n)).toBe(true);
      expect(got.breaks).toBe(wanted.breaks);
      continue;
    }
    const got = await collected((random.below(2) === 0 ? dataset : read(dataset.stream())) as AsyncIterable<ReplaySample>);
    expect(got.elements.map((sample, i) => scene.plain(sample, wanted.elements[i]?.[0].id ?? -1))).toEqual(wanted.elements);
    expect(got.breaks).toBe(wanted.breaks);
  }
  scene.client.replay.dispose();
});
