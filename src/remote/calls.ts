/** Tracks the calls of an actor that wait for an answer: flushes by number, and the goodbye. */
import { foreignMessage } from "./appender.ts";
import { tooMuch } from "./credits.ts";
import { isCount } from "./validators.ts";

/** The maximum number of calls that wait for an answer. */
const MAX_CALLS = 1000;
/** The number that identifies a goodbye. No flush has this number. */
export const GOODBYE = -1;

export interface CallsOptions {
  /** Resolves when everything before the call is confirmed as the option `confirm` requires. */
  readonly settle: () => Promise<void>;
  readonly answer: (id: number) => void;
  readonly fail: (error: unknown) => void;
  readonly signal: AbortSignal;
}

export class Calls {
  readonly #ids = new Set<number>();
  /** The flushes whose turn has come. */
  readonly #due: number[] = [];
  readonly #options: CallsOptions;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /**
   * Adds a flush, or the goodbye. Returns whether the call is new, because an actor that reconnects repeats calls without an answer.
   * @throws ReplayError CORRUPT if the number is invalid, or too many calls are waiting
   */
  add(id: number): boolean {
    if (id !== GOODBYE && !isCount(id)) throw foreignMessage();
    if (this.#ids.has(id)) return false;
    if (this.#ids.size >= MAX_CALLS) throw tooMuch(`${this.#ids.size + 1} calls are waiting for an answer`);
    this.#ids.add(id);
    return true;
  }

  /** Handles a flush whose turn has come. The flush is answered after everything before it is settled. */
  flush(id: number): void {
    const { fail, signal } = this.#options;
    this.#due.push(id);
    if (this.#due.length === 1) this.#answerAll().catch((error) => signal.aborted || fail(error));
  }

  /** Waits once for all flushes that are due, since each waits for at least the same confirmations. */
  async #answerAll(): Promise<void> {
    const { settle, answer, signal } = this.#options;
    while (this.#due.length > 0) {
      const count = this.#due.length;
      await settle();
      if (signal.aborted) return;
      for (const id of this.#due.splice(0, count)) {
        this.#ids.delete(id);
        answer(id);
      }
    }
  }
}
