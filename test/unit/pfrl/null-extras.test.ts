/** Tests extras that are null in the first transition, such as an initial recurrent state: the first non-null value determines the form. */
import { describe, expect, test } from "vitest";
import {
  EpisodicReplayBuffer,
  PersistentEpisodicReplayBuffer,
  PersistentReplayBuffer,
  PrioritizedEpisodicReplayBuffer,
  PrioritizedReplayBuffer,
  ReplayBuffer,
} from "../../../src/pfrl/index.ts";
import { memory } from "../../../src/storage/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const LIST = { form: "list" } as const;
const MANUAL = { durability: "manual" } as const;
type Buffer = ReplayBuffer | EpisodicReplayBuffer | PrioritizedReplayBuffer | PrioritizedEpisodicReplayBuffer;

const hidden = (i: number) => [Float32Array.of(i, -i)];
const step = (i: number, first: boolean, more: object = {}) => ({
  state: Float32Array.of(i),
  action: i,
  reward: i / 2,
  nextState: Float32Array.of(i + 1),
  nextAction: null,
  isStateTerminal: false,
  recurrentState: first ? null : hidden(i),
  nextRecurrentState: hidden(i + 1),
  note: null,
  ...more,
});
/** Appends steps of three environments, whose episodes are interleaved. */
const fill = (buffer: Buffer, from = 0, to = 30) => {
  for (let i = from; i < to; i++) {
    const t = Math.floor(i / 3);
    const { envId, ...transition } = { ...step(i, t % 5 === 0), isStateTerminal: t % 5 === 4, envId: i % 3 };
    buffer.append({ ...transition, envId });
    if (i === 1) buffer.stopCurrentEpisode(1);
  }
};
const columns = (batch: { extras: object; hasExtras: object }) => batch as unknown as { extras: { [name: string]: { data: Float32Array; shape: number[] } }; hasExtras: { [name: string]: { data: Uint8Array } } }; // biome-ignore format: a type

describe.each<[string, (more: object) => Buffer]>([
  ["ReplayBuffer", (more) => new ReplayBuffer({ ...more })],
  ["ReplayBuffer of three steps", (more) => new ReplayBuffer({ numSteps: 3, ...more })],
  ["PrioritizedReplayBuffer", (more) => new PrioritizedReplayBuffer({ ...more })],
  ["EpisodicReplayBuffer", (more) => new EpisodicReplayBuffer({ ...more })],
  ["PrioritizedEpisodicReplayBuffer", (more) => new PrioritizedEpisodicReplayBuffer({ ...more })],
  ["PersistentReplayBuffer", (more) => new PersistentReplayBuffer(memory(), { ...MANUAL, ...more }) as never],
  ["PersistentEpisodicReplayBuffer", (more) => new PersistentEpisodicReplayBuffer(memory(), { ...MANUAL, ...more }) as never],
])("%s", (_, make) => {
  test("returns null extras as columns that match the lists", () => {
    const [buffer, other] = [make({ seed: 2 }), make({ seed: 2 })];
    for (const one of [buffer, other]) fill(one);
    const n = Math.min(buffer.length, 8);
    const batch = columns(buffer.sample(n) as never);
    const list = other.sample(n, LIST) as unknown as ReturnType<typeof step>[][];
    const items = Array.isArray(list[0]) ? list : (list as unknown as ReturnType<typeof step>[]).map((one) => [one]);
    const { data, shape } = batch.extras.recurrentState as { data: Float32Array; shape: number[] };
    expect(shape.slice(-2)).toEqual([1, 2]);
    const width = data.length / n / 2;
    const expected = items.flatMap((item) => Array.from({ length: width }, (_, t) => [...(item[t]?.recurrentState?.[0] ?? [0, 0])]).flat());
    expect([...data]).toEqual(expected);
    expect([...(batch.hasExtras.recurrentState?.data ?? [])]).toEqual(items.flatMap((item) => Array.from({ length: width }, (_, t) => Number((item[t]?.recurrentState ?? null) !== null)))); // biome-ignore format: one line
    // The form of the other extra is still unknown.
    expect(Array.isArray(batch.extras.note)).toBe(true);
    expect([...buffer.items()].flat()).toEqual([...other.items()].flat());
    expect([...buffer.items()].flat().filter((one) => (one as unknown as { recurrentState: unknown }).recurrentState === null).length).toBeGreaterThan(2);
  });
});

test("append stores copies, so the caller may reuse its arrays", () => {
  const buffer = new ReplayBuffer({ numSteps: 2 });
  const state = new Float32Array(1);
  for (let i = 0; i < 4; i++) {
    state[0] = i;
    buffer.append({ ...step(i, i < 3), state, envId: "a" });
  }
  expect([...buffer.items()].map((item) => item.map((one) => (one.state as Float32Array)[0]))).toEqual([
    [0, 1],
    [1, 2],
    [2, 3],
  ]);
  expect(buffer.running().get("a")?.length).toBe(2);
});

test("a rejected transition does not determine the form of an extra", () => {
  const buffer = new ReplayBuffer();
  buffer.append(step(0, true));
  expectError(
    errorOf(() => buffer.append({ ...step(1, false), state: Float32Array.of(1, 2), recurrentState: "a word" })),
    "SPEC_MISMATCH",
  );
  expectError(
    errorOf(() => buffer.append({ ...step(1, false), action: "x", recurrentState: 5 })),
    "SPEC_MISMATCH",
  );
  buffer.append(step(1, false));
  expect(columns(buffer.sample(2)).extras.recurrentState?.shape).toEqual([2, 1, 2]);
});

test("a directory keeps the columns and all items when it is reopened", () => {
  for (const open of [
    (directory: ReturnType<typeof memory>) => new PersistentReplayBuffer(directory, 100, { ...MANUAL, segmentBytes: 1000 }),
    (directory: ReturnType<typeof memory>) => new PersistentEpisodicReplayBuffer(directory, 100, { ...MANUAL, segmentBytes: 1000 }),
  ]) {
    const directory = memory();
    let buffer = open(directory);
    fill(buffer as never, 0, 20);
    const before = [...buffer.items()];
    for (let turn = 0; turn < 2; turn++) {
      buffer.close();
      buffer = open(directory);
      expect([...buffer.items()]).toEqual(before);
      expect(columns(buffer.sample(3) as never).extras.recurrentState?.shape).toEqual([3, 1, 2]);
    }
    buffer.close();
  }
});

test("after a draw or an eviction, a null extra becomes an object column", () => {
  const drawn = new ReplayBuffer();
  drawn.append(step(0, true));
  drawn.sample(1);
  drawn.append(step(1, false));
  const full = new ReplayBuffer(2);
  for (let i = 0; i < 3; i++) full.append(step(i, true));
  full.append(step(3, false));
  for (const buffer of [drawn, full]) {
    expect(columns(buffer.sample(2)).extras.recurrentState).toHaveLength(2);
    expect([...buffer.items()].at(-1)?.[0]?.recurrentState).toEqual(hidden(buffer === drawn ? 1 : 3));
  }
});
