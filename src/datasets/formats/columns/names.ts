/** The names of the fields of a step: what programs write, and what RLDS calls it. Every reader uses this table; docs/reference/formats.md shows it. */

/** RLDS's names, and those of what RLDS has no name for. */
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

/** In singular; capitals and underscores do not matter. If a file has several names of a field, the earliest one here is the field and the others are metadata. */
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

/** Of each bare name its field, and its place among the names of that field. */
const PLACES = new Map(
  Object.entries(FIELD_NAMES).flatMap(([field, names]) => names.map((name, rank) => [bare(name), { field: field as Field, rank }] as const)),
);

function placeOf(name: string): { readonly field: Field; readonly rank: number } | undefined {
  const bareName = bare(name);
  return PLACES.get(bareName) ?? PLACES.get(bareName.replace(/s$/, ""));
}

/** `observations`, `obs` and `Observation` are the observation; undefined for what is metadata of a step, under its own name. */
export function fieldOf(name: string): Field | undefined {
  return placeOf(name)?.field;
}

/** The same for all names of one file or row together: of several names of a field only the first in the table is it; two that are spelt alike both are. */
export function fieldsOf(names: readonly string[]): ReadonlyMap<string, Field> {
  const best = new Map<Field, number>();
  const places = names.map((name) => ({ name, place: placeOf(name) }));
  for (const { place } of places) if (place !== undefined) best.set(place.field, Math.min(place.rank, best.get(place.field) ?? place.rank));
  const fields = new Map<string, Field>();
  for (const { name, place } of places) if (place !== undefined && best.get(place.field) === place.rank) fields.set(name, place.field);
  return fields;
}

/** Whether a name is a field only where nothing else is: rows of JSON may have a state next to what is observed. Any two other names of a field contradict each other there. */
export function isWeakName(name: string): boolean {
  return /^(next)?states?$/.test(bare(name));
}
