/** Limits that an accepting end sets for an untrusted peer. */
import { finite, integer, onlyKeys } from "../base/error.ts";
import { MAX_LANES } from "./wire/messages.ts";

export interface AcceptLimits {
  /**
   * The maximum number of bytes in a frame, and in its steps as columns, from 128 KiB to 1 GiB. Memory is allocated only for received bytes. Also limit the
   * size of messages in the socket server. Default: 4 MiB.
   */
  readonly frameBytes?: number;
  /** The maximum number of unconfirmed bytes of frames, or of their steps as columns if the columns are larger. Default: 8 MiB. */
  readonly inFlightBytes?: number;
  /**
   * The maximum average number of steps per second, and of bytes of frames per second; at least 1 each. Above a limit, blocks wait, and therefore the actor
   * waits. Default: no limit.
   */
  readonly stepsPerSecond?: number;
  readonly bytesPerSecond?: number;
  /**
   * The maximum number of lanes of an actor, at most 65,536. A lane takes about 220 bytes, 4 bytes per step of `keep`, and the steps in its window. Default:
   * 1024.
   */
  readonly lanes?: number;
  /**
   * The maximum number of sessions of a Replay, including the sessions of actors that may reconnect. At the limit, only known actors are accepted. Default:
   * 4096.
   */
  readonly sessions?: number;
}

export type ResolvedLimits = Required<AcceptLimits>;

/** The minimum `frameBytes`, which has room for a block's text. */
const MIN_FRAME_BYTES = 1 << 17;
const MAX_FRAME_BYTES = 2 ** 30;

/** Returns the limits with their defaults. @throws TypeError, RangeError if a limit is invalid */
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

/** A token bucket with the capacity of one second. */
export class Throttle {
  /** The rate, which may change at any time. */
  perSecond = Number.POSITIVE_INFINITY;
  #level = 0;
  #at = performance.now();

  /** Takes `n` tokens. Returns the number of milliseconds after which the tokens may be used. */
  take(n: number): number {
    const { perSecond } = this;
    if (perSecond === Number.POSITIVE_INFINITY) return 0;
    const now = performance.now();
    this.#level = Math.max(0, this.#level - ((now - this.#at) / 1000) * perSecond) + n;
    this.#at = now;
    return Math.max(0, (1000 * (this.#level - perSecond)) / perSecond);
  }
}
