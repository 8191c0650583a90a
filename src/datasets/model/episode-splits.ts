/** Records the splits of an episode, for sources that assign episodes to splits, such as the filters of robomimic. */

/** The key of the splits. A symbol does not count as metadata, but copies such as `{ ...episode }` keep its value. */
const SPLITS = Symbol("splits");

/** Returns a copy of an episode with its splits. @param splits the names of the splits, or an empty array for an episode that belongs to no split */
export function withSplits<E extends object>(episode: E, splits: readonly string[]): E {
  return { ...episode, [SPLITS]: splits };
}

/** Returns the splits of an episode, or undefined if its source has no splits. */
export function splitsOf(episode: object): readonly string[] | undefined {
  return (episode as { readonly [SPLITS]?: readonly string[] })[SPLITS];
}
