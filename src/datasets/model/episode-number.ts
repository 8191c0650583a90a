/** The numbers of episodes in the dataset that they are read from, which messages name: a dataset of some of its episodes counts otherwise. */

const NUMBERS = new WeakMap<object, number>();

/** The number in the source. @param index its place in the dataset that has it now: its number, if nothing else is known */
export function numberOfEpisode(episode: unknown, index: number): number {
  return (typeof episode === "object" && episode !== null ? NUMBERS.get(episode) : undefined) ?? index;
}

/** The same object with a number: an object of one's own. */
export function numberEpisode<E extends object>(episode: E, number: number): E {
  NUMBERS.set(episode, number);
  return episode;
}

/** The same object with the number of the episode that it was made of. */
export function numberLike<E extends object>(episode: E, source: object): E {
  const number = NUMBERS.get(source);
  return number === undefined ? episode : numberEpisode(episode, number);
}
