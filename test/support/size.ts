/**
 * How much is tried. `npm test` tries a part of what takes long (REPRISE_TESTS=quick); `npm run test:all` tries all of it, and so does a test runner that is started by
 * itself. REPRISE_SLOW tries what takes many minutes too: every byte and every bit of a file.
 */
export const whole: boolean = process.env.REPRISE_TESTS !== "quick";
export const slow: boolean = process.env.REPRISE_SLOW !== undefined;

/** So many operations, seeds or mutants: in `npm test` a twentieth of them, or as few as are named. */
export function scaled(all: number, quick: number = Math.ceil(all / 20)): number {
  return whole ? all : quick;
}

/** Cases: in `npm test` a twentieth of them, or as few as are named, evenly spread. */
export function some<T>(all: readonly T[], quick?: number): readonly T[] {
  const count = scaled(all.length, quick);
  return Array.from({ length: count }, (_, i) => all[Math.floor((i * all.length) / count)] as T);
}

/** Cases: in `npm test` each `n`th, the first of them by `turn`, so that lists that are gone through at other turns try other cases. */
export function each<T>(n: number, all: readonly T[], turn: number): readonly T[] {
  return whole ? all : all.filter((_, i) => (i + turn) % n === 0);
}

/** The step of a loop over places: in `npm test` twenty times as long. */
export function stride(all: number, quick: number = 20 * all): number {
  return whole ? all : quick;
}
