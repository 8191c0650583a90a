// Checks that the paddle of embed/lua/paddle learns, from the numbers that the game prints at its end.
const FRAMES = 900;
/** The fraction of the last balls that the paddle must catch. A paddle that moves at random catches a quarter. */
const LEARNED = 0.6;

export const PADDLE = ["embed/lua/paddle", String(FRAMES)];

/** Returns "learned", or the output of a game that has not learned. */
export function learned(said) {
  const [before, first, caught, last] = (said.match(/frames; (\d+) of the first (\d+) balls were caught, (\d+) of the last (\d+)/) ?? []).slice(1).map(Number);
  return caught / last >= LEARNED && caught / last > before / first ? "learned" : said;
}
