import { expect, test } from "vitest";
import { internals, type Replay } from "../../../src/index.ts";
import { Records } from "../../../src/store/format/records.ts";
import { Recovery } from "../../../src/store/journal/recovery.ts";
import { tracked } from "../../support/core.ts";
import { TestRandom } from "../../support/random.ts";
import { type AnyReplay, SCENES } from "../../support/scenes.ts";
import { draws, seen } from "./seen.ts";

interface Section {
  readonly kind: number;
  readonly id: number;
  readonly payload: Uint8Array;
  readonly segment: number;
}

/** All that changed in a Replay, group by group, as a journal would write it. */
class Tape {
  readonly sections: Section[] = [];
  readonly records: Records;

  constructor(replay: AnyReplay) {
    this.records = new Records(replay as Replay, 64);
  }

  group(segment: number): void {
    const write = (kind: number, id: number, payload: Uint8Array) => void this.sections.push({ kind, id, payload: payload.slice(), segment });
    this.records.rows(segment, write);
    this.records.slots(segment, write);
    for (const [kind, id, payload] of this.records.rest()) write(kind, id, payload);
  }

  /** Makes what still counts in a segment be written again. */
  empty(segment: number): void {
    const { x, pools, tables } = this.records;
    const place = this.records.place(segment);
    for (const pool of pools) for (let at = 1; at !== 0; ) at = x.journal_collect_rows(pool, place, at, 7);
    for (const table of tables) for (let at = 1; at !== 0; ) at = x.journal_collect_slots(table, place, at, 7);
  }

  recovered(): { replay: AnyReplay; records: Records } {
    const { options } = this.records.replay;
    const replay = internals.tracked({ ...options, seed: BigInt(options.seed) });
    const records = new Records(replay as Replay, 64);
    const recovery = new Recovery(records, "a tape");
    for (const { kind, id, payload, segment } of this.sections) recovery.visit(kind, id, payload, segment);
    recovery.finish();
    for (const pool of records.pools) expect(records.x.pool_check(pool)).toBe(0);
    for (const table of records.tables) expect(records.x.table_check(table)).toBe(0);
    for (const stream of replay.writers.flatMap((writer) => writer.streams)) expect(records.x.stream_check(stream)).toBe(0);
    return { replay: replay as unknown as AnyReplay, records };
  }
}

/** Records that count, by segment, counted anew from what the tape holds. */
function counted(tape: Tape, segments: number): number[] {
  return Array.from({ length: segments }, (_, i) => tape.records.liveIn(i + 1));
}

test.each(Object.keys(SCENES))("what changed, written group by group, comes to the same Replay: %s", async (name) => {
  const { make, act } = SCENES[name] as (typeof SCENES)[string];
  const original = await tracked(() => make());
  const tape = new Tape(original);
  const random = new TestRandom(name.length);
  const when = new TestRandom(3);
  for (let i = 0; i < 400; i++) {
    act(original, random);
    const segment = 1 + Math.floor(i / 100);
    if (when.next() < 0.2) tape.group(segment);
    if (i % 100 === 99) {
      // The segment before the last is emptied, and given back.
      const old = segment - 2;
      if (old > 0) tape.empty(old);
      tape.group(segment);
      const { replay, records } = tape.recovered();
      expect(seen(replay).equals(seen(original))).toBe(true);
      expect(counted(tape, 5)).toEqual(Array.from({ length: 5 }, (_, k) => records.liveIn(k + 1)));
      if (old > 0) {
        expect(tape.records.liveIn(old)).toBe(0);
        const kept = tape.sections.filter((section) => section.segment !== old);
        tape.sections.splice(0, tape.sections.length, ...kept);
        expect(seen(tape.recovered().replay).equals(seen(original))).toBe(true);
      }
    }
  }
  const again = tape.recovered().replay;
  expect(draws(again).equals(draws(original))).toBe(true);
  const futures = [original, again].map((replay) => {
    const next = new TestRandom(5);
    for (let i = 0; i < 200; i++) act(replay, next);
    return replay.tables.map((table) => table.stats());
  });
  expect(futures[1]).toEqual(futures[0]);
  expect(draws(again).equals(draws(original))).toBe(true);
});
