/** Defines the environment of a command (`Host`) and its result (`Result`). */

/** The result of a command: `value` for programs (`--json`), and `text` for people. */
export interface Result {
  readonly value: object;
  readonly text: string;
  /** The exit code of a command that succeeded but found a problem. Default: 0. */
  readonly exitCode?: number;
}

/** Shows the progress of a long operation. */
export interface Progress {
  /**
   * Shows that `done` units of work are complete, counted from the start of the operation.
   * @param of the total number of units, if it is known
   */
  at(done: number, of?: number): void;
  end(): void;
}

/** The environment in which a command runs. */
export interface Host {
  /** The signal that aborts when the user presses Ctrl-C. */
  readonly signal: AbortSignal;
  /** The width of the terminal in columns, or 120 if the output is not a terminal. */
  readonly width: number;
  /** The version of the program. */
  readonly version: string;
  /** The folder that contains the built program. */
  readonly program: string;
  /** Prints a result immediately, while the command continues. */
  show(result: Result): Promise<void>;
  /** Starts to show the progress of a long operation. Shows nothing if the error output is not a terminal. */
  progress(title: string): Progress;
}
