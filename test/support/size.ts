/**
 * How much is tried. `npm test` tries a part of what takes long (REPRISE_TESTS=quick); `npm run test:all` tries all of it, and so does a test runner that is started by
 * itself. REPRISE_SLOW=1 tries what takes many minutes too: every byte and every bit of a file (REPRISE_SLOW=7
 * each seventh), and twice as many seeds of the longest twins. REPRISE_SPARSE=4 tries all cases of a whole run, with a quarter of its operations, seeds, mutants and places.
 */
export const whole: boolean = process.env.REPRISE_TESTS !== "quick";
const slowStep = Number(process.env.REPRISE_SLOW ?? 0);
export const slow: boolean = slowStep > 0;
const sparse = Number(process.env.REPRISE_SPARSE ?? 1);

/** So many operations, seeds or mutants: in `npm test` a twentieth of them, or as few as are named. */
export function scaled(all: number, quick: number = Math.ceil(all / 20)): number {
  if (quick > all) throw new RangeError(`a part must be at most ${all}, got ${quick}: first the whole number, then the part`);
  return whole ? Math.max(quick, Math.ceil(all / sparse)) : quick;
}

/** Cases: in `npm test` a twentieth of them, or as few as are named, evenly spread. */
export function some<T>(all: readonly T[], quick?: number): readonly T[] {
  if (whole) return all;
  const count = scaled(all.length, quick);
  return Array.from({ length: count }, (_, i) => all[Math.floor((i * all.length) / count)] as T);
}

/** Cases: in `npm test` each `n`th, the first of them by `turn`, so that lists that are gone through at other turns try other cases. */
export function each<T>(n: number, all: readonly T[], turn: number): readonly T[] {
  return whole ? all : all.filter((_, i) => (i + turn) % n === 0);
}

/** The step of a loop over places: in `npm test` twenty times as long, and with REPRISE_SLOW what that says. */
export function stride(all: number, quick: number = 20 * all): number {
  if (slow) return Math.min(all, slowStep);
  return whole ? Math.min(quick, all * sparse) : quick;
}
