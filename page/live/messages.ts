/** What the room Live and its worker say to each other. */

export type ToWorker =
  /** Comes first. Through the port the memory is looked at, and the agent paused. */
  | { readonly type: "start"; readonly seed: number; readonly inspect: MessagePort }
  /** Steps of the environment a second: Infinity for as many as there can be. */
  | { readonly type: "pace"; readonly rate: number }
  /** Asks for one Scene. */
  | { readonly type: "look" };

export type FromWorker = { readonly type: "scene"; readonly scene: Scene } | { readonly type: "failed"; readonly message: string };

/** The agent at one moment, with what has come since the last time that somebody looked. */
export interface Scene {
  /** Of the cart in m, of the pole in radians, as CartPole-v1 has them: position, speed, angle, angular speed. */
  readonly state: readonly number[];
  /** 0: to the left, 1: to the right; undefined before the first step. */
  readonly action: number | undefined;
  readonly steps: number;
  readonly episode: number;
  /** Steps of the running episode. */
  readonly length: number;
  /** Of episodes that ended: after which step of all, and the return. */
  readonly returns: readonly Point[];
  /** Means of 100 greedy episodes. */
  readonly greedy: readonly Point[];
  /** Milliseconds in the agent's steps so far, and of these in the memory. */
  readonly busyMs: number;
  readonly replayMs: number;
}

export interface Point {
  readonly step: number;
  readonly value: number;
}
