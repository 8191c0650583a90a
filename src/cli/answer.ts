/** What a verb is given beside its arguments, and what it gives: a value for programs and a text for people. */

/** A value that JSON can hold once `json` wrote it, and the same as text. */
export interface Answer {
  readonly value: object;
  readonly text: string;
}

/** How far a verb has come; counts are those since it began. */
export interface Progress {
  /** @param of how many there will be, where that is known */
  at(done: number, of?: number): void;
  end(): void;
}

/** The program around a verb. */
export interface Host {
  /** Raised by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Columns of the terminal. */
  readonly width: number;
  /** Something goes on that may take long. Shown on a terminal only. */
  progress(what: string): Progress;
}
