/** Tests transitions from two sources in one buffer. As in PFRL, ancestors, files and running episodes may differ in their extras. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { f32, f64 } from "../../../src/index.ts";
import { EpisodicReplayBuffer, object, PersistentEpisodicReplayBuffer, PersistentReplayBuffer, ReplayBuffer } from "../../../src/pfrl/index.ts";
import { type Directory, Log, memory, node } from "../../../src/storage/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { some, whole } from "../../support/size.ts";

const LIST = { form: "list" } as const;
const MANUAL = { durability: "manual" } as const;
const frames = (i: number) => Array.from({ length: 4 }, (_, k) => new Uint8Array(80).fill((i + k) & 0xff));
const step = (i: number, extras: object = {}) => ({
  state: frames(i),
  action: i,
  reward: i / 2,
  nextState: frames(i + 1),
  nextAction: null,
  isStateTerminal: i % 3 === 2,
  ...extras,
});
type Step = ReturnType<typeof step>;
const all = (buffer: { items(): Iterable<unknown> }) => [...buffer.items()].flat();

describe("an ancestor that is still open in this process", () => {
  const folder = mkdtempSync(join(tmpdir(), "pfrl-mixed-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  test.each<[string, Directory | string]>([
    ["a directory in memory", memory()],
    ["a path", join(folder, "old")],
  ])("provides all appended steps: %s", (_, old) => {
    const parent = new PersistentReplayBuffer(old, 100, MANUAL);
    for (let i = 0; i < 4; i++) parent.append(step(i));
    const child = new PersistentReplayBuffer(memory(), 100, { ...MANUAL, ancestor: old });
    expect(all(child)).toEqual([0, 1, 2, 3].map((i) => step(i)));
    // The parent continues as before.
    parent.append(step(4));
    const later = new PersistentReplayBuffer(memory(), 100, { ...MANUAL, ancestor: old });
    expect(later.length).toBe(5);
    for (const buffer of [parent, child, later]) buffer.close();
  });

  test("is found by a relative path, and recorded by its absolute path", () => {
    const [old, child, grandchild] = ["a", "b", "c"].map((name) => join(folder, "paths", name)) as [string, string, string];
    const aside = relative(process.cwd(), old);
    const parent = new PersistentReplayBuffer(old, 100, MANUAL);
    parent.append(step(0));
    const first = new PersistentReplayBuffer(child, 100, { ...MANUAL, ancestor: aside });
    first.append(step(1));
    expect(first.length).toBe(2);
    const about = Log.open(node(child), { about: {}, readOnly: true });
    expect((about.about as { ancestor: unknown }).ancestor).toBe(old);
    about.close();
    const second = new PersistentReplayBuffer(grandchild, 100, { ...MANUAL, ancestor: child });
    expect(second.length).toBe(2);
    expectError(
      errorOf(() => new PersistentReplayBuffer(old, 100, { ...MANUAL, ancestor: aside })),
      RangeError,
      /that is not among its own ancestors/,
    );
    for (const buffer of [parent, first, second]) buffer.close();
  });

  test("throws IO if its pending steps cannot be written", () => {
    let full = false;
    const old = memory({ fault: ({ kind }) => (full && kind === "write" ? { code: "ENOSPC" } : undefined) });
    const parent = new PersistentReplayBuffer(old, 100, MANUAL);
    parent.append(step(0));
    full = true;
    expectError(
      errorOf(() => new PersistentReplayBuffer(memory(), 100, { ...MANUAL, ancestor: old })),
      "IO",
      /no space/,
    );
    full = false;
    parent.close();
  });
});

describe("different extras", () => {
  const KINDS: readonly (readonly [string, (i: number) => object])[] = [
    ["none", () => ({})],
    ["a number", (i) => ({ logp: i })],
    ["a word", (i) => ({ logp: `w${i}` })],
    ["others", (i) => ({ goal: Float32Array.of(i, 0), note: { deep: [i, "x"] } })],
  ];
  const PAIRS = KINDS.flatMap(([one, a]) => KINDS.filter(([other]) => other !== one).map(([other, b]) => [one, other, a, b] as const));

  test.each(some(PAIRS, 1))("are kept for a running episode with %s and a file with %s", (_, __, own, others) => {
    const directory = memory();
    const file = new ReplayBuffer({ numSteps: 2 });
    for (let i = 0; i < 7; i++) file.append(step(i, others(i)));
    file.save({ directory, file: "f" });
    const buffer = new ReplayBuffer({ numSteps: 2 });
    buffer.append(step(9, own(9)));
    buffer.load({ directory, file: "f" });
    buffer.append(step(10, own(10)));
    expect([...buffer.items()]).toEqual([...file.items(), [step(9, own(9)), step(10, own(10))]]);
    expect(buffer.sample(buffer.length).count).toBe(buffer.length);
    const episodes = new EpisodicReplayBuffer();
    for (let i = 0; i < 6; i++) episodes.append(step(i, others(i)));
    episodes.save({ directory, file: "e" });
    const other = new EpisodicReplayBuffer();
    other.append(step(9, own(9)));
    other.load({ directory, file: "e" });
    other.stopCurrentEpisode();
    expect([...other.episodes()]).toEqual([...episodes.episodes(), [step(9, own(9))]]);
  });

  type Open = (directory: Directory, ancestor: Directory | null) => PersistentReplayBuffer | PersistentEpisodicReplayBuffer;
  const OPTIONS = { ...MANUAL, segmentBytes: 1000 } as const;
  const OPEN: readonly Open[] = [
    (directory, ancestor) => new PersistentReplayBuffer(directory, 100, { ...OPTIONS, ancestor }),
    (directory, ancestor) => new PersistentEpisodicReplayBuffer(directory, 100, { ...OPTIONS, ancestor }),
  ];

  // A text is always rejected if the first source has a number.
  const FITTING = PAIRS.filter(([one, other]) => one !== "a number" || other !== "a word");
  test.runIf(whole).each(FITTING)("are kept for an ancestor with %s and a directory with %s", (_, __, old, own) => {
    for (const open of OPEN) {
      const [first, second] = [memory(), memory()];
      const expected: Step[] = [];
      const put = (directory: Directory, from: number, to: number, extras: (i: number) => object, ancestor?: Directory) => {
        const buffer = open(directory, ancestor ?? null);
        for (let i = from; i < to; i++) {
          buffer.append(step(i, extras(i)));
          expected.push(step(i, extras(i)));
        }
        buffer.sample(1);
        buffer.close();
      };
      put(first, 0, 9, old);
      put(second, 9, 15, own);
      put(second, 15, 21, own, first);
      put(second, 21, 24, old, first);
      const whole = open(second, first);
      expect(all(whole)).toEqual(expected);
      expect(whole.sample(24).count).toBe(24);
      whole.close();
      const alone = open(second, null);
      expect(all(alone)).toEqual(expected.slice(9));
      alone.close();
    }
  });

  test("are rejected without any change if an explicit spec does not contain them", () => {
    const directory = memory();
    const file = new ReplayBuffer();
    for (let i = 0; i < 3; i++) file.append({ state: i, action: 0, reward: 0, nextState: i, logp: i });
    file.save({ directory, file: "f" });
    const state = { ...f64(), plain: true };
    const takes = new ReplayBuffer({ spec: { state, action: state, extras: { logp: f32(), note: object() } } });
    takes.load({ directory, file: "f" });
    expect([...takes.sample(3).extras.logp.data].sort()).toEqual([0, 1, 2]);
    const refuses = new ReplayBuffer({ spec: { state, action: state, extras: { note: object() } } });
    refuses.append({ state: 7, action: 0, reward: 0, nextState: 8 });
    expectError(
      errorOf(() => refuses.load({ directory, file: "f" })),
      "SPEC_MISMATCH",
      /extras must .*\(note\)/,
    );
    expect([...refuses.sample(1, LIST)].map(([one]) => one?.state)).toEqual([7]);
  });
});
