/** Records the parts of the data that a format cannot store. */
import { countText } from "../../../base/error.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { splitsOf } from "../../model/episode-splits.ts";
import { emptyGroups } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";

/** A part of the data that a format cannot store. */
export interface Loss {
  /** The lost part, which is the path of a leaf such as `discount`, or a noun. */
  readonly what: string;
  /** The reason for the loss. */
  readonly reason: string;
  /** The number of affected episodes. Absent if all may be affected. */
  readonly episodes?: number;
}

/** The losses of a dataset while it is written. */
export class Losses {
  readonly #losses = new Map<string, Loss>();

  /** Adds a loss that affects all episodes. */
  add(what: string, reason: string): void {
    this.#losses.set(what, { what, reason });
  }

  /** Adds one affected episode to a loss. */
  addEpisode(what: string, reason: string): void {
    this.#losses.set(what, { what, reason, episodes: (this.#losses.get(what)?.episodes ?? 0) + 1 });
  }

  /** Adds the loss of an episode's splits, for formats without splits per episode. */
  addSplits(episode: object): void {
    if (splitsOf(episode) !== undefined) this.addEpisode("splits", "only the robomimic layout stores the splits of episodes");
  }

  /** Adds the groups without leaves, for formats that store only leaves. */
  addEmptyGroups(stepSpec: StepSpec, metadataSpec: { readonly [name: string]: StepSpec }): void {
    const reason = "the format cannot store groups without leaves";
    for (const path of emptyGroups(stepSpec)) this.add(path, reason);
    for (const path of emptyGroups(metadataSpec as StepSpec)) this.add(`metadata ${path}`, reason);
  }

  get all(): Loss[] {
    return [...this.#losses.values()];
  }

  /**
   * Rejects losses if they are not allowed. @throws RldsError UNSUPPORTED if `strict` is set and there are losses. At this point, no file has its final name
   */
  check(strict: boolean | undefined): void {
    if (strict && this.#losses.size > 0) throw new RldsError("UNSUPPORTED", `strict forbids losing data: ${this.all.map(lossText).join("; ")}`);
  }
}

/** Returns a loss as text, such as `discount: Minari has none (3 episodes)`. */
function lossText({ what, reason, episodes }: Loss): string {
  return `${what}: ${reason}${episodes === undefined ? "" : ` (${countText(episodes, "episode")})`}`;
}
