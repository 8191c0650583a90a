/** What an accepting end takes of a peer that nobody trusts. */
import { finite, integer, onlyKeys } from "../base/error.ts";

export interface AcceptLimits {
  /** Bytes of a frame at most, and of the steps in it as columns. Default: 4 MiB. Memory is taken only for what has come; let the server of sockets limit messages as well. */
  readonly frameBytes?: number;
  /** Bytes of frames that may be on their way without a confirmation. Default: 8 MiB. */
  readonly inFlightBytes?: number;
  /** Steps and bytes of frames per second, on average: beyond that blocks wait, and the actor with them. Default: no limit. */
  readonly stepsPerSecond?: number;
  readonly bytesPerSecond?: number;
}

export type ResolvedLimits = Required<AcceptLimits>;

/** Less would not hold a block's text. */
const MIN_FRAME_BYTES = 1 << 17;
const MAX_FRAME_BYTES = 2 ** 30;

/** @throws TypeError, RangeError */
export function resolveLimits(limits: AcceptLimits = {}): ResolvedLimits {
  const all = onlyKeys("limits", limits, "frameBytes, inFlightBytes, stepsPerSecond, bytesPerSecond");
  const { frameBytes = 4 << 20, inFlightBytes = 8 << 20, stepsPerSecond = Number.POSITIVE_INFINITY, bytesPerSecond = Number.POSITIVE_INFINITY } = all;
  integer("limits.frameBytes", frameBytes, MIN_FRAME_BYTES, MAX_FRAME_BYTES);
  integer("limits.inFlightBytes", inFlightBytes, 1);
  if (stepsPerSecond !== Number.POSITIVE_INFINITY) finite("limits.stepsPerSecond", stepsPerSecond, 1);
  if (bytesPerSecond !== Number.POSITIVE_INFINITY) finite("limits.bytesPerSecond", bytesPerSecond, 1);
  return { frameBytes, inFlightBytes, stepsPerSecond, bytesPerSecond };
}

/** A bucket of one second's worth. */
export class Throttle {
  readonly #perSecond: number;
  #level = 0;
  #at = performance.now();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Takes so much: how many milliseconds until the next may be taken. */
  take(n: number): number {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return 0;
    const now = performance.now();
    this.#level = Math.max(0, this.#level - ((now - this.#at) / 1000) * this.#perSecond) + n;
    this.#at = now;
    return Math.max(0, (1000 * (this.#level - this.#perSecond)) / this.#perSecond);
  }
}
