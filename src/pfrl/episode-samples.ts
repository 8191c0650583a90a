/** What both episodic buffers do with what was picked. */
import { internals } from "../index.ts";
import type { Episodes, MadeEpisodes } from "./episodes.ts";
import { type Listed, listed } from "./listed.ts";
import type { Picker } from "./picker.ts";
import { Picks } from "./picks.ts";
import type { ListOptions } from "./replay-buffer.ts";
import type { Transition } from "./transition.ts";
import type { AnyBatch } from "./transition-batch.ts";

const { mustBe, onlyKeys } = internals;

/** For the batch form of episodes: new arrays each time, since their length differs. */
export interface EpisodeOptions {
  readonly form?: "batch";
}

export type MaxLength = number | null | EpisodeOptions | ListOptions;

/** The arguments behind n: a longest length, and options; either may be left out. */
export function episodeArguments(
  maxLength: MaxLength | undefined,
  options: EpisodeOptions | ListOptions | undefined,
): { readonly maxLength: number | undefined; readonly list: boolean } {
  const named = typeof maxLength === "object" && maxLength !== null;
  const { form = "batch" } = onlyKeys("options", (named ? maxLength : options) ?? {}, "form") as { form?: unknown };
  if (form !== "batch" && form !== "list") throw mustBe(RangeError, "form", '"batch" or "list"', form);
  return { maxLength: named ? undefined : (maxLength ?? undefined), list: form === "list" };
}

/** The episodes that `pick` puts into a draw, cut to a longest length by chance. @param after what is left to do once nothing can fail */
export function drawEpisodes(
  store: Episodes,
  made: MadeEpisodes,
  n: number,
  weighted: boolean,
  { maxLength, list }: { readonly maxLength: number | undefined; readonly list: boolean },
  pick: (draw: number) => void,
): AnyBatch | Listed<Transition[]> {
  const picks = new Picks(made.steps, n, weighted);
  pick(picks.draw);
  const { slots } = picks;
  picks.starts.fill(0);
  if (maxLength !== undefined) (store.picker as Picker).starts(made.items, picks.draw, maxLength);
  const starts = picks.starts.slice();
  if (!list) return store.batchOf(made, picks, slots, starts, maxLength);
  const info = picks.info();
  return listed(store.listOf(made, slots, starts, maxLength), info);
}
