/**
 * Sets the size of a test run. `npm test` runs part of the slow tests (REPRISE_TESTS=quick). `npm run test:all` runs all of them, as does a test runner that is
 * started directly. REPRISE_SLOW=1 adds tests that take many minutes: every byte and every bit of a file (REPRISE_SLOW=7 tests each seventh), and twice as many
 * seeds of the longest twins. REPRISE_SPARSE=4 runs all cases with a quarter of the operations, seeds, mutants, places and processes.
 */
export const whole: boolean = process.env.REPRISE_TESTS !== "quick";
const slowStep = Number(process.env.REPRISE_SLOW ?? 0);
export const slow: boolean = slowStep > 0;
/** Divides the numbers of operations, seeds, mutants, places and processes. */
export const sparse: number = Number(process.env.REPRISE_SPARSE ?? 1);

/** Returns the number of operations, seeds or mutants to run. In `npm test`, this is a twentieth of `all`, or `quick`. */
export function scaled(all: number, quick: number = Math.ceil(all / 20)): number {
  if (quick > all) throw new RangeError(`a part must be at most ${all}, got ${quick}: first the whole number, then the part`);
  return whole ? Math.max(quick, Math.ceil(all / sparse)) : quick;
}

/** Returns the cases to run. In `npm test`, this is a twentieth of all cases, or `quick` cases, evenly spread. */
export function some<T>(all: readonly T[], quick?: number): readonly T[] {
  if (whole) return all;
  const count = scaled(all.length, quick);
  return Array.from({ length: count }, (_, i) => all[Math.floor((i * all.length) / count)] as T);
}

/** Returns the cases to run. In `npm test`, this is every `n`th case. `turn` determines the first one, so that lists with different turns run other cases. */
export function each<T>(n: number, all: readonly T[], turn: number): readonly T[] {
  return whole ? all : all.filter((_, i) => (i + turn) % n === 0);
}

/** Returns the step of a loop over places. In `npm test`, it is twenty times as long; with REPRISE_SLOW, it is the value of that variable. */
export function stride(all: number, quick: number = 20 * all): number {
  if (slow) return Math.min(all, slowStep);
  return whole ? Math.min(quick, all * sparse) : quick;
}
