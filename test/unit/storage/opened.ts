/** Replays with journals in memory, and their former states, for tests of the remaining data. */
import { expect } from "vitest";
import type { Directory } from "../../../src/files/directory.ts";
import { type OpenOptions, Replay } from "../../../src/index.ts";
import type { Journal } from "../../../src/storage/journal/journal.ts";
import type { AnyReplay, Scene } from "../../support/scenes.ts";
import { optionsOf, seen, writersOf } from "./seen.ts";

export type Opened = AnyReplay & { readonly journal: Journal; flush(): Promise<void> };

/** A Replay of a scene, in a directory. */
export async function opened(scene: Scene, dir: Directory, options: Partial<OpenOptions> = {}): Promise<Opened> {
  const model = scene.make();
  const replay = await again(dir, { ...optionsOf(model), ...options });
  if (replay.writers.length === 0) writersOf(model, replay);
  return replay;
}

/** Opens the contents of a directory. */
export async function again(dir: Directory, options: Partial<OpenOptions> = {}): Promise<Opened> {
  return (await Replay.open({ dir, ...options })) as unknown as Opened;
}

/** The states of a Replay after each of its calls, and which of them were acknowledged. */
export class Past {
  readonly #states = new Map<string, number>();
  readonly #counts: boolean;
  acknowledged = 0;
  calls = -1;

  /** @param counts false if a kill may lose how often items were drawn */
  constructor(counts = true) {
    this.#counts = counts;
  }

  note(replay: AnyReplay): void {
    this.#states.set(seen(replay, this.#counts).toString("latin1"), ++this.calls);
  }

  /** Returns after how many calls a Replay had this one's state. */
  find(replay: AnyReplay): number | undefined {
    return this.#states.get(seen(replay, this.#counts).toString("latin1"));
  }

  /** Checks that a Replay has the state after some call, not before the last acknowledged one. */
  holds(replay: AnyReplay, acknowledged = this.acknowledged): void {
    expect(this.find(replay)).toBeGreaterThanOrEqual(acknowledged);
  }
}
