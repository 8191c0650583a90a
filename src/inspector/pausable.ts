/** Represents a program that can be paused. The program requests a turn before each step. */

export class Pausable {
  #paused = false;
  /** Whether the next call to `turn` returns immediately, because a step was requested before the call. */
  #hasStep = false;
  #waiter: { readonly turn: Promise<void>; readonly release: () => void } | undefined;

  get paused(): boolean {
    return this.#paused;
  }

  pause(): void {
    this.#paused = true;
    this.#hasStep = false;
  }

  /** Lets one call to `turn` return: the waiting call, or the next call if none is waiting. */
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

  /** Returns `undefined`, or a promise to await while the program is paused. @throws the signal's reason */
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

/** Returns a promise of the turn that also rejects when the signal aborts. */
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
