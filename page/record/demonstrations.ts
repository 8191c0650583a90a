/**
 * Keeps demonstrations in a Replay on the disk: whole episodes, which are drawn for learning and read one by one. The journal stores the list of episodes,
 * consistent with their steps.
 */
import { f32, maxHeap, type OpenReplay, prioritized, Replay, ReplayError, u8 } from "reprise";
import type { Directory } from "reprise/storage";
import { ACTION, type End, MAX_STEPS, STATE } from "./game.ts";
import { CAMERA } from "./picture.ts";

/** The maximum number of steps stored: ten minutes of play, 150 MB. */
export const CAPACITY = 12_000;

export const SPEC = {
  observation: { state: f32(STATE.length), image: u8(CAMERA, CAMERA, 3) },
  action: f32(ACTION.length),
  reward: f32(),
} as const;

const TABLES = {
  /** Draws each step of all used episodes with the same probability: an episode's priority is its length, or 0 if it is unused. */
  lessons: { maxSize: CAPACITY, sampler: prioritized(1) },
  /** Draws the item with the highest priority. `read` raises the priority of one episode to read it with its last observation. */
  episodes: { maxSize: CAPACITY, sampler: maxHeap() },
} as const;

/** "stopped" means stopped by the player. "cut" means that the tab or the browser was closed before the episode ended. */
export type Ending = End | "stopped" | "cut";

export interface Episode {
  /** The episode's number. Numbers start at 1 and are never reused. */
  readonly id: number;
  readonly seed: number;
  readonly steps: number;
  readonly return: number;
  readonly ending: Ending;
  /** Whether the episode is used for learning and exported. Initially, this is true for episodes that docked. */
  readonly used: boolean;
}

/** One step: the observation, the action taken in it, and the reward for the action. */
export interface Step {
  readonly observation: { readonly state: Float32Array; readonly image: Uint8Array };
  readonly action: readonly [number, number];
  readonly reward: number;
}

/** An episode that was read: columns, with one additional row of the state and the image if the last observation is known. */
export interface Recording {
  readonly rows: number;
  readonly state: Float32Array;
  readonly image: Uint8Array;
  readonly action: Float32Array;
  readonly reward: Float32Array;
}

interface Listed extends Episode {
  readonly lesson: number;
  readonly key: number;
}

/** Data stored in the journal in addition to the steps. */
interface Kept {
  readonly next: number;
  readonly episodes: readonly Listed[];
  /** The seed of the episode in progress. */
  readonly open: number | undefined;
}

export class Demonstrations {
  readonly #replay: OpenReplay<typeof SPEC, keyof typeof TABLES>;
  readonly #writer;
  #kept: Kept;
  /** Whether `#kept` has changed since it was last passed to the journal. */
  #isNews = false;
  #return = 0;

  private constructor(replay: OpenReplay<typeof SPEC, keyof typeof TABLES>) {
    this.#replay = replay;
    this.#writer = replay.writer({ name: "player", keep: MAX_STEPS + 1 });
    this.#kept = replay.journal.kept ?? { next: 1, episodes: [], open: undefined };
  }

  /**
   * Opens the stored data without writing, so that it can be viewed even if the disk is full. An episode that was cut is added to the list, with the steps that
   * were saved.
   * @returns also the cut episode, if there was one
   * @throws ReplayError CORRUPT, IO, LOCKED
   */
  static async open(dir: Directory): Promise<{ readonly demonstrations: Demonstrations; readonly cut: Episode | undefined }> {
    // Durability is manual, so that a group is a whole step, or a whole ending.
    const replay = await Replay.open({ dir, spec: SPEC, tables: TABLES, durability: "manual", logger: null });
    const demonstrations = new Demonstrations(replay);
    return { demonstrations, cut: demonstrations.#endCut() };
  }

  get episodes(): readonly Episode[] {
    return this.#kept.episodes;
  }

  /** Returns the number of the next episode. */
  get next(): number {
    return this.#kept.next;
  }

  /** The number of steps of the open episode. */
  get openSteps(): number {
    return this.#writer.episodeSteps;
  }

  /** Returns the total number of steps. */
  get steps(): number {
    return this.#kept.episodes.reduce((sum, { steps }) => sum + steps, this.openSteps);
  }

  /** Returns the bytes on the disk. */
  get bytes(): number {
    return this.#replay.journal.stats.bytes;
  }

  /** @throws ReplayError OUT_OF_MEMORY if there is no room for a whole episode */
  begin(seed: number): void {
    if (this.steps + MAX_STEPS > CAPACITY) {
      throw new ReplayError("OUT_OF_MEMORY", `The store is full: it contains ${CAPACITY} steps. Save what you have recorded, then delete episodes`);
    }
    this.#return = 0;
    this.#keep({ open: seed });
  }

  add(step: Step): void {
    this.#writer.append(step);
    this.#return += step.reward;
  }

  /** Ends the episode. An episode without a step is not saved. @param seen the last observation */
  end(ending: Ending, seen?: Step["observation"]): Episode | undefined {
    const { open: seed = 0, next, episodes } = this.#kept;
    const steps = this.openSteps;
    if (steps === 0) {
      this.#keep({ open: undefined });
      return undefined;
    }
    const writer = this.#writer;
    const used = ending === "docked";
    writer.createItem("lessons", { length: steps, priority: used ? steps : 0 });
    const lesson = writer.lastKey("lessons");
    if (seen === undefined) writer.createItem("episodes", { length: steps, priority: 0 });
    writer.endEpisode(seen && { final: { observation: seen, action: [0, 0], reward: 0 }, terminated: ending === "docked" || ending === "wrecked" });
    if (seen !== undefined) writer.createItem("episodes", { length: steps + 1, priority: 0 });
    const episode = { id: next, seed, steps, return: this.#return, ending, used, lesson, key: writer.lastKey("episodes") };
    this.#keep({ next: next + 1, episodes: [...episodes, episode], open: undefined });
    return episode;
  }

  /** Excludes an episode from learning and export, or includes it again. */
  use(id: number, used: boolean): void {
    const { lesson, steps } = this.#find(id);
    this.#replay.table("lessons").updatePriorities([lesson], [used ? steps : 0]);
    this.#keep({ episodes: this.#kept.episodes.map((episode) => (episode.id === id ? { ...episode, used } : episode)) });
  }

  /** Deletes an episode and releases the room of its steps. */
  delete(id: number): void {
    const { lesson, key } = this.#find(id);
    this.#replay.table("lessons").delete([lesson]);
    this.#replay.table("episodes").delete([key]);
    this.#keep({ episodes: this.#kept.episodes.filter((episode) => episode.id !== id) });
  }

  /** @returns how many episodes and steps now survive a crash, including steps of the open episode @throws ReplayError IO */
  async flush(): Promise<{ readonly episodes: number; readonly steps: number }> {
    const saved = { episodes: this.episodes.length, steps: this.steps };
    try {
      if (this.#isNews) this.#replay.journal.keep(this.#kept);
      this.#isNews = false;
      await this.#replay.flush();
    } catch (error) {
      this.#calm();
      throw error;
    }
    return saved;
  }

  /** Reads one episode. O(bytes of the episode) */
  read(id: number): Recording {
    const { key } = this.#find(id);
    const table = this.#replay.table("episodes");
    table.updatePriorities([key], [1]);
    try {
      const { observation, action, reward } = table.sample(1).steps;
      return { rows: reward.data.length, state: observation.state.data, image: observation.image.data, action: action.data, reward: reward.data };
    } finally {
      // Without this, the next read would return this item.
      table.updatePriorities([key], [0]);
    }
  }

  /** Draws states and actions of n steps of used episodes, each with the same probability. */
  lesson(n: number) {
    return this.#replay.table("lessons").sample(n, {
      length: 1,
      offset: "uniform",
      recycle: true,
      columns: { state: { leaf: "observation.state", at: 0 }, action: { leaf: "action", at: 0 } },
    });
  }

  close(): void {
    this.#replay.dispose();
  }

  #find(id: number): Listed {
    const found = this.#kept.episodes.find((episode) => episode.id === id);
    if (found === undefined) throw new ReplayError("NOT_FOUND", `Episode ${id} no longer exists`);
    return found;
  }

  #keep(change: Partial<Kept>): void {
    this.#kept = { ...this.#kept, ...change };
    this.#isNews = true;
  }

  /**
   * After a failed write, the journal rejects one call to report it. `flush` has already reported the failure, so this method makes the call that is rejected.
   */
  #calm(): void {
    try {
      this.#replay.table("episodes").updatePriorities([], []);
    } catch {
      // The rejection is expected.
    }
  }

  /** Ends the episode that the last visit left open. */
  #endCut(): Episode | undefined {
    const episode = this.#kept.open === undefined && this.openSteps === 0 ? undefined : this.end("cut");
    if (episode === undefined) return undefined;
    const { reward } = this.read(episode.id);
    const told = { ...this.#find(episode.id), return: reward.reduce((sum, one) => sum + one, 0) };
    this.#keep({ episodes: this.#kept.episodes.map((one) => (one.id === told.id ? told : one)) });
    return told;
  }
}
