/** What programs call the fields of a step, and what RLDS calls them. */

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

/** In singular and lower case, without underscores. */
const FIELDS: { readonly [name: string]: Field } = {
  observation: "observation",
  obs: "observation",
  action: "action",
  act: "action",
  reward: "reward",
  rew: "reward",
  discount: "discount",
  isfirst: "is_first",
  islast: "is_last",
  isterminal: "is_terminal",
  nextobservation: "next_observation",
  nextobs: "next_observation",
  newobs: "next_observation",
  terminated: "terminated",
  termination: "terminated",
  terminal: "terminated",
  truncated: "truncated",
  truncation: "truncated",
  timeout: "truncated",
  done: "done",
  episode: "episode",
  episodeid: "episode",
  epsid: "episode",
  episodestart: "episode_starts",
  length: "lengths",
  episodelength: "lengths",
};

/** `observations`, `obs` and `Observation` are the observation; undefined for what is metadata of a step, under its own name. */
export function fieldOf(name: string): Field | undefined {
  const bareName = name.replaceAll("_", "").toLowerCase();
  const find = (key: string) => (Object.hasOwn(FIELDS, key) ? FIELDS[key] : undefined);
  return find(bareName) ?? find(bareName.replace(/s$/, ""));
}
