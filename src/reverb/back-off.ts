/** How long to wait before a lost connection is tried again: longer each time, until it has been too long. */
import { RpcError } from "./grpc/status.ts";

const FIRST_MS = 50;
const LONGEST_MS = 5000;

export class BackOff {
  readonly #limitMs: number;
  #next = FIRST_MS;
  #waited = 0;

  /** @param limitMs after so long without a connection the error is the caller's */
  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** Something has come through. */
  reset(): void {
    this.#next = FIRST_MS;
    this.#waited = 0;
  }

  /** Milliseconds until the next attempt; undefined where there is none, for this error or any more. */
  after(error: unknown): number | undefined {
    if (!(error instanceof RpcError) || !error.isLost || this.#waited >= this.#limitMs) return undefined;
    const wait = Math.min(this.#next, this.#limitMs - this.#waited);
    this.#waited += wait;
    this.#next = Math.min(2 * this.#next, LONGEST_MS);
    return wait;
  }
}
