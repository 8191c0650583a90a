/** Counts barren episodes: episodes that ended without an item. */

import type { Warnings } from "../base/warnings.ts";
import type { CoreWriter } from "../memory/writer.ts";

/** The options of a writer that determine which episodes are barren, and how long their steps stay available. */
export interface BarrenOptions {
  readonly items: readonly { readonly length: number }[];
  readonly autoreset?: string | undefined;
}

/** The barren episodes of one writer. */
export class BarrenEpisodes {
  /** Whether `createItem` has made an item or will make items. If so, the rules are not the only source of items. */
  createsItems: boolean;
  /** Whether there are unreported episodes for which `createItem` may still make an item: their last steps are available until the next append. */
  hasUnreported = false;
  readonly #warnings: Warnings;
  readonly #writer: CoreWriter;
  readonly #options: BarrenOptions;
  /** The number of barren episodes of this writer that are already counted in the statistics of warnings. */
  #reportedCount = 0;
  /** The number of ended episodes without an item at the last count, and at the previous count. */
  #endedCount = 0;
  #previousCount = 0;

  constructor(warnings: Warnings, writer: CoreWriter, options: BarrenOptions, createsItems: boolean) {
    this.#warnings = warnings;
    this.#writer = writer;
    this.#options = options;
    this.createsItems = createsItems;
  }

  /**
   * Reports new barren episodes, or notes them for a later report if `createItem` may still make an item from their steps. @param canCreateItem whether
   * `createItem` may still make an item from their steps
   */
  count(canCreateItem: boolean): void {
    const { barrenEpisodes: barren } = this.#writer;
    if (barren === this.#reportedCount) return;
    if (canCreateItem) {
      this.hasUnreported = true;
      this.#endedCount = barren;
    } else this.report(barren);
  }

  /** Reports the episodes whose steps are no longer available. Must be called after each step of all lanes. */
  countExpired(): void {
    // With "nextStep", the last step may have been a final step, which stays available until another step is appended.
    const expired = this.#options.autoreset === "nextStep" ? this.#previousCount : this.#endedCount;
    this.#previousCount = this.#endedCount;
    this.report(expired);
  }

  /** Counts the episodes that can no longer get an item (`expired` in total). Logs a warning the first time, unless `createItem` makes items of this writer. */
  report(expired: number): void {
    const newCount = expired - this.#reportedCount;
    this.#reportedCount += Math.max(newCount, 0);
    this.#endedCount = this.#writer.barrenEpisodes;
    this.hasUnreported = this.#endedCount > this.#reportedCount;
    if (newCount <= 0 || this.createsItems || !this.#warnings.first("barrenEpisodes", newCount)) return;
    const { items } = this.#options;
    const shortest = Math.min(...items.map((rule) => rule.length));
    const reason =
      items.length === 0 ? "the writer has no rules, and createItem was not called" : `the shortest rule needs ${shortest} steps, but the episode had fewer`;
    const remedy =
      items.length === 0
        ? "Pass items: [{ table, nStep }] to replay.writer(), or call createItem"
        : "Lower length, or use nStep instead, which also creates transitions from short episodes";
    this.#warnings.log(`an episode ended without an item: ${reason}. ${remedy}`);
  }
}
