/** Calls of an actor that wait for an answer: flushes by their numbers, and the goodbye. */
import { foreignMessage } from "./appender.ts";
import { tooMuch } from "./credits.ts";
import { isCount } from "./validators.ts";

/** Calls that may wait for an answer. */
const MAX_CALLS = 1000;
/** A number that no flush has. */
export const GOODBYE = -1;

export interface CallsOptions {
  /** Resolves when all that came before is where a confirmation says. */
  readonly settle: () => Promise<void>;
  readonly answer: (id: number) => void;
  readonly fail: (error: unknown) => void;
  readonly signal: AbortSignal;
}

export class Calls {
  readonly #ids = new Set<number>();
  /** The flushes among them whose turn has come. */
  readonly #due: number[] = [];
  readonly #options: CallsOptions;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /**
   * Whether a flush of this number, or the goodbye, is new: one that waits for its answer comes again where the actor does.
   * @throws ReplayError CORRUPT for a number that is none, and for too many calls
   */
  add(id: number): boolean {
    if (id !== GOODBYE && !isCount(id)) throw foreignMessage();
    if (this.#ids.has(id)) return false;
    if (this.#ids.size >= MAX_CALLS) throw tooMuch(`${this.#ids.size + 1} calls wait for an answer`);
    this.#ids.add(id);
    return true;
  }

  /** The turn of a flush has come: it is answered once all before it is settled. */
  flush(id: number): void {
    const { fail, signal } = this.#options;
    this.#due.push(id);
    if (this.#due.length === 1) this.#answerAll().catch((error) => signal.aborted || fail(error));
  }

  /** One wait for all flushes that are due, since each waits for what the first of them waits for. */
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
