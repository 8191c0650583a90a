/** Tests the guarantees of a log without faults. */
import { describe, expect, it, vi } from "vitest";
import { Log, type LogOptions, memory } from "../../../src/storage/index.ts";
import { MANUAL, reopened, shown, writeGroup } from "../../support/log.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const section = Uint8Array.of(7);

/** Commits a group with one section. */
function add(log: Log, id: number): void {
  log.write(32, id, section);
  log.commit();
}

describe("a log", () => {
  it("returns committed groups in order", () => {
    const directory = memory();
    const log = Log.open(directory, MANUAL);
    expect(log.isNew).toBe(true);
    log.write(32, 1, Buffer.from("one"));
    log.write(33, 2, new Uint8Array(0));
    log.commit();
    log.write(34, 0xffffffff, Buffer.from("two"));
    log.commit();
    log.write(35, 3, Buffer.from("never committed"));
    log.close();
    const again = Log.open(directory, { ...MANUAL, about: { other: 1 } });
    expect(again.isNew).toBe(false);
    expect(again.about).toEqual({ of: "a test" });
    expect(shown(again)).toEqual(["32 1 one", "33 2 ", "34 4294967295 two"]);
  });

  it("spans several segments, and can be reopened repeatedly", () => {
    const directory = memory();
    const random = new TestRandom(1);
    const options: LogOptions = { ...MANUAL, segmentBytes: 20_000 };
    const wanted: string[] = [];
    let log = Log.open(directory, options);
    for (let group = 0; group < 300; group++) {
      wanted.push(...writeGroup(log, group, random, random.pick([2, 60, 3000])));
      log.commit();
      if (random.below(40) > 0) continue;
      log.close();
      log = Log.open(directory, options);
      expect(shown(log)).toEqual(wanted);
    }
    expect(log.segments.length).toBeGreaterThan(5);
    for (const { bytes } of log.segments.slice(0, -1)) expect(bytes).toBeGreaterThanOrEqual(20_000);
    log.close();
    expect(reopened(directory, { readOnly: true })).toEqual(wanted);
  });

  it("accepts groups and sections larger than its buffer and its segments", () => {
    const directory = memory();
    const log = Log.open(directory, { ...MANUAL, segmentBytes: 1000 });
    const large = new Uint8Array(3_000_000).map((_, i) => i * i);
    log.write(32, 0, large);
    for (let id = 0; id < 30; id++) log.write(33, id, large.subarray(0, 100_000));
    log.commit();
    add(log, 1);
    log.write(32, 0, large);
    log.close();
    const lengths: number[] = [];
    for (const _ of Log.open(directory, MANUAL).replay((kind, _, payload) => lengths.push(kind, payload.length)));
    expect(lengths).toEqual([32, 3_000_000, ...Array(30).fill([33, 100_000]).flat(), 32, 1]);
  });

  it("reports the progress of replay, which can be stopped and restarted", () => {
    const directory = memory();
    const log = Log.open(directory, { ...MANUAL, segmentBytes: 1 << 20 });
    for (let id = 0; id < 30; id++) {
      log.write(32, id, new Uint8Array(100_000));
      log.commit();
    }
    log.close();
    const again = Log.open(directory, MANUAL);
    const replay = again.replay(() => {});
    const first = replay.next().value;
    expect(first?.bytes).toBeLessThanOrEqual(2_000_000);
    replay.return();
    expectError(
      errorOf(() => again.write(32, 0, section)),
      "OUT_OF_TURN",
      /was not read to its end/,
    );
    const steps = [...again.replay(() => {})];
    expect(steps.length).toBeGreaterThan(3);
    const total = steps[0]?.of as number;
    expect(steps.at(-1)).toEqual({ bytes: total, of: total });
    expect(steps.every(({ bytes }, i) => bytes >= (steps[i - 1]?.bytes ?? 0))).toBe(true);
    add(again, 1);
  });

  it("calls onSegment for each segment, and drop releases segments", () => {
    const directory = memory();
    let log = Log.open(directory, { ...MANUAL, segmentBytes: 1000 });
    const begins = (owner: Log) => () => owner.write(40, owner.segment, Buffer.from("begins"));
    log.onSegment = begins(log);
    for (let id = 0; id < 200; id++) {
      add(log, id);
      if (log.segments.length > 3) log.drop(log.segments[0]?.id as number);
    }
    const { segment } = log;
    expect(segment).toBeGreaterThan(6);
    log.close();
    expect(directory.list().sort()).toEqual([2, 1, 0].map((back) => `${String(segment - back).padStart(8, "0")}.rpr`));
    log = Log.open(directory, { ...MANUAL, segmentBytes: 1000 });
    const seen = shown(log);
    expect(seen.filter((one) => one.startsWith("40"))).toEqual([2, 1, 0].map((back) => `40 ${segment - back} begins`));
    expect(seen.filter((one) => one.startsWith("32")).at(-1)).toMatch(/^32 199/);
    expectError(
      errorOf(() => log.drop(1)),
      RangeError,
      /earlier segment/,
    );
    expectError(
      errorOf(() => log.drop(segment)),
      RangeError,
    );
  });

  it("detects a missing segment only if the start of that segment was on the disk", () => {
    const directory = memory();
    const options: LogOptions = { ...MANUAL, segmentBytes: 400 };
    const log = Log.open(directory, options);
    while (log.segment === 1) add(log, 1);
    add(log, 2);
    // A kill before the second segment's first flush leaves nothing of it, or only its beginning.
    for (const bytes of [directory.unsynced - 100, directory.unsynced - 60]) expect(reopened(directory.crash(bytes), options).length).toBeGreaterThan(0);
    log.flush();
    const seen = reopened(memory({ files: directory.files() }), options);
    for (const left of [0, 1, 7, 8, 30, 150]) {
      const files = directory.files();
      const [first, second] = ["00000001.rpr", "00000002.rpr"].map((name) => files.get(name) as Uint8Array) as [Uint8Array, Uint8Array];
      const cut = memory({ files: [["00000001.rpr", first], ...(left === 0 ? [] : [["00000002.rpr", second.subarray(0, left)] as const])] });
      expectError(
        errorOf(() => reopened(cut, options)),
        "CORRUPT",
        /00000002\.rpr is truncated or altered at byte 0: (the file is missing|it is incomplete|it has no header)|a section/,
      );
      expect(reopened(cut, { ...options, salvage: true })).toEqual(seen.slice(0, -1));
      expect(reopened(cut, options)).toEqual(seen.slice(0, -1));
    }
  });

  it("flushes according to its durability", () => {
    vi.useFakeTimers();
    try {
      const always = memory();
      add(Log.open(always, { ...MANUAL, durability: "always" }), 1);
      expect(reopened(always.crash()).length).toBe(1);
      const timed = memory();
      const log = Log.open(timed, { about: {}, durability: { everyMs: 50 } });
      add(log, 1);
      vi.advanceTimersByTime(49);
      expect(timed.crash().list()).toEqual([]);
      add(log, 2);
      vi.advanceTimersByTime(1);
      expect(reopened(timed.crash()).length).toBe(2);
      expect(vi.getTimerCount()).toBe(0);
      const manual = memory();
      const lazy = Log.open(manual, MANUAL);
      add(lazy, 1);
      vi.advanceTimersByTime(10_000);
      expect(reopened(manual.crash(Number.POSITIVE_INFINITY)).length).toBe(0);
      lazy.flush();
      expect(reopened(manual.crash()).length).toBe(1);
      for (let id = 0; id < 10; id++) {
        lazy.write(32, id, new Uint8Array(50_000));
        lazy.commit();
      }
      expect(reopened(manual.crash(Number.POSITIVE_INFINITY)).length).toBeGreaterThan(5);
    } finally {
      vi.useRealTimers();
    }
  });

  it("is flushed and closed if the same process opens its directory again", () => {
    const directory = memory();
    const older = Log.open(directory, MANUAL);
    add(older, 1);
    const newer = Log.open(directory, MANUAL);
    expect(shown(newer).length).toBe(1);
    for (const call of [() => add(older, 1), () => older.commit(), () => older.flush(), () => older.drop(1), () => shown(older)]) {
      expectError(errorOf(call), "CLOSED", /this process has opened it again/);
    }
    older.close();
    expect([older.closed, newer.closed]).toEqual([true, false]);
    add(newer, 2);
  });

  it("changes nothing and takes no lock with readOnly", () => {
    const directory = memory();
    const owner = Log.open(directory, MANUAL);
    add(owner, 1);
    owner.flush();
    const reader = Log.open(directory, { ...MANUAL, readOnly: true });
    expect(shown(reader).length).toBe(1);
    expectError(
      errorOf(() => reader.write(32, 0, section)),
      "UNSUPPORTED",
      /opened with readOnly/,
    );
    reader.close();
    expect(owner.closed).toBe(false);
    const before = directory.files();
    before.set("00000001.rpr", Uint8Array.of(...(before.get("00000001.rpr") as Uint8Array), 1, 2, 3));
    const torn = memory({ files: before });
    expect(reopened(torn, { readOnly: true }).length).toBe(1);
    expect(torn.files()).toEqual(before);
  });

  it("rejects reserved kinds and invalid options", () => {
    const log = Log.open(memory(), MANUAL);
    for (const kind of [16, 17, 31]) {
      expectError(
        errorOf(() => log.write(kind, 0, section)),
        RangeError,
        /kind/,
      );
    }
    const wrong = [
      [{ durability: "never" }, TypeError, /durability/],
      [{ durability: { everyMs: 0 } }, RangeError, /everyMs/],
      [{ segmentBytes: 0.5 }, TypeError, /segmentBytes/],
      [{ salvage: 1 }, TypeError, /salvage/],
      [{ about: null }, TypeError, /about/],
      [{ abuot: {} }, TypeError, /abuot/],
    ] as const;
    for (const [options, kind, says] of wrong)
      expectError(
        errorOf(() => Log.open(memory(), { ...MANUAL, ...(options as object) } as LogOptions)),
        kind,
        says,
      );
  });
});

describe("partial replay and takeBack", () => {
  it("replay reads only the two newest segments if the others are sealed, and writing continues", () => {
    const directory = memory();
    const options: LogOptions = { ...MANUAL, segmentBytes: 4096 };
    const log = Log.open(directory, options);
    for (let id = 0; id < 600; id++) add(log, id);
    log.close();
    const last = log.segment;
    expect(last).toBeGreaterThan(4);
    // A sealed segment is not read, so its damage is not detected.
    const damaged = memory({ files: [...directory.files()].map(([name, bytes], i) => [name, i === 1 ? bytes.fill(1, 500, 600) : bytes] as const) });
    const again = Log.open(damaged, options);
    const found: number[] = [];
    const segments = new Set<number>();
    for (const _ of again.replay((_, id, __, segment) => {
      found.push(id);
      segments.add(segment);
    }, true));
    expect([...segments]).toEqual([last - 1, last]);
    expect(found).toEqual(Array.from(found, (_, i) => 600 - found.length + i));
    add(again, 600);
    again.close();
    expect(() => reopened(damaged, options)).toThrow(/00000002.rpr is truncated or altered/);
    // An unsealed segment is read to the end, so that it can be sealed.
    const whole = Log.open(memory({ files: directory.files() }), options);
    expect(shown(whole).length).toBe(600);
  });

  it("takeBack removes groups since a mark within a segment, flushed or not", () => {
    const directory = memory();
    const options: LogOptions = { ...MANUAL, segmentBytes: 4096 };
    const log = Log.open(directory, options);
    add(log, 1);
    for (const flushed of [false, true]) {
      const { mark } = log;
      add(log, 2);
      if (flushed) log.flush();
      expect(log.takeBack(mark)).toBe(true);
    }
    log.write(32, 3, section);
    const open = log.mark;
    expect(log.takeBack(open)).toBe(true);
    add(log, 4);
    const before = log.mark;
    for (let id = 5; id < 200; id++) add(log, id);
    expect(log.takeBack(before)).toBe(false);
    log.close();
    expect(log.takeBack(before)).toBe(false);
    expect(shown(Log.open(directory.crash(), options)).length).toBe(2 + 195);
  });
});
