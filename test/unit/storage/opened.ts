/** Replays with journals in memory, and the states that they went through: for tests of what is left of them. */
import { expect } from "vitest";
import type { Directory } from "../../../src/files/directory.ts";
import { type OpenOptions, Replay } from "../../../src/index.ts";
import type { Journal } from "../../../src/storage/journal/journal.ts";
import type { AnyReplay, Scene } from "../../support/scenes.ts";
import { optionsOf, seen, writersOf } from "./seen.ts";

export type Opened = AnyReplay & { readonly journal: Journal; flush(): Promise<void> };

/** A Replay like that of a scene, in a directory. */
export async function opened(scene: Scene, dir: Directory, options: Partial<OpenOptions> = {}): Promise<Opened> {
  const model = scene.make();
  const replay = await again(dir, { ...optionsOf(model), ...options });
  if (replay.writers.length === 0) writersOf(model, replay);
  return replay;
}

/** What is in a directory. */
export async function again(dir: Directory, options: Partial<OpenOptions> = {}): Promise<Opened> {
  return (await Replay.open({ dir, ...options })) as unknown as Opened;
}

/** The states of a Replay after each of its calls, and which of them were acknowledged. */
export class Past {
  readonly #states = new Map<string, number>();
  readonly #counts: boolean;
  acknowledged = 0;
  calls = -1;

  /** @param counts false where a kill can forget how often items were drawn */
  constructor(counts = true) {
    this.#counts = counts;
  }

  note(replay: AnyReplay): void {
    this.#states.set(seen(replay, this.#counts).toString("latin1"), ++this.calls);
  }

  /** After how many calls a Replay was as this one is. */
  find(replay: AnyReplay): number | undefined {
    return this.#states.get(seen(replay, this.#counts).toString("latin1"));
  }

  /** Whether a Replay is as it was after some call that was made, and not before the last one that was acknowledged. */
  holds(replay: AnyReplay, acknowledged = this.acknowledged): void {
    expect(this.find(replay)).toBeGreaterThanOrEqual(acknowledged);
  }
}
