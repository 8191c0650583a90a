/** Reads the recorded results of the real Gymnasium for CartPole-v1 (test/data/README.md). */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** T steps: observations[t], actions[t] and rewards[t] belong together, and observations[T] is the final observation. */
export interface Episode {
  readonly observations: number[][];
  readonly actions: number[];
  readonly rewards: number[];
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** The result of one `step` call of a vector environment: one value per lane. */
export interface VectorStep {
  readonly actions: number[];
  readonly observation: number[][];
  readonly reward: number[];
  readonly terminated: boolean[];
  readonly truncated: boolean[];
  /** Only in SAME_STEP mode, if a lane ended: its final observation. */
  readonly final_obs?: (number[] | null)[];
  /** Only in DISABLED mode, if a lane ended: the observations after the reset of these lanes. */
  readonly reset?: number[][];
}

export interface VectorRun {
  readonly autoreset_mode: "NEXT_STEP" | "SAME_STEP" | "DISABLED";
  /** The observations of the first reset. */
  readonly first: number[][];
  readonly steps: VectorStep[];
  /** The episodes of each lane. The last episode is still open. */
  readonly lanes: Episode[][];
}

interface Recorded {
  readonly episodes: (Episode & { readonly name: string })[];
  readonly vector: VectorRun[];
}

export const cartPole: Recorded = JSON.parse(readFileSync(join(import.meta.dirname, "../data/gymnasium/cartpole.json"), "utf8"));
