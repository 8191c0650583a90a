/** Compares observers with twins based on TF-Agents' documents: for any episodes, lengths, strides, padding and tiling, the items are equal. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ReverbAddEpisodeObserver, ReverbAddTrajectoryObserver, ReverbTrajectorySequenceObserver } from "../../../src/tf-agents/index.ts";
import { isRefused } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";
import { items, replayOf, type Steps, step } from "../../unit/tf-agents/support.ts";

const ops = fc.array(
  fc.oneof(
    { weight: 30, arbitrary: fc.record({ kind: fc.constant("step" as const), last: fc.boolean() }) },
    { weight: 60, arbitrary: fc.constant({ kind: "step" as const, last: false }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("reset" as const), write: fc.boolean() }) },
    { weight: 2, arbitrary: fc.constantFrom({ kind: "wrong" as const }, { kind: "close" as const }, { kind: "open" as const }) },
  ),
  { maxLength: 120 },
);

interface Args {
  readonly length: number;
  readonly stride: number;
  readonly pads: boolean;
  readonly tiles: boolean;
  readonly cuts: boolean;
}

/** Creates all windows of one episode in plain lists, without the engine or the rules of a writer. */
class Twin {
  readonly args: Args;
  readonly made: string[] = [];
  closed = false;
  /** The steps since the window last restarted, including padding. */
  cache: string[] = [];

  constructor(args: Args) {
    this.args = args;
  }

  /** Adds a step. According to the document, windows begin at 0, S, 2 S, … */
  private push(name: string): void {
    this.cache.push(name);
    const begin = this.cache.length - this.args.length;
    if (begin >= 0 && begin % this.args.stride === 0) this.made.push(this.cache.slice(begin).join(" "));
  }

  step(name: string, last: boolean): boolean {
    if (this.closed) return false;
    this.push(name);
    if (last && this.args.cuts) this.end(this.args.pads);
    return true;
  }

  reset(write: boolean): boolean {
    if (!this.end(write)) return false;
    this.closed = false;
    return true;
  }

  close(): void {
    this.closed = true;
    this.cache = [];
  }

  private end(write: boolean): boolean {
    const { cache } = this;
    const { length, stride, pads, tiles } = this.args;
    if (write && cache.length > 0) {
      if (pads) {
        const missing = tiles ? length - 1 : Math.max(length - cache.length, 0);
        for (let i = 0; i < missing; i++) this.push("P");
      } else {
        const begin = cache.length - length;
        if (begin < 0 || begin % stride !== 0) return false;
        this.made.push(cache.slice(begin).join(" "));
      }
    }
    this.cache = [];
    return true;
  }
}

test("trajectory observers equal a twin for any length, stride, padding and tiling, with resets and rejections", () => {
  const options = fc.record({
    length: fc.integer({ min: 1, max: 6 }),
    stride: fc.integer({ min: 1, max: 7 }),
    end: fc.constantFrom("drop", "pad", "tile"),
    cuts: fc.boolean(),
  });
  fc.assert(
    fc.property(options, ops, ({ length, stride, end, cuts }, list) => {
      const replay = replayOf();
      const args = { tableName: "t", sequenceLength: length, strideLength: stride, padEndOfEpisodes: end !== "drop", tileEndOfEpisodes: end === "tile" };
      const observer = cuts ? new ReverbAddTrajectoryObserver<Steps>(replay, args) : new ReverbTrajectorySequenceObserver<Steps>(replay, args);
      const twin = new Twin({ length, stride, pads: end !== "drop", tiles: end === "tile", cuts });
      list.forEach((op, n) => {
        const last = op.kind === "step" && op.last;
        if (op.kind === "step") expect(!isRefused(() => observer(step(n, last ? 2 : 1)))).toBe(twin.step(`${n}`, last));
        if (op.kind === "wrong") expect(!isRefused(() => observer({ ...step(n, 2), reward: "1" } as never))).toBe(false);
        if (op.kind === "reset") expect(!isRefused(() => observer.reset(op.write))).toBe(twin.reset(op.write));
        if (op.kind === "close") {
          observer.close();
          twin.close();
        }
        if (op.kind === "open") {
          observer.open();
          twin.closed = false;
        }
        expect(observer.cachedSteps).toBe(twin.cache.length);
      });
      expect(items(replay)).toEqual(twin.made);
      replay.dispose();
    }),
    { numRuns: scaled(400), seed: 5 },
  );
});

test("episode observers equal a list for any maximum length, with resets, closes and rejections", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.boolean(), ops, (max, bypass, list) => {
      const replay = replayOf();
      let warnings = 0;
      const observer = new ReverbAddEpisodeObserver<Steps>(replay, {
        tableName: "t",
        maxSequenceLength: max,
        bypassPartialEpisodes: bypass,
        onWarning: () => warnings++,
      });
      const made: string[] = [];
      let cache: string[] = [];
      let closed = false;
      let tooLong = 0;
      list.forEach((op, n) => {
        if (op.kind === "step") {
          const before = cache.length;
          if (!closed) cache.push(`${n}`);
          // The step that exceeds the limit causes an error. The remaining steps of its episode do not.
          const overflows = before === max && !closed;
          if (overflows) tooLong++;
          expect(!isRefused(() => observer(step(n, op.last ? 2 : 1)))).toBe(!closed && (bypass || !overflows));
          if (op.last && !closed) {
            if (cache.length <= max) made.push(cache.join(" "));
            cache = [];
          }
        }
        if (op.kind === "wrong") expect(!isRefused(() => observer({ ...step(n, 2), reward: "1" } as never))).toBe(false);
        if (op.kind === "reset") {
          observer.reset(op.write);
          if (op.write && cache.length > 0 && cache.length <= max) made.push(cache.join(" "));
          cache = [];
          closed = false;
        }
        if (op.kind === "close") {
          observer.close();
          cache = [];
          closed = true;
        }
        if (op.kind === "open") {
          observer.open();
          closed = false;
        }
        expect(observer.cachedSteps).toBe(Math.min(cache.length, max));
      });
      expect(items(replay)).toEqual(made);
      expect(warnings).toBe(bypass ? tooLong : 0);
      replay.dispose();
    }),
    { numRuns: scaled(400), seed: 6 },
  );
});
