/** Implements a program that can be paused: it requests a turn before each step. */

export class Pausable {
  #paused = false;
  /** Whether the next turn passes, because a step was requested before it. */
  #hasStep = false;
  #waiter: { readonly turn: Promise<void>; readonly release: () => void } | undefined;

  get paused(): boolean {
    return this.#paused;
  }

  pause(): void {
    this.#paused = true;
    this.#hasStep = false;
  }

  /** Lets the waiting call of `turn` pass once, or the next one. */
  step(): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    this.#hasStep = waiter === undefined && this.#paused;
    waiter?.release();
  }

  resume(): void {
    this.#paused = false;
    this.step();
  }

  /** Returns `undefined`, or a promise to await while it is paused. @throws the signal's reason */
  turn(signal?: AbortSignal): Promise<void> | undefined {
    signal?.throwIfAborted();
    if (!this.#paused) return undefined;
    if (this.#hasStep) {
      this.#hasStep = false;
      return undefined;
    }
    this.#waiter ??= deferred();
    return signal === undefined ? this.#waiter.turn : abortable(this.#waiter.turn, signal);
  }
}

function deferred(): { readonly turn: Promise<void>; readonly release: () => void } {
  let release = () => {};
  const turn = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { turn, release };
}

/** Returns the promise, which rejects when the signal aborts. */
function abortable(turn: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    turn.then(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
  });
}
