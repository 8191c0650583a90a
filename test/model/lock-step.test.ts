/** Tests every remover with every sampler, at sizes around the widths of the core's structures. */
import { describe, test } from "vitest";
import { minSize, queueLimiter, type RateLimiter, sampleToInsertRatio } from "../../src/schema/rate-limiter.ts";
import { recency, SELECTOR_KINDS, SELECTORS, type Selector, type SelectorName, selectorOf } from "../../src/schema/selector.ts";
import { TestRandom } from "../support/random.ts";
import { each, scaled, slow } from "../support/size.ts";
import { LockStep } from "./lock-step.ts";
import { plain, type RigOptions } from "./rig.ts";
import { isRandom } from "./twin-table.ts";

const SIZES = [1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000];
/** The number of operations per table. Slow runs exceed a million operations: seven samplers × six removers × eleven sizes × two tables × this number. */
const OPERATIONS = scaled(slow ? 1300 : 650, 65);
const EXPONENTS = [1, 1, 0.5, 2, 0, -1];

function selector(kind: SelectorName, random: TestRandom): Selector {
  if (!SELECTOR_KINDS[kind].takesExponent) return { kind };
  if (kind === "recency") return recency({ exponent: random.pick([0, 0.5, 1, 2]) });
  return selectorOf(kind, random.pick(EXPONENTS), random.below(2) === 0);
}

function limiter(random: TestRandom, maxSize: number): RateLimiter {
  switch (random.below(4)) {
    case 0:
      return queueLimiter(1 + random.below(maxSize + 2));
    case 1:
      return sampleToInsertRatio(random.pick([0.5, 1, 3]), 1 + random.below(maxSize), 6 + random.below(20));
    case 2:
      return minSize(1 + random.below(maxSize));
    default:
      return minSize(1);
  }
}

/** Returns a table's options, with random limits of every kind. */
function limited(sampler: Selector, remover: Selector, maxSize: number, random: TestRandom): RigOptions {
  const rate = limiter(random, maxSize);
  const waits = rate.maxDiff !== Number.MAX_VALUE;
  return {
    ...plain(sampler, remover, maxSize),
    limiter: rate,
    maxPending: random.below(7),
    maxTimesSampled: random.pick([0, 1, 2, 3]),
    // The twin could not determine the order in which a random remover took several items.
    maxSteps: waits && isRandom(remover) ? Number.POSITIVE_INFINITY : random.pick([Number.POSITIVE_INFINITY, 1 + random.below(3 * maxSize)]),
    keep: 1 + random.below(8),
    across: random.below(2) === 0,
  };
}

const REMOVERS = SELECTORS.filter((kind) => !SELECTOR_KINDS[kind].samplesOnly);

for (const samplerKind of SELECTORS) {
  describe(`a table with a ${samplerKind} sampler matches its twin`, () => {
    for (const removerKind of each(2, REMOVERS, SELECTORS.indexOf(samplerKind))) {
      test(`with a ${removerKind} remover`, () => {
        for (const [i, maxSize] of each(6, [...SIZES.entries()], SELECTORS.indexOf(removerKind))) {
          const seed = 100 * SELECTORS.indexOf(samplerKind) + 1000 * SELECTORS.indexOf(removerKind) + i;
          const random = new TestRandom(seed);
          const sampler = selector(samplerKind, random);
          const remover = random.below(2) === 0 && samplerKind === removerKind ? sampler : selector(removerKind, random);
          const max = 2 * maxSize + 2 + 64;
          for (const options of [plain(sampler, remover, maxSize), limited(sampler, remover, maxSize, random)]) {
            new LockStep({ ...options, seed, max }).run(OPERATIONS);
          }
        }
      });
    }
  });
}
