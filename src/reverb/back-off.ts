/** How long to wait before a lost connection is tried again: longer each time, until it has been too long. */
import { RpcError } from "./grpc/status.ts";

const FIRST_MS = 50;
const LONGEST_MS = 5000;
/** A connection that stood so long was one, though nothing came through: longer than one takes to be found dead. */
const STABLE_MS = 60_000;

export class BackOff {
  readonly limitMs: number;
  #next = FIRST_MS;
  /** Milliseconds without a connection since something came through, until `#lostAt`. */
  #lostMs = 0;
  #lossAt: number | undefined;
  #openedAt: number | undefined;

  /** @param limitMs after so long without a connection the error is the caller's */
  constructor(limitMs: number) {
    this.limitMs = limitMs;
  }

  /** There is a connection, for what it is worth. */
  onOpen(): void {
    const now = performance.now();
    this.#openedAt = now;
    if (this.#lossAt !== undefined) this.#lostMs += now - this.#lossAt;
    this.#lossAt = undefined;
  }

  /** Something has come through. */
  reset(): void {
    this.#next = FIRST_MS;
    this.#lostMs = 0;
    this.#lossAt = undefined;
  }

  /** Milliseconds until the next attempt; undefined where there is none, for this error or any more. */
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

/** Whether another connection may help. */
export function isLost(error: unknown): error is RpcError {
  return error instanceof RpcError && error.isLost;
}
