/** Checks that the memory planned by `Replay.plan` suffices: fills Replays of the planned `maxBytes`, with random specs, tables and removers. */
import { expect, test } from "vitest";
import {
  f32,
  fifo,
  i32,
  lifo,
  maxHeap,
  minHeap,
  prioritized,
  Replay,
  type Selector,
  type Spec,
  shared,
  type TableOptions,
  u8,
  uniform,
} from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { scaled, some } from "../support/size.ts";

const SIZE = 60;
const EPISODE = 100;

interface Form {
  readonly spec: Spec;
  /** Returns a step of the newest frames in reverse order. */
  step(frames: readonly Uint8Array[], t: number): object;
}

const joined = (frames: readonly Uint8Array[]) => Uint8Array.from([...frames].reverse().flatMap((frame) => [...frame]));
const forms: { readonly [name: string]: Form } = {
  plain: { spec: { o: f32(6), a: i32(), reward: f32() }, step: (_, t) => ({ o: [t, 1, 2, 3, 4, 5], a: t, reward: 1 }) },
  wide: { spec: { o: f32(100), reward: f32() }, step: (_, t) => ({ o: new Float32Array(100).fill(t), reward: 1 }) },
  stack: { spec: { o: shared("f", u8(SIZE), 4), a: i32(), reward: f32() }, step: (frames, t) => ({ o: joined(frames.slice(0, 4)), a: t, reward: 1 }) },
  pair: {
    spec: { o: shared("f", u8(SIZE), 2), next: shared("f", u8(SIZE), 2), reward: f32() },
    step: (frames) => ({ o: joined(frames.slice(1, 3)), next: joined(frames.slice(0, 2)), reward: 1 }),
  },
  values: { spec: { o: shared("s", u8(SIZE)), next: shared("s", u8(SIZE)), reward: f32() }, step: ([next, o]) => ({ o, next, reward: 1 }) },
};

const removers = [fifo(), uniform(), lifo(), minHeap(), maxHeap(), prioritized(1)];

function tableOf(random: TestRandom): TableOptions {
  const maxSize = 1 + random.below(700);
  const sampler: Selector = random.pick([uniform(), fifo(), prioritized(0.8), maxHeap()]);
  const limits = random.pick<object>([{}, {}, { maxSteps: 5 + random.below(1500) }, { maxTimesSampled: 1 + random.below(3) }]);
  return { maxSize, sampler, remover: random.pick(removers), ...limits };
}

/** Fills a Replay of exactly the planned size. @returns used and planned bytes */
function fill(random: TestRandom, form: Form, tables: { [name: string]: TableOptions }, steps: number): readonly [used: number, planned: number] {
  const lengths = Object.keys(tables).map(() => 1 + random.below(5));
  const options = { spec: form.spec, tables, seed: random.below(1000), logger: null, transition: { observation: "o", action: "o" } };
  const { bytes, steps: rows, itemSteps } = Replay.plan({ ...options, itemSteps: Math.max(...lengths) });
  expect(itemSteps).toBe(Math.max(...lengths));
  const replay = new Replay({ ...options, maxBytes: bytes });
  const items = Object.keys(tables).map((table, i) => ((lengths[i] as number) > 1 ? { table, nStep: (lengths[i] as number) - 1 } : { table, length: 1 }));
  const writer = replay.writer({ items });
  const none = new Uint8Array(SIZE);
  let frames = [none, none, none, none, none];
  for (let t = 1; t <= steps; t++) {
    const frame = new Uint8Array(SIZE).fill(7);
    new DataView(frame.buffer).setUint32(0, t);
    frames = [frame, ...frames.slice(0, 4)];
    writer.append(form.step(frames, t));
    if (t % EPISODE === 0) {
      writer.endEpisode({ final: form.step(frames, t), terminated: true });
      frames = [none, none, none, none, none];
    }
    const table = replay.table(random.pick(Object.keys(tables)));
    if (random.below(4) === 0) table.updatePriorities([writer.lastKey(table.name)], [random.next() + 0.01]);
    if (random.below(3) === 0 && table.size > 4) table.sample(4, { length: 1 });
  }
  // In addition to the steps of items, the writer's window and the last step of each episode are stored.
  expect(replay.stats().steps).toBeLessThanOrEqual(rows + 32 + Math.ceil(rows / EPISODE));
  return [replay.stats().bytes.used, bytes];
}

test.each(Array.from({ length: scaled(60, 2) }, (_, i) => i + 1))("the planned memory suffices for random tables, seed %i", (seed) => {
  const random = new TestRandom(seed);
  const form = forms[random.pick(Object.keys(forms))] as Form;
  const tables = Object.fromEntries(Array.from({ length: 1 + random.below(3) }, (_, i) => [`t${i}`, tableOf(random)]));
  const [used, planned] = fill(random, form, tables, 4000);
  expect(used).toBeLessThanOrEqual(planned);
});

test.each(
  some(
    removers.flatMap((remover) => Object.keys(forms).map((name) => [remover.kind, name, remover] as const)),
    5,
  ),
)("the planned memory suffices for a %s remover and %s steps", (_, name, remover) => {
  const [used, planned] = fill(new TestRandom(3), forms[name] as Form, { t: { maxSize: 600, remover } }, 5000);
  expect(used).toBeLessThanOrEqual(planned);
});

test("Replay.plan assumes and returns itemSteps of 4 by default", () => {
  const options = { spec: { o: shared("f", u8(20, 20), 4), reward: f32() }, tables: { t: { maxSize: 500, remover: uniform() } } };
  const plan = Replay.plan(options);
  expect([plan.itemSteps, plan.steps]).toEqual([4, 501 * 4]);
  expect(plan.bytes).toBeGreaterThan(Replay.plan({ ...options, itemSteps: 2 }).bytes);
  expect(Replay.plan({ ...options, tables: { t: { maxSize: 500 } } }).steps).toBe(500);
  expect(() => Replay.plan({ ...options, itemSteps: 0 })).toThrow(/^itemSteps must be an integer in 1/);
  // A smaller limit is still allowed, because items may be shorter and overlap.
  expect(() => new Replay({ ...options, maxBytes: Replay.plan({ ...options, itemSteps: 1 }).bytes })).not.toThrow();
});
