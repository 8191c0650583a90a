/** What is behind a buffer, for tests. Not for programs. */
import type { EndedEpisodes } from "../store/episodes.ts";
import type { Priorities } from "../store/priorities.ts";
import type { Transitions } from "../store/transitions.ts";

export interface Behind {
  readonly store: Transitions | EndedEpisodes;
  readonly priorities?: Priorities;
}

export const behind = new WeakMap<object, Behind>();
