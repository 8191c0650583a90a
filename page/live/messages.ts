/** Defines the messages between the room Live and its worker. */

export type ToWorker =
  /** The first message. The port is for inspecting the memory and pausing the agent. */
  | { readonly type: "start"; readonly seed: number; readonly inspect: MessagePort }
  /** The number of steps of the environment per second: Infinity for the maximum. */
  | { readonly type: "pace"; readonly rate: number }
  /** Requests one Scene. */
  | { readonly type: "look" };

export type FromWorker = { readonly type: "scene"; readonly scene: Scene } | { readonly type: "failed"; readonly message: string };

/** The agent at one moment, with the returns since the previous request. */
export interface Scene {
  /** The cart in m and the pole in radians, as in CartPole-v1: position, speed, angle, angular speed. */
  readonly state: readonly number[];
  /** The action: 0 to the left, 1 to the right; undefined before the first step. */
  readonly action: number | undefined;
  readonly steps: number;
  readonly episode: number;
  /** The number of steps of the current episode. */
  readonly length: number;
  /** A point for each episode that ended: the total number of steps at its end, and its return. */
  readonly returns: readonly Point[];
  /** The mean returns of 100 greedy episodes each. */
  readonly greedy: readonly Point[];
  /** The number of milliseconds spent in the agent's steps so far, and the number of these milliseconds spent in the memory. */
  readonly busyMs: number;
  readonly replayMs: number;
}

export interface Point {
  readonly step: number;
  readonly value: number;
}
