import { expect, test } from "vitest";
import { WRITERS } from "../../../src/base/kinds.ts";
import { i32 } from "../../../src/index.ts";
import { Changes } from "../../../src/memory/changes.ts";
import { engineOf, Replay, stateOf } from "../../../src/replay/replay.ts";
import { layoutSections, writersBytes } from "../../../src/storage/format/writers.ts";
import { Recovery } from "../../../src/storage/open.ts";
import { tracked } from "../../support/core.ts";
import { TestRandom } from "../../support/random.ts";
import { type AnyReplay, SCENES, sceneNames } from "../../support/scenes.ts";
import { scaled } from "../../support/size.ts";
import { draws, seen } from "./seen.ts";

const CALLS = scaled(400, 80);

interface Section {
  readonly kind: number;
  readonly id: number;
  readonly payload: Uint8Array;
  readonly segment: number;
}

function changesOf(replay: Replay): Changes {
  return new Changes(engineOf(replay), stateOf(replay), 64);
}

/** Records all changes of a Replay, group by group, as a journal would write them. */
class Tape {
  readonly sections: Section[] = [];
  readonly replay: Replay;
  readonly changes: Changes;

  constructor(replay: AnyReplay) {
    this.replay = replay as unknown as Replay;
    this.changes = changesOf(this.replay);
  }

  group(segment: number): void {
    const write = (kind: number, id: number, payload: Uint8Array) => void this.sections.push({ kind, id, payload: payload.slice(), segment });
    this.changes.write(segment, write, true);
    write(WRITERS, 0, writersBytes(stateOf(this.replay)));
    for (const section of layoutSections(stateOf(this.replay))) write(...section);
    for (const section of this.changes.numbers()) write(...section);
  }

  /** Rewrites the valid records of a segment. */
  empty(segment: number): void {
    const { pools, tables } = this.changes;
    for (let k = 0; k < pools.length + tables.length; k++) for (let at = 1; at !== 0; ) at = this.changes.collect(segment, k, at, 1);
  }

  async recovered(): Promise<{ replay: AnyReplay; changes: Changes }> {
    const { options } = this.replay;
    const replay = await tracked(() => new Replay({ ...options, seed: BigInt(options.seed) }));
    const changes = changesOf(replay);
    const recovery = new Recovery(stateOf(replay), changes, "a tape");
    for (const { kind, id, payload, segment } of this.sections) recovery.visit(kind, id, payload, segment);
    recovery.finish();
    expect(changes.brokenInvariants()).toEqual([]);
    return { replay: replay as unknown as AnyReplay, changes };
  }
}

/** Counts the valid records of each segment. */
function counted(tape: Tape, segments: number): number[] {
  return Array.from({ length: segments }, (_, i) => tape.changes.liveIn(i + 1));
}

test.each(sceneNames(3))("changes written in groups recover the same Replay: %s", async (name) => {
  const { make, act } = SCENES[name] as (typeof SCENES)[string];
  const original = await tracked(() => make());
  const tape = new Tape(original);
  const random = new TestRandom(name.length);
  const when = new TestRandom(3);
  for (let i = 0; i < CALLS; i++) {
    act(original, random);
    const segment = 1 + Math.floor((4 * i) / CALLS);
    if (when.next() < 0.2) tape.group(segment);
    if ((i + 1) % (CALLS / 4) === 0) {
      // The segment two before the newest is emptied and released.
      const old = segment - 2;
      if (old > 0) tape.empty(old);
      tape.group(segment);
      const { replay, changes } = await tape.recovered();
      expect(seen(replay).equals(seen(original))).toBe(true);
      expect(counted(tape, 5)).toEqual(Array.from({ length: 5 }, (_, k) => changes.liveIn(k + 1)));
      if (old > 0) {
        expect(tape.changes.liveIn(old)).toBe(0);
        const kept = tape.sections.filter((section) => section.segment !== old);
        tape.sections.splice(0, tape.sections.length, ...kept);
        expect(seen((await tape.recovered()).replay).equals(seen(original))).toBe(true);
      }
    }
  }
  const again = (await tape.recovered()).replay;
  expect(draws(again).equals(draws(original))).toBe(true);
  const futures = [original, again].map((replay) => {
    const next = new TestRandom(5);
    for (let i = 0; i < CALLS / 2; i++) act(replay, next);
    return Object.values(replay.tables).map((table) => table.stats());
  });
  expect(futures[1]).toEqual(futures[0]);
  expect(draws(again).equals(draws(original))).toBe(true);
});

test("emptying a segment with item counts also rewrites the older item records", async () => {
  const options = { spec: { x: i32() }, tables: { t: { maxSize: 100 } }, seed: 1, logger: null };
  const original = await tracked(() => new Replay(options));
  const writer = original.writer({ items: [{ table: "t", length: 1 }] });
  for (let x = 0; x < 100; x++) writer.append({ x });
  const tape = new Tape(original as unknown as AnyReplay);
  tape.group(1);
  original.table("t").sample(60);
  tape.group(2);
  expect(tape.changes.liveIn(2)).toBeGreaterThan(0);
  tape.empty(2);
  tape.group(3);
  expect(tape.changes.liveIn(2)).toBe(0);
  const kept = tape.sections.filter(({ segment }) => segment !== 2);
  expect(kept.length).toBeLessThan(tape.sections.length);
  tape.sections.splice(0, tape.sections.length, ...kept);
  const { replay } = await tape.recovered();
  expect(seen(replay).equals(seen(original as unknown as AnyReplay))).toBe(true);
});
