/** Defines the environment of a command (`Host`) and its result (`Result`). */

/** A result for programs (`value`) and for people (`text`). */
export interface Result {
  readonly value: object;
  readonly text: string;
  /** The exit code of a command that succeeded but found a problem. Default: 0. */
  readonly exitCode?: number;
}

/** The progress of a command, counted since its start. */
export interface Progress {
  /** @param of the total, if it is known */
  at(done: number, of?: number): void;
  end(): void;
}

/** The program around a command. */
export interface Host {
  /** The signal that Ctrl-C aborts. */
  readonly signal: AbortSignal;
  /** The width of the terminal in columns. */
  readonly width: number;
  /** The version of the program. `program` is its folder. */
  readonly version: string;
  readonly program: string;
  /** Prints a result immediately, while the command continues. */
  show(result: Result): Promise<void>;
  /** Starts to show the progress of a long operation. Has an effect only on a terminal. */
  progress(title: string): Progress;
}
