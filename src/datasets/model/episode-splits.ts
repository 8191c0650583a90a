/** The splits of a dataset that an episode is in, where each has splits of its own: filters of robomimic. */

/** A symbol is no metadata, and copies of an episode have it: `{ ...episode }`. */
const SPLITS = Symbol("splits");

/** @param splits names; none for an episode that no split has */
export function withSplits<E extends object>(episode: E, splits: readonly string[]): E {
  return { ...episode, [SPLITS]: splits };
}

/** Undefined where its source has no splits of episodes. */
export function splitsOf(episode: object): readonly string[] | undefined {
  return (episode as { readonly [SPLITS]?: readonly string[] })[SPLITS];
}
