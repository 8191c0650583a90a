/** Keeps the number that each episode has in its source, for messages. The number differs from the index if a dataset contains only some of the episodes. */

const NUMBERS = new WeakMap<object, number>();

/** Returns an episode's number in its source. @param index the episode's index in the current dataset, which is returned if no number was set */
export function numberOfEpisode(episode: unknown, index: number): number {
  return (typeof episode === "object" && episode !== null ? NUMBERS.get(episode) : undefined) ?? index;
}

/** Sets the number of an episode and returns the same object, which must belong to the caller. */
export function numberEpisode<E extends object>(episode: E, number: number): E {
  NUMBERS.set(episode, number);
  return episode;
}

/** Copies the number of a source episode to an episode derived from it, and returns the derived episode. */
export function numberLike<E extends object>(episode: E, source: object): E {
  const number = NUMBERS.get(source);
  return number === undefined ? episode : numberEpisode(episode, number);
}
