/** Demonstrations in a Replay on the disk: whole episodes, drawn from to learn, and read back one by one. What is listed of them is kept by the journal, of the same moment as their steps. */
import { f32, maxHeap, type OpenReplay, prioritized, Replay, ReplayError, u8 } from "reprise";
import type { Directory } from "reprise/storage";
import { ACTION, type End, MAX_STEPS, STATE } from "./game.ts";
import { CAMERA } from "./picture.ts";

/** Steps that are kept at most: ten minutes of play, 150 MB. */
export const CAPACITY = 12_000;

export const SPEC = {
  observation: { state: f32(STATE.length), image: u8(CAMERA, CAMERA, 3) },
  action: f32(ACTION.length),
  reward: f32(),
} as const;

const TABLES = {
  /** Draws a step of any episode with the same probability: an episode's priority is its length, or 0 where it is left out. */
  lessons: { maxSize: CAPACITY, sampler: prioritized(1) },
  /** Gives the item of the highest priority: the way to one episode, with what was seen last. */
  episodes: { maxSize: CAPACITY, sampler: maxHeap() },
} as const;

/** stopped: by the player · cut: the tab or the browser ended before the episode did */
export type Ending = End | "stopped" | "cut";

export interface Episode {
  /** Counted from 1, and never used again. */
  readonly id: number;
  readonly seed: number;
  readonly steps: number;
  readonly return: number;
  readonly ending: Ending;
  /** Whether it is learned from, and exported: at first those that docked. */
  readonly used: boolean;
}

/** What was seen, and done. */
export interface Step {
  readonly observation: { readonly state: Float32Array; readonly image: Uint8Array };
  readonly action: readonly [number, number];
  readonly reward: number;
}

/** An episode read back: columns, with one row of the state and the image more where it is known what was seen last. */
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

/** What the journal keeps beside the steps. */
interface Kept {
  readonly next: number;
  readonly episodes: readonly Listed[];
  /** The seed of the episode that was being played. */
  readonly open: number | undefined;
}

export class Demonstrations {
  readonly #replay: OpenReplay<typeof SPEC, keyof typeof TABLES>;
  readonly #writer;
  #kept: Kept;
  /** Whether the journal does not have that yet. */
  #isNews = false;
  #return = 0;

  private constructor(replay: OpenReplay<typeof SPEC, keyof typeof TABLES>) {
    this.#replay = replay;
    this.#writer = replay.writer({ name: "player", keep: MAX_STEPS + 1 });
    this.#kept = replay.journal.kept ?? { next: 1, episodes: [], open: undefined };
  }

  /**
   * Opens what is there, and writes nothing: a full disk keeps nobody from looking. An episode that was cut comes into the list, as it was when it was last saved.
   * @returns the cut episode beside them, if there was one
   * @throws ReplayError CORRUPT, IO, LOCKED
   */
  static async open(dir: Directory): Promise<{ readonly demonstrations: Demonstrations; readonly cut: Episode | undefined }> {
    // By hand: a group is a whole step, or a whole ending.
    const replay = await Replay.open({ dir, spec: SPEC, tables: TABLES, durability: "manual", logger: null });
    const demonstrations = new Demonstrations(replay);
    return { demonstrations, cut: demonstrations.#endCut() };
  }

  get episodes(): readonly Episode[] {
    return this.#kept.episodes;
  }

  /** The number that the next episode gets. */
  get next(): number {
    return this.#kept.next;
  }

  /** Steps of the open episode. */
  get openSteps(): number {
    return this.#writer.episodeSteps;
  }

  /** Steps altogether. */
  get steps(): number {
    return this.#kept.episodes.reduce((sum, { steps }) => sum + steps, this.openSteps);
  }

  /** Bytes on the disk. */
  get bytes(): number {
    return this.#replay.journal.stats.bytes;
  }

  /** @throws ReplayError OUT_OF_MEMORY where there is no room for a whole episode */
  begin(seed: number): void {
    if (this.steps + MAX_STEPS > CAPACITY) {
      throw new ReplayError("OUT_OF_MEMORY", `The store is full: it holds ${CAPACITY} steps. Save what you have recorded, then delete episodes`);
    }
    this.#return = 0;
    this.#keep({ open: seed });
  }

  add(step: Step): void {
    this.#writer.append(step);
    this.#return += step.reward;
  }

  /** Ends the episode. One without a step leaves nothing behind. @param seen what was seen last */
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

  /** Leaves an episode out of what is learned from and exported, or takes it in again. */
  use(id: number, used: boolean): void {
    const { lesson, steps } = this.#find(id);
    this.#replay.table("lessons").updatePriorities([lesson], [used ? steps : 0]);
    this.#keep({ episodes: this.#kept.episodes.map((episode) => (episode.id === id ? { ...episode, used } : episode)) });
  }

  /** Its steps give their room back. */
  delete(id: number): void {
    const { lesson, key } = this.#find(id);
    this.#replay.table("lessons").delete([lesson]);
    this.#replay.table("episodes").delete([key]);
    this.#keep({ episodes: this.#kept.episodes.filter((episode) => episode.id !== id) });
  }

  /** @returns how many episodes and steps certainly outlive a crash now; the steps of the open episode are among them @throws ReplayError IO */
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

  /** One episode. O(its bytes) */
  read(id: number): Recording {
    const { key } = this.#find(id);
    const table = this.#replay.table("episodes");
    table.updatePriorities([key], [1]);
    try {
      const { observation, action, reward } = table.sample(1).steps;
      return { rows: reward.data.length, state: observation.state.data, image: observation.image.data, action: action.data, reward: reward.data };
    } finally {
      // Or the next one that is read would be this one.
      table.updatePriorities([key], [0]);
    }
  }

  /** States and actions of n steps of episodes that are used, each with the same probability. */
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

  /** After a write that failed, the journal refuses one call, so that the program learns of it. `flush` has told: this is the call. */
  #calm(): void {
    try {
      this.#replay.table("episodes").updatePriorities([], []);
    } catch {
      // As it should be.
    }
  }

  /** Ends the episode that the last visit did not end. */
  #endCut(): Episode | undefined {
    const episode = this.#kept.open === undefined && this.openSteps === 0 ? undefined : this.end("cut");
    if (episode === undefined) return undefined;
    const { reward } = this.read(episode.id);
    const told = { ...this.#find(episode.id), return: reward.reduce((sum, one) => sum + one, 0) };
    this.#keep({ episodes: this.#kept.episodes.map((one) => (one.id === told.id ? told : one)) });
    return told;
  }
}
