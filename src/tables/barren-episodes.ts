/** Barren episodes: those that ended, and of which nothing can be learned. */

import type { Warnings } from "../base/warnings.ts";
import type { CoreWriter } from "../memory/writer.ts";

/** Of a writer's options what says which episodes are barren, and how long their steps are at hand. */
export interface BarrenOptions {
  readonly items: readonly { readonly length: number }[];
  readonly autoreset?: string | undefined;
}

/** Those of one writer. */
export class BarrenEpisodes {
  /** Whether `createItem` made one, or will: then it is not for the rules alone to make something of an episode. */
  createsItems: boolean;
  /** Whether there are some that nobody was told of, for which `createItem` may still make an item: until the next step their last ones are at hand. */
  hasUnreported = false;
  readonly #warnings: Warnings;
  readonly #writer: CoreWriter;
  readonly #options: BarrenOptions;
  /** How many `stats` knows of. */
  #reportedCount = 0;
  /** How many had ended when it looked last, and when it did before. */
  #endedCount = 0;
  #previousCount = 0;

  constructor(warnings: Warnings, writer: CoreWriter, options: BarrenOptions, createsItems: boolean) {
    this.#warnings = warnings;
    this.#writer = writer;
    this.#options = options;
    this.createsItems = createsItems;
  }

  /** Looks for new ones. @param canCreateItem whether `createItem` may still make an item of them */
  count(canCreateItem: boolean): void {
    const { barrenEpisodes: barren } = this.#writer;
    if (barren === this.#reportedCount) return;
    if (canCreateItem) {
      this.hasUnreported = true;
      this.#endedCount = barren;
    } else this.report(barren);
  }

  /** After steps of all lanes: those that had ended before are at hand no more. */
  countExpired(): void {
    // There the next step may have been the value of a final one, which is at hand until one more comes.
    const expired = this.#options.autoreset === "nextStep" ? this.#previousCount : this.#endedCount;
    this.#previousCount = this.#endedCount;
    this.report(expired);
  }

  /** Counts episodes that can no longer get an item, `expired` in total, and warns of the first. */
  report(expired: number): void {
    const newCount = expired - this.#reportedCount;
    this.#reportedCount += Math.max(newCount, 0);
    this.#endedCount = this.#writer.barrenEpisodes;
    this.hasUnreported = this.#endedCount > this.#reportedCount;
    if (newCount <= 0 || this.createsItems || !this.#warnings.first("barrenEpisodes", newCount)) return;
    const { items } = this.#options;
    const shortest = Math.min(...items.map((rule) => rule.length));
    const reason =
      items.length === 0 ? "the writer has no rules, and createItem was not called" : `the shortest rule needs ${shortest} steps, and the episode had fewer`;
    const remedy =
      items.length === 0
        ? "Say items: [{ table, nStep }] in replay.writer(), or call createItem"
        : "Lower length, or say nStep in its place, which makes transitions of short episodes too";
    this.#warnings.log(`an episode ended without an item: ${reason}. ${remedy}`);
  }
}
