/** Checks that waiting calls make progress or throw, for every limiter, limit, batch size, and order of inserts and requests in a small range. */
import { expect, test } from "vitest";
import { fifo, i32, minSize, queueLimiter, type RateLimiter, Replay, type Table, uniform } from "../../src/index.ts";
import { some } from "../support/size.ts";

const RATIOS = [0.5, 1, 3];
const SIZES = [1, 2];
const BATCHES = [1, 2, 5];
/** The number of steps of an order. In each step, an item is inserted (1), or a batch is requested (0) unless a request is pending. */
const STEPS = 4;

/** Returns the limiters, including limiters that the constructors reject, because handwritten limiters must not wait forever. */
function limiters(): RateLimiter[] {
  const raw = RATIOS.flatMap((samplesPerInsert) =>
    SIZES.flatMap((size) =>
      [0, 0.5, 3, 6].map((room) => ({ samplesPerInsert, minSize: size, minDiff: samplesPerInsert * size - room, maxDiff: samplesPerInsert * size + room })),
    ),
  );
  return [...SIZES.map(minSize), ...SIZES.map(queueLimiter), ...raw, ...raw.map((limiter) => ({ ...limiter, maxDiff: limiter.minDiff }))];
}

const TABLES = [{}, { maxTimesSampled: 1, sampler: fifo() }, { maxTimesSampled: 2, sampler: uniform() }, { maxSize: 3 }];
const HOWS = [true, false];

/** Returns the actions of both sides, based only on the rules of Reverb's limiter. */
function passes(
  { rateLimiter: { samplesPerInsert, minSize: least, minDiff, maxDiff } }: { rateLimiter: RateLimiter },
  { inserts, samples, size }: ReturnType<Table["stats"]>,
) {
  const cursor = inserts * samplesPerInsert - samples;
  return { insert: size + 1 <= least || cursor + samplesPerInsert <= maxDiff, draw: size >= least && cursor - 1 >= minDiff };
}

test("sampleWhenReady waits only while inserts are possible, then resolves or rejects", async () => {
  let [whole, refused] = [0, 0];
  for (const rateLimiter of some(limiters(), 3)) {
    for (const limits of TABLES) {
      const replay = new Replay({ spec: { x: i32() }, tables: { t: { maxSize: 20, maxPending: 100, rateLimiter, ...limits } } });
      const table = replay.tables.t;
      const writer = replay.writer();
      writer.append({ x: 1 });
      for (const n of BATCHES) {
        for (const replacement of HOWS) {
          for (let order = 0; order < 2 ** STEPS; order++) {
            let waiting: { ended?: number | Error } | undefined;
            const insert = () => void writer.createItem("t", { length: 1 });
            const ask = () => {
              const one: { ended?: number | Error } = {};
              waiting = one;
              table.sampleWhenReady(n, { replacement }).then(
                ({ count }) => {
                  one.ended = count;
                },
                (error) => {
                  one.ended = error;
                },
              );
            };
            /** Lets promises settle. Afterwards, no call may wait if neither side can proceed. */
            const settle = async () => {
              for (let i = 0; i < 6; i++) await undefined;
              if (waiting === undefined) return;
              if (waiting.ended !== undefined) {
                if (typeof waiting.ended === "number") expect(waiting.ended).toBe(n);
                else expect(waiting.ended.message).toMatch(/^n must be <= |rate limiter/);
                typeof waiting.ended === "number" ? whole++ : refused++;
                waiting = undefined;
                return;
              }
              const { insert: canInsert, draw: canDraw } = passes({ rateLimiter }, table.stats());
              expect(canInsert).toBe(true);
              if (replacement) expect(canDraw).toBe(false);
            };
            for (let step = 0; step < STEPS; step++) {
              if ((order >> step) & 1) insert();
              else if (waiting === undefined) ask();
              await settle();
            }
            // Inserts without draws complete every batch that is waited for.
            for (let i = 0; i < 3 * n + 9 && waiting !== undefined; i++) {
              insert();
              await settle();
            }
            expect(waiting).toBe(undefined);
            table.clear();
            while (table.stats().pending > 0) table.clear();
            table.clear();
          }
        }
      }
      replay.dispose();
    }
  }
  expect(whole).toBeGreaterThan(100);
  expect(refused).toBeGreaterThan(10);
}, 600_000);
