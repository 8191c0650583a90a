/** Opens Replays with journals in memory, and records their former states, so that tests can check which data remains after a fault. */
import { expect } from "vitest";
import type { Directory } from "../../../src/files/directory.ts";
import { type OpenOptions, Replay } from "../../../src/index.ts";
import type { Journal } from "../../../src/storage/journal/journal.ts";
import type { AnyReplay, Scene } from "../../support/scenes.ts";
import { optionsOf, seen, writersOf } from "./seen.ts";

export type Opened = AnyReplay & { readonly journal: Journal; flush(): Promise<void> };

/** Opens a Replay of a scene in a directory. */
export async function opened(scene: Scene, dir: Directory, options: Partial<OpenOptions> = {}): Promise<Opened> {
  const model = scene.make();
  const replay = await again(dir, { ...optionsOf(model), ...options });
  if (replay.writers.length === 0) writersOf(model, replay);
  return replay;
}

/** Opens a directory with its stored contents. */
export async function again(dir: Directory, options: Partial<OpenOptions> = {}): Promise<Opened> {
  return (await Replay.open({ dir, ...options })) as unknown as Opened;
}

/** Records the states of a Replay after each call, and which calls were acknowledged. */
export class Past {
  readonly #states = new Map<string, number>();
  readonly #counts: boolean;
  acknowledged = 0;
  calls = -1;

  /** @param counts false if a kill may lose the draw counts of items */
  constructor(counts = true) {
    this.#counts = counts;
  }

  note(replay: AnyReplay): void {
    this.#states.set(seen(replay, this.#counts).toString("latin1"), ++this.calls);
  }

  /** Returns the number of calls after which the recorded Replay had the same state. */
  find(replay: AnyReplay): number | undefined {
    return this.#states.get(seen(replay, this.#counts).toString("latin1"));
  }

  /** Checks that a Replay has a recorded state that is not older than the last acknowledged call. */
  holds(replay: AnyReplay, acknowledged = this.acknowledged): void {
    expect(this.find(replay)).toBeGreaterThanOrEqual(acknowledged);
  }
}
