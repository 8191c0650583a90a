/** Computes the delays between attempts to reconnect. They double up to 5 seconds, and end when the time limit is reached. */
import { RpcError } from "./grpc/status.ts";

const FIRST_MS = 50;
const LONGEST_MS = 5000;
/** A connection that lasted this many milliseconds counts as successful even if no data arrived, because a dead connection is detected sooner. */
const STABLE_MS = 60_000;

export class BackOff {
  readonly limitMs: number;
  #next = FIRST_MS;
  /** The number of milliseconds without a connection since data last arrived, except the current loss, which began at `#lossAt`. */
  #lostMs = 0;
  #lossAt: number | undefined;
  #openedAt: number | undefined;

  /** @param limitMs the time without a connection after which the caller receives the error */
  constructor(limitMs: number) {
    this.limitMs = limitMs;
  }

  /** Records that a connection has opened, although the connection may not work yet. */
  onOpen(): void {
    const now = performance.now();
    this.#openedAt = now;
    if (this.#lossAt !== undefined) this.#lostMs += now - this.#lossAt;
    this.#lossAt = undefined;
  }

  /** Resets the delays after data has arrived. */
  reset(): void {
    this.#next = FIRST_MS;
    this.#lostMs = 0;
    this.#lossAt = undefined;
  }

  /** Returns the number of milliseconds until the next attempt, or undefined if the error or the time limit allows no further attempt. */
  after(error: unknown): number | undefined {
    if (!isLost(error)) return undefined;
    const now = performance.now();
    if (this.#openedAt !== undefined && now - this.#openedAt >= STABLE_MS) this.reset();
    this.#openedAt = undefined;
    this.#lossAt ??= now;
    const remaining = this.limitMs - this.#lostMs - (now - this.#lossAt);
    if (remaining <= 0) return undefined;
    const wait = Math.min(this.#next, remaining);
    this.#next = Math.min(2 * this.#next, LONGEST_MS);
    return wait;
  }
}

/** Returns whether another connection may help. */
export function isLost(error: unknown): error is RpcError {
  return error instanceof RpcError && error.isLost;
}
