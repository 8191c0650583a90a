/** How long to wait before a lost connection is tried again: longer each time, until it has been too long. */
import { RpcError } from "./grpc/status.ts";

const FIRST_MS = 50;
const LONGEST_MS = 5000;
/** A connection that stood so long was one, though nothing came through: longer than one takes to be found dead. */
const STOOD_MS = 60_000;

export class BackOff {
  readonly limitMs: number;
  #next = FIRST_MS;
  /** Milliseconds without a connection since something came through, until `#lostAt`. */
  #lostFor = 0;
  #lostAt: number | undefined;
  #openedAt: number | undefined;

  /** @param limitMs after so long without a connection the error is the caller's */
  constructor(limitMs: number) {
    this.limitMs = limitMs;
  }

  /** There is a connection, for what it is worth. */
  opened(): void {
    const now = performance.now();
    this.#openedAt = now;
    if (this.#lostAt !== undefined) this.#lostFor += now - this.#lostAt;
    this.#lostAt = undefined;
  }

  /** Something has come through. */
  reset(): void {
    this.#next = FIRST_MS;
    this.#lostFor = 0;
    this.#lostAt = undefined;
  }

  /** Milliseconds until the next attempt; undefined where there is none, for this error or any more. */
  after(error: unknown): number | undefined {
    if (!isLost(error)) return undefined;
    const now = performance.now();
    if (this.#openedAt !== undefined && now - this.#openedAt >= STOOD_MS) this.reset();
    this.#openedAt = undefined;
    this.#lostAt ??= now;
    const left = this.limitMs - this.#lostFor - (now - this.#lostAt);
    if (left <= 0) return undefined;
    const wait = Math.min(this.#next, left);
    this.#next = Math.min(2 * this.#next, LONGEST_MS);
    return wait;
  }
}

/** Whether another connection may help. */
export function isLost(error: unknown): error is RpcError {
  return error instanceof RpcError && error.isLost;
}
