/** Barren episodes: those that ended, and of which nothing can be learned. */

import type { Warnings } from "../base/warnings.ts";
import type { CoreWriter } from "../memory/writer.ts";

/** Of a writer's options what says which episodes are barren, and how long their steps are at hand. */
export interface BarrenOptions {
  readonly items: readonly { readonly length: number }[];
  readonly autoreset?: string | undefined;
}

/** Those of one writer. */
export class Barren {
  /** Whether `createItem` made one, or will: then it is not for the rules alone to make something of an episode. */
  createsItems: boolean;
  /** Whether there are some that nobody was told of, for which `createItem` may still make an item: until the next step their last ones are at hand. */
  lacks = false;
  readonly #warnings: Warnings;
  readonly #writer: CoreWriter;
  readonly #options: BarrenOptions;
  /** How many `stats` knows of. */
  #told = 0;
  /** How many had ended when it looked last, and when it did before. */
  #seen = 0;
  #before = 0;

  constructor(warnings: Warnings, writer: CoreWriter, options: BarrenOptions, createsItems: boolean) {
    this.#warnings = warnings;
    this.#writer = writer;
    this.#options = options;
    this.createsItems = createsItems;
  }

  /** Looks for new ones. @param atHand whether `createItem` may still make an item of them */
  count(atHand: boolean): void {
    const { barren } = this.#writer;
    if (barren === this.#told) return;
    if (atHand) {
      this.lacks = true;
      this.#seen = barren;
    } else this.tell(barren);
  }

  /** After steps of all lanes: those that had ended before are at hand no more. */
  countGone(): void {
    // There the next step may have been the value of a final one, which is at hand until one more comes.
    const gone = this.#options.autoreset === "nextStep" ? this.#before : this.#seen;
    this.#before = this.#seen;
    this.tell(gone);
  }

  /** Counts those of which nothing can be learned any more, so many by now, and warns of the first. */
  tell(gone: number): void {
    const more = gone - this.#told;
    this.#told += Math.max(more, 0);
    this.#seen = this.#writer.barren;
    this.lacks = this.#seen > this.#told;
    if (more <= 0 || this.createsItems || !this.#warnings.first("barrenEpisodes", more)) return;
    const { items } = this.#options;
    const shortest = Math.min(...items.map((rule) => rule.length));
    const why =
      items.length === 0 ? "the writer has no rules, and createItem was not called" : `the shortest rule needs ${shortest} steps, and the episode had fewer`;
    const remedy =
      items.length === 0
        ? "Say items: [{ table, nStep }] in replay.writer(), or call createItem"
        : "Lower length, or say nStep in its place, which makes transitions of short episodes too";
    this.#warnings.say(`an episode ended without an item: ${why}. ${remedy}`);
  }
}
