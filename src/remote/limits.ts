/** What an accepting end takes of a peer that nobody trusts. */
import { finite, integer, onlyKeys } from "../base/error.ts";
import { MAX_LANES } from "./wire/messages.ts";

export interface AcceptLimits {
  /** Bytes of a frame at most, and of the steps in it as columns. Default: 4 MiB. Memory is taken only for what has come; let the server of sockets limit messages as well. */
  readonly frameBytes?: number;
  /** Bytes that may be on their way without a confirmation: of a frame, or of the steps in it as columns where those are more. Default: 8 MiB. */
  readonly inFlightBytes?: number;
  /** Steps and bytes of frames per second, on average: beyond that blocks wait, and the actor with them. Default: no limit. */
  readonly stepsPerSecond?: number;
  readonly bytesPerSecond?: number;
  /** Lanes that an actor may have. Default: 1024. Each takes about 220 bytes, 4 for each step of `keep`, and the steps in its window. */
  readonly lanes?: number;
  /** Sessions that the Replay keeps at once, of connected actors and of those that may come again: beyond that only those come in. Default: 4096. */
  readonly sessions?: number;
}

export type ResolvedLimits = Required<AcceptLimits>;

/** Less would not hold a block's text. */
const MIN_FRAME_BYTES = 1 << 17;
const MAX_FRAME_BYTES = 2 ** 30;

/** @throws TypeError, RangeError */
export function resolveLimits(limits: AcceptLimits = {}): ResolvedLimits {
  const all = onlyKeys("limits", limits, "frameBytes, inFlightBytes, stepsPerSecond, bytesPerSecond, lanes, sessions");
  const { frameBytes = 4 << 20, inFlightBytes = 8 << 20, stepsPerSecond = Number.POSITIVE_INFINITY, bytesPerSecond = Number.POSITIVE_INFINITY } = all;
  const { lanes = 1024, sessions = 4096 } = all;
  integer("limits.lanes", lanes, 1, MAX_LANES);
  integer("limits.sessions", sessions, 1);
  integer("limits.frameBytes", frameBytes, MIN_FRAME_BYTES, MAX_FRAME_BYTES);
  integer("limits.inFlightBytes", inFlightBytes, 1);
  if (stepsPerSecond !== Number.POSITIVE_INFINITY) finite("limits.stepsPerSecond", stepsPerSecond, 1);
  if (bytesPerSecond !== Number.POSITIVE_INFINITY) finite("limits.bytesPerSecond", bytesPerSecond, 1);
  return { frameBytes, inFlightBytes, stepsPerSecond, bytesPerSecond, lanes, sessions };
}

/** A bucket of one second's worth. */
export class Throttle {
  /** May change at any time. */
  perSecond = Number.POSITIVE_INFINITY;
  #level = 0;
  #at = performance.now();

  /** Takes so much: how many milliseconds until the next may be taken. */
  take(n: number): number {
    const { perSecond } = this;
    if (perSecond === Number.POSITIVE_INFINITY) return 0;
    const now = performance.now();
    this.#level = Math.max(0, this.#level - ((now - this.#at) / 1000) * perSecond) + n;
    this.#at = now;
    return Math.max(0, (1000 * (this.#level - perSecond)) / perSecond);
  }
}
