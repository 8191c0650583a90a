/** Tests the guarantees of a log under faults: truncated and altered bytes, full disks, failing devices and crashes. REPRISE_SLOW tries every place. */
import { describe, expect, it, vi } from "vitest";
import { SectionMemory } from "../../../src/memory/section-memory.ts";
import { Log, type LogOptions, memory, type Operation } from "../../../src/storage/index.ts";
import { groupsOf, MANUAL, reopened, shown, writeGroup, writtenLog } from "../../support/log.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled, slow, some, stride } from "../../support/size.ts";
import { sqliteWithFaults } from "../../support/sqlite-storage.ts";

const FIRST = "00000001.rpr";
if (slow) vi.setConfig({ testTimeout: 600_000 });

/** Returns the end offsets of the groups in the only file of a log. */
function endsOf(directory: ReturnType<typeof memory>): number[] {
  const bytes = directory.files().get(FIRST) as Uint8Array;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const ends: number[] = [];
  for (let at = 8; at < bytes.length; ) {
    const kind = view.getUint32(at, true);
    at += 16 + view.getUint32(at + 8, true);
    if (kind === 17) ends.push(at);
  }
  return ends;
}

/** Returns an encoded section. */
function sectionOf(kind: number, id: number, payload: Uint8Array): Uint8Array {
  const memory = new SectionMemory();
  const at = memory.base;
  memory.u8.set(payload, at + 16);
  memory.seal(at, kind, id, payload.length);
  return memory.u8.slice(at, at + 16 + payload.length);
}

describe("a log that is cut at any byte", () => {
  it("keeps every complete group, and can be continued", () => {
    const { directory, groups } = writtenLog(65_536, {}, 2, 4000);
    const whole = directory.files().get(FIRST) as Uint8Array;
    const ends = endsOf(directory);
    expect(ends.length).toBe(groups.length);
    const head = 8 + 16 + new DataView(whole.buffer).getUint32(16, true);
    const clean = [head, ...ends];
    const random = new TestRandom(3);
    const places = slow
      ? [...whole.keys()].filter((at) => at % stride(1000) === 0)
      : [...ends.flatMap((end) => [end - 1, end]), head, ...Array.from({ length: scaled(300) }, () => random.below(whole.length))];
    for (const length of places) {
      const warned: string[] = [];
      const logger = { info() {}, warn: (message: string) => warned.push(message) };
      const cut = memory({ files: [[FIRST, whole.subarray(0, length)]] });
      const log = Log.open(cut, { ...MANUAL, logger });
      const kept = ends.filter((end) => end <= length).length;
      expect(groupsOf(shown(log), groups)).toBe(kept);
      expect([length, warned.length]).toEqual([length, clean.includes(length) ? 0 : 1]);
      log.write(32, 1, Uint8Array.of(1));
      log.commit();
      log.close();
      expect(reopened(cut).length).toBe(groups.slice(0, kept).flat().length + 1);
    }
  });

  it("keeps complete groups if the last of many segments is cut", () => {
    const random = new TestRandom(4);
    const { directory, groups } = writtenLog(1 << 20, { segmentBytes: 100_000 }, 5, 3000);
    const files = directory.files();
    const newest = [...files.keys()].sort().at(-1) as string;
    const bytes = files.get(newest) as Uint8Array;
    // The previous segment only gets its seal when the beginning of the newest segment is on the disk.
    const sealed = [...files.keys()].sort().at(-2) as string;
    files.set(sealed, (files.get(sealed) as Uint8Array<ArrayBuffer>).subarray(0, -24));
    const before = groupsOf(reopened(memory({ files: [...files].map(([name, one]) => [name, name === newest ? one.subarray(0, 0) : one]) })), groups);
    expect(before).toBeGreaterThan(100);
    let last = before;
    const lengths = Array.from({ length: slow ? 2000 : scaled(100) }, () => random.below(bytes.length)).sort((a, b) => a - b);
    for (const length of [...lengths, bytes.length]) {
      const kept = groupsOf(reopened(memory({ files: [...files].map(([name, one]) => [name, name === newest ? one.subarray(0, length) : one]) })), groups);
      expect(kept).toBeGreaterThanOrEqual(last);
      last = kept;
    }
    expect(last).toBe(groups.length);
  });

  it("warns about the bytes that were cut off", () => {
    const { directory, groups } = writtenLog(2000);
    const bytes = directory.files().get(FIRST) as Uint8Array;
    const warned: string[] = [];
    reopened(memory({ files: [[FIRST, bytes.subarray(0, -1)]] }), { logger: { info() {}, warn: (message) => warned.push(message) } });
    expect(warned).toEqual([expect.stringMatching(/^memory\/00000001\.rpr: \d+ bytes after byte \d+ were not completely written, and are cut off/)]);
    expect(groups.length).toBeGreaterThan(2);
  });
});

describe("a crash", () => {
  it("keeps all flushed groups, and a prefix of later groups, across segments and drops", () => {
    for (let seed = 1; seed <= (slow ? 400 : scaled(40)); seed++) {
      const random = new TestRandom(seed);
      const directory = memory();
      const options: LogOptions = { ...MANUAL, segmentBytes: 2000 };
      const log = Log.open(directory, options);
      const groups: string[][] = [];
      let flushed = 0;
      const dropped: number[] = [];
      const inSegment: number[] = [];
      for (let step = 60; step > 0; step--) {
        inSegment.push(log.segment);
        groups.push(writeGroup(log, groups.length, random, 300));
        log.commit();
        if (random.below(6) === 0) {
          log.flush();
          flushed = groups.length;
        }
        if (log.segments.length > 4 && random.below(4) === 0) {
          const { id } = log.segments[0] as { id: number };
          log.drop(id);
          dropped.push(id);
        }
        if (step % 10 !== 0) continue;
        for (const bytes of [0, random.below(directory.unsynced + 1), Number.POSITIVE_INFINITY]) {
          const left = directory.crash(bytes);
          const seen = reopened(left, options);
          // The oldest segments may be missing, because they were released.
          const first = [0, ...dropped.map((id) => inSegment.lastIndexOf(id) + 1)].find((at) => groupsOf(seen, groups.slice(at)) >= 0);
          expect(first, `seed ${seed}`).not.toBe(undefined);
          const kept = groupsOf(seen, groups.slice(first)) + (first as number);
          expect(kept, `seed ${seed}`).toBeGreaterThanOrEqual(flushed);
          expect(kept).toBeLessThanOrEqual(groups.length);
          expect(reopened(left, options)).toEqual(seen);
        }
      }
    }
  });
});

describe("a flipped bit", () => {
  it("is rejected or cuts the last group, and salvage keeps only written groups", () => {
    const { directory, groups } = writtenLog(4096);
    const bytes = directory.files().get(FIRST) as Uint8Array;
    const lastGroup = endsOf(directory).at(-2) as number;
    // The head consists of the magic bytes, and the head and payload of the first section.
    const headEnd = 24 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(16, true);
    const random = new TestRandom(8);
    const bits = slow
      ? Array.from({ length: Math.ceil((8 * bytes.length) / stride(1000)) }, (_, i) => i * stride(1000))
      : Array.from({ length: scaled(1000) }, () => random.below(8 * bytes.length));
    let refused = 0;
    for (const bit of bits) {
      const altered = bytes.slice();
      altered[bit >> 3] = (altered[bit >> 3] as number) ^ (1 << (bit & 7));
      const files = [[FIRST, altered]] as const;
      let seen: string[] | undefined;
      try {
        seen = reopened(memory({ files }));
      } catch (error) {
        refused++;
        expectError(error as Error, (error as { code: string }).code === "UNSUPPORTED" ? "UNSUPPORTED" : "CORRUPT", /00000001\.rpr/);
      }
      if (seen !== undefined) {
        expect(bit >> 3).toBeGreaterThanOrEqual(lastGroup);
        expect(groupsOf(seen, groups)).toBe(groups.length - 1);
      }
      try {
        seen = reopened(memory({ files }), { salvage: true });
        expect(groupsOf(seen, groups)).toBe(endsOf(directory).filter((end) => end <= bit >> 3).length);
      } catch (error) {
        // The damage affects the head, which contains the description of the directory.
        expect(bit >> 3).toBeLessThan(headEnd);
        expect(["CORRUPT", "UNSUPPORTED"]).toContain((error as { code?: string }).code);
      }
    }
    expect(refused).toBeGreaterThan(bits.length / 2);
  });

  it("in one of several segments is rejected with its file, or salvage keeps earlier groups", () => {
    const { directory, groups } = writtenLog(40_000, { segmentBytes: 5000 });
    const files = directory.files();
    const names = [...files.keys()].sort();
    const random = new TestRandom(9);
    for (let i = 0; i < (slow ? 2000 : scaled(120)); i++) {
      const name = random.pick(names);
      const altered = (files.get(name) as Uint8Array).slice();
      const at = random.below(altered.length);
      altered[at] = (altered[at] as number) ^ (1 << random.below(8));
      const damaged = memory({ files: [...files].map(([one, bytes]) => [one, one === name ? altered : bytes]) });
      let seen: string[] = [];
      try {
        const warned: string[] = [];
        seen = reopened(damaged, { logger: (message) => warned.push(message) });
        expect(warned.length).toBe(1);
        // The seal only states that another segment follows, so its damage loses no groups.
        if (name !== names.at(-1)) {
          expect(at).toBeGreaterThanOrEqual(altered.length - 24);
          expect(seen).toEqual(groups.flat());
        }
      } catch (error) {
        expect(["CORRUPT", "UNSUPPORTED"]).toContain((error as { code?: string }).code);
        expect((error as Error).message).toMatch(new RegExp(`${name}.*`));
        expect(damaged.files().get(name)).toEqual(altered);
      }
      try {
        seen = reopened(damaged, { salvage: true });
        expect(groupsOf(seen, groups)).toBeGreaterThanOrEqual(0);
        // The salvaged log behaves like any other log.
        const log = Log.open(damaged, { ...MANUAL, segmentBytes: 5000 });
        expect(shown(log)).toEqual(seen);
        log.write(32, 1, Uint8Array.of(1));
        log.commit();
        log.close();
        expect(reopened(damaged).length).toBe(seen.length + 1);
      } catch (error) {
        expect(["CORRUPT", "UNSUPPORTED"]).toContain((error as { code?: string }).code);
        if ((error as { code?: string }).code === "CORRUPT") expect(name).toBe(names[0]);
      }
    }
  });
});

describe("segments", () => {
  const { directory, groups } = writtenLog(40_000, { segmentBytes: 5000 });
  const files = directory.files();
  const names = [...files.keys()].sort();

  it("missing segments throw CORRUPT with the name of the file", () => {
    expect(names.length).toBeGreaterThan(6);
    for (const name of names.slice(0, -1)) {
      const rest = [...files].filter(([one]) => one !== name);
      expectError(
        errorOf(() => reopened(memory({ files: rest }))),
        "CORRUPT",
        new RegExp(`${name} is missing`),
      );
      const salvage = () => groupsOf(reopened(memory({ files: rest }), { salvage: true }), groups);
      if (name === names[0]) expectError(errorOf(salvage), "CORRUPT", /Nothing before it can be salvaged/);
      else expect(salvage()).toBeGreaterThan(0);
    }
  });

  it("exchanged, cut and foreign segments throw CORRUPT", () => {
    const [first, second] = names as [string, string];
    const exchanged = new Map(files).set(first, files.get(second) as Uint8Array<ArrayBuffer>).set(second, files.get(first) as Uint8Array<ArrayBuffer>);
    const cut = new Map(files).set(second, (files.get(second) as Uint8Array<ArrayBuffer>).subarray(0, -48));
    const other = writtenLog(40_000, { segmentBytes: 5000 }).directory.files();
    const ofAnotherRun = new Map(files).set(second, other.get(second) as Uint8Array<ArrayBuffer>);
    const strange = new Map(files).set(second, writtenLog(40_000, { segmentBytes: 4000 }).directory.files().get(second) as Uint8Array<ArrayBuffer>);
    for (const altered of [exchanged, cut, ofAnotherRun, strange])
      expectError(
        errorOf(() => reopened(memory({ files: altered }))),
        "CORRUPT",
        /0000000[123]\.rpr/,
      );
  });

  it("bytes after the end of a segment are cut off, and writing continues", () => {
    const [first] = names as [string];
    const longer = memory({ files: new Map(files).set(first, Uint8Array.of(...(files.get(first) as Uint8Array<ArrayBuffer>), 1)) });
    const warned: string[] = [];
    const log = Log.open(longer, { ...MANUAL, logger: (message) => warned.push(message) });
    expect(groupsOf(shown(log), groups)).toBe(groups.length);
    expect(warned).toEqual([expect.stringMatching(/00000001\.rpr: the bytes after byte \d+ .* are cut off/)]);
    log.write(32, 0, Uint8Array.of(1));
    log.commit();
    log.close();
    expect(longer.files().get(first)).toEqual(files.get(first));
    expect(reopened(longer).length).toBe(groups.flat().length + 1);
  });

  it("segments of a diverged copy throw CORRUPT", () => {
    const copies = [1, 2].map((seed) => {
      const copy = memory({ files });
      const log = Log.open(copy, { ...MANUAL, segmentBytes: 5000 });
      shown(log);
      for (let group = 0; group < 100; group++) {
        writeGroup(log, group, new TestRandom(seed), 200);
        log.commit();
      }
      log.close();
      return copy.files();
    }) as [ReturnType<typeof directory.files>, ReturnType<typeof directory.files>];
    const last = names.at(-1) as string;
    const mixed = new Map(copies[0]).set(last, copies[1].get(last) as Uint8Array<ArrayBuffer>);
    expectError(
      errorOf(() => reopened(memory({ files: mixed }))),
      "CORRUPT",
      new RegExp(`${last}.*its contents have changed`),
    );
  });

  it("files of other programs throw CORRUPT and are not changed", () => {
    const snapshot = Buffer.concat([Buffer.from("REPRISE1"), sectionOf(32, 0, Buffer.from("a snapshot"))]);
    for (const bytes of [Buffer.from("my own data"), Buffer.from("mine"), snapshot, Buffer.alloc(40, 1)]) {
      const theirs = memory({ files: [[FIRST, bytes]] });
      for (const salvage of [false, true]) {
        expectError(
          errorOf(() => reopened(theirs, { salvage })),
          "CORRUPT",
          /00000001\.rpr.*The file is unchanged/,
        );
        expect(theirs.files().get(FIRST)).toEqual(Uint8Array.from(bytes));
      }
    }
    // A kill or a failing system may leave such incomplete files.
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(40), Buffer.from("REPR"), (files.get(FIRST) as Uint8Array).subarray(0, 60)])
      expect(reopened(memory({ files: [[FIRST, bytes]] }))).toEqual([]);
  });

  it("segments of another version throw UNSUPPORTED and are not changed", () => {
    const bytes = (files.get(names[0] as string) as Uint8Array).slice();
    bytes[7] = 0x32;
    const other = memory({ files: [[FIRST, bytes]] });
    for (const salvage of [false, true])
      expectError(
        errorOf(() => reopened(other, { salvage })),
        "UNSUPPORTED",
        /REPRISE2.*REPRISE1/,
      );
    expect(other.files().get(FIRST)).toEqual(bytes);
  });
});

describe.each(
  some(
    [
      ["a disk", memory],
      ["the storage of a Durable Object", sqliteWithFaults],
    ] as const,
    1,
  ),
)("%s that fails", (_, makeDirectory) => {
  /** Runs thirty groups with a fault, retries if possible, and returns the result. */
  function run(fault: (operation: Operation) => { code?: "ENOSPC" | "EIO"; bytes?: number } | undefined, seed: number) {
    const random = new TestRandom(seed);
    const directory = makeDirectory({ fault });
    const groups: string[][] = [];
    const errors: Error[] = [];
    let flushed = 0;
    const call = (what: () => void): boolean => {
      try {
        what();
        return true;
      } catch (error) {
        errors.push(error as Error);
        return false;
      }
    };
    let log: Log | undefined;
    for (let tries = 0; log === undefined && tries < 3; tries++) {
      call(() => {
        log = Log.open(directory, { ...MANUAL, segmentBytes: 3000 });
      });
    }
    if (log === undefined) throw new Error("it could not be opened");
    for (let step = 0; step < 30; step++) {
      const one = log as Log;
      let sections: string[] = [];
      if (!call(() => (sections = writeGroup(one, groups.length, random)))) break;
      groups.push(sections);
      call(() => one.commit());
      if (step % 3 !== 0) continue;
      for (let tries = 0; tries < 3; tries++) {
        if (!call(() => one.flush())) continue;
        flushed = groups.length;
        break;
      }
    }
    return { directory, log, groups, flushed, errors };
  }

  const last = (kind: Operation["kind"]) => {
    let count = 0;
    run(({ kind: one }) => {
      if (one === kind) count++;
      return undefined;
    }, 1);
    return count;
  };

  it.each(["ENOSPC", "EIO"] as const)("a single %s at any write loses no groups", (code) => {
    const writes = last("write");
    expect(writes).toBeGreaterThan(10);
    for (let index = 0; index < writes; index++) {
      for (const bytes of [0, 1, 100]) {
        let seal = false;
        const { directory, log, groups, errors } = run((operation) => {
          if (operation.kind !== "write" || operation.index !== index) return undefined;
          seal = operation.bytes === 24;
          return { code, bytes };
        }, 1);
        // If writing a seal fails, the seal is omitted without an error.
        expect(errors.length).toBe(seal ? 0 : 1);
        if (!seal) expectError(errors[0] as Error, "IO", /writing memory\/\d+\.rpr failed/, new RegExp(code));
        log.close();
        expect(groupsOf(reopened(directory.crash()), groups)).toBe(30);
      }
    }
  });

  it("permanent write errors lose only groups that were not flushed", () => {
    const writes = last("write");
    for (let index = 1; index < writes; index++) {
      const { directory, log, groups, flushed, errors } = run(
        ({ kind, index: at }) => (kind === "write" && at >= index ? { code: "ENOSPC", bytes: 50 } : undefined),
        1,
      );
      expect(groups.length).toBe(30);
      expect(errors.length).toBeGreaterThan(1);
      expectError(
        errorOf(() => log.close()),
        "IO",
        /no space is left \(ENOSPC\)/,
      );
      expect(log.closed).toBe(true);
      for (const left of [directory.crash(), directory.crash(Number.POSITIVE_INFINITY)]) {
        const kept = groupsOf(reopened(left), groups);
        expect(kept).toBeGreaterThanOrEqual(flushed);
      }
    }
  });

  it("a sync error makes every later call throw, and flushed groups are kept", () => {
    const syncs = last("sync");
    expect(syncs).toBeGreaterThan(8);
    for (let index = 0; index < syncs; index++) {
      const { directory, log, groups, flushed, errors } = run(
        (operation) => (operation.kind === "sync" && operation.index === index ? { code: "EIO" } : undefined),
        1,
      );
      expect(errors.length).toBeGreaterThan(1);
      for (const error of errors) expectError(error, "IO", /syncing memory\/\d+\.rpr failed: the device failed/);
      for (const later of [() => log.write(32, 0, new Uint8Array(1)), () => log.commit(), () => log.flush(), () => log.drop(1)]) {
        expectError(errorOf(later), "IO", /The state of the disk is unknown/);
      }
      expectError(
        errorOf(() => log.close()),
        "IO",
      );
      for (const left of [directory.crash(), directory.crash(Number.POSITIVE_INFINITY)])
        expect(groupsOf(reopened(left), groups)).toBeGreaterThanOrEqual(flushed);
    }
  });

  it("errors in open, truncate and remove lose no groups", () => {
    for (const kind of ["open", "truncate", "remove"] as const) {
      for (let index = 0; index < 12; index++) {
        const { directory, log, groups } = run((operation) => {
          if (operation.kind === kind && operation.index === index) return { code: "EIO" };
          return kind === "truncate" && operation.kind === "write" && operation.index % 5 === 3 ? { code: "ENOSPC", bytes: 7 } : undefined;
        }, 1);
        log.close();
        expect(groupsOf(reopened(directory.crash()), groups)).toBe(30);
      }
    }
  });

  it("partial reads and writes are completed", () => {
    const short = ({ kind, bytes, index }: Operation) => (kind === "write" || kind === "read" ? { bytes: 1 + ((index * 37) % bytes) } : undefined);
    const { directory, log, groups, errors } = run(short, 1);
    expect(errors).toEqual([]);
    log.close();
    const again = makeDirectory({ files: directory.files(), fault: short });
    expect(groupsOf(reopened(again), groups)).toBe(30);
  });

  it("a read error throws IO and changes no files", () => {
    const { directory } = writtenLog(20_000, { segmentBytes: 5000 });
    const files = directory.files();
    for (let index = 0; index < 12; index += stride(1, 4)) {
      const broken = makeDirectory({ files, fault: ({ kind, index: at }) => (kind === "read" && at === index ? { code: "EIO" } : undefined) });
      try {
        reopened(broken);
      } catch (error) {
        expectError(error as Error, "IO", /reading memory\/\d+\.rpr failed: the device failed/);
      }
      expect(broken.files()).toEqual(files);
    }
  });

  it("commit throws IO repeatedly when unwritten data accumulates", () => {
    const log = Log.open(makeDirectory({ fault: ({ kind, index }) => (kind === "write" && index > 0 ? { code: "ENOSPC" } : undefined) }), MANUAL);
    const large = new Uint8Array(100_000);
    let thrown = 0;
    for (let id = 0; id < 30; id++) {
      log.write(32, id, large);
      try {
        log.commit();
      } catch (error) {
        expectError(error as Error, "IO");
        thrown++;
      }
    }
    // The error is thrown again when more data is waiting, not at every commit.
    expect(thrown).toBeGreaterThan(5);
    expect(thrown).toBeLessThan(20);
  });
});
