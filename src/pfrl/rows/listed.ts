/** A list of what was drawn, with what is told of each beside it. */

export type Listed<T> = readonly T[] & {
  /** Identity of each item, for `updateErrors`. */
  readonly keys: Float64Array;
  /** Importance weights, where the buffer gives them. */
  readonly weights?: Float64Array;
};

export function listed<T>(list: T[], info: { readonly keys: Float64Array; readonly weights?: Float64Array }): Listed<T> {
  // Not among the elements: a list is compared, and printed, as a list.
  Object.defineProperties(list, { keys: { value: info.keys }, weights: { value: info.weights } });
  return list as unknown as Listed<T>;
}
