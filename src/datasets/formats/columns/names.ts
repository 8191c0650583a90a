/**
 * Maps the field names of other programs to those of RLDS. All readers of formats without fixed field names use this table. It is also in
 * docs/reference/formats.md.
 */

/** The field names of RLDS, and names for fields that RLDS lacks. */
export type Field =
  | "observation"
  | "action"
  | "reward"
  | "discount"
  | "is_first"
  | "is_last"
  | "is_terminal"
  | "next_observation"
  | "terminated"
  | "truncated"
  | "done"
  | "episode"
  | "episode_starts"
  | "lengths";

/**
 * The names of each field, in the singular. Case and underscores do not matter. If a file has several names of a field, the name that is listed first here
 * becomes the field, and the other names become metadata.
 */
export const FIELD_NAMES: { readonly [field in Field]: readonly string[] } = {
  observation: ["observation", "obs", "state"],
  action: ["action", "act"],
  reward: ["reward", "rew"],
  discount: ["discount"],
  is_first: ["is_first"],
  is_last: ["is_last"],
  is_terminal: ["is_terminal"],
  next_observation: ["next_observation", "next_obs", "new_obs", "next_state"],
  terminated: ["terminated", "termination", "terminal"],
  truncated: ["truncated", "truncation", "timeout", "episode_terminal"],
  done: ["done"],
  episode: ["episode", "episode_index", "episode_id", "eps_id", "trajectory_id", "traj_id"],
  episode_starts: ["episode_start"],
  lengths: ["length", "episode_length"],
};

const bare = (name: string) => name.replaceAll("_", "").toLowerCase();

/** The field of each name without underscores and capital letters, and the rank of the name among the names of that field. */
const PLACES = new Map(
  Object.entries(FIELD_NAMES).flatMap(([field, names]) => names.map((name, rank) => [bare(name), { field: field as Field, rank }] as const)),
);

function placeOf(name: string): { readonly field: Field; readonly rank: number } | undefined {
  const bareName = bare(name);
  return PLACES.get(bareName) ?? PLACES.get(bareName.replace(/s$/, ""));
}

/**
 * Returns the field of a name. For example, `observations`, `obs` and `Observation` are names of the observation. Returns undefined for any other name, which
 * is metadata of a step.
 */
export function fieldOf(name: string): Field | undefined {
  return placeOf(name)?.field;
}

/**
 * Returns the fields of the names in one file or row. If several names match a field, only the one that is listed first in FIELD_NAMES becomes the field.
 * Different spellings of that name all count as the field.
 */
export function fieldsOf(names: readonly string[]): ReadonlyMap<string, Field> {
  const best = new Map<Field, number>();
  const places = names.map((name) => ({ name, place: placeOf(name) }));
  for (const { place } of places) if (place !== undefined) best.set(place.field, Math.min(place.rank, best.get(place.field) ?? place.rank));
  const fields = new Map<string, Field>();
  for (const { name, place } of places) if (place !== undefined && best.get(place.field) === place.rank) fields.set(name, place.field);
  return fields;
}

/**
 * Returns whether a name counts as a field only if no other name of that field exists. For example, rows of JSON may have a state in addition to the
 * observation. Two names of the same field that are not weak contradict each other.
 */
export function isWeakName(name: string): boolean {
  return /^(next)?states?$/.test(bare(name));
}
