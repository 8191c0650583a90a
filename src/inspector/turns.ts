/** Turns of a program that can be paused: it asks before each step of its own. */

export class Turns {
  #paused = false;
  /** Whether the next turn passes: it was let go before it was asked for. */
  #isNext = false;
  #waiting: { readonly turn: Promise<void>; readonly go: () => void } | undefined;

  get paused(): boolean {
    return this.#paused;
  }

  pause(): void {
    this.#paused = true;
    this.#isNext = false;
  }

  /** Lets go who waits, once, or who asks next. */
  step(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#isNext = waiting === undefined && this.#paused;
    waiting?.go();
  }

  resume(): void {
    this.#paused = false;
    this.step();
  }

  /** `undefined`, or a promise to await while it is paused. @throws the signal's reason */
  turn(signal?: AbortSignal): Promise<void> | undefined {
    signal?.throwIfAborted();
    if (!this.#paused) return undefined;
    if (this.#isNext) {
      this.#isNext = false;
      return undefined;
    }
    this.#waiting ??= deferred();
    return signal === undefined ? this.#waiting.turn : aborted(this.#waiting.turn, signal);
  }
}

function deferred(): { readonly turn: Promise<void>; readonly go: () => void } {
  let go = () => {};
  const turn = new Promise<void>((resolve) => {
    go = resolve;
  });
  return { turn, go };
}

/** The same promise, until the signal ends it. */
function aborted(turn: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    turn.then(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    });
  });
}
