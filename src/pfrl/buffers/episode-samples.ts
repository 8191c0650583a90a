/** What the episodic buffers are asked for. */
import { mustBe, onlyKeys } from "../../error.ts";
import { type Listed, listed } from "../rows/listed.ts";
import type { AnyBatch } from "../rows/transition-batch.ts";
import type { AskedEpisodes } from "../store/episodes.ts";
import type { Transition } from "../transition.ts";
import type { ListOptions } from "./replay-buffer.ts";

/** For the batch form of episodes: new arrays each time, since their length differs. */
export interface EpisodeOptions {
  readonly form?: "batch";
}

export type MaxLength = number | null | EpisodeOptions | ListOptions;

/** The arguments behind n: a longest length, and options; either may be left out. */
export function episodeArguments(maxLength: MaxLength | undefined, options: EpisodeOptions | ListOptions | undefined): AskedEpisodes {
  const named = typeof maxLength === "object" && maxLength !== null;
  const { form = "batch" } = onlyKeys("options", (named ? maxLength : options) ?? {}, "form") as { form?: unknown };
  if (form !== "batch" && form !== "list") throw mustBe(RangeError, "form", '"batch" or "list"', form);
  return { maxLength: named ? undefined : (maxLength ?? undefined), list: form === "list" };
}

/** Single transitions, each in a list of its own, as EpisodicReplayBuffer gives them. */
export function apart(drawn: AnyBatch | Listed<Transition>): AnyBatch | Listed<Transition[]> {
  return Array.isArray(drawn)
    ? listed(
        [...(drawn as Listed<Transition>)].map((transition) => [transition]),
        drawn as Listed<Transition>,
      )
    : (drawn as AnyBatch);
}
