/** What a command gets besides its arguments (`Host`), and what it returns (`Result`). */

/** The same result for programs (`json` can write the value) and for people. */
export interface Result {
  readonly value: object;
  readonly text: string;
  /** The exit code of a command that has done its work, and found something wrong. Default: 0 */
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
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Width of the terminal in columns. */
  readonly width: number;
  /** The version of the program, and the folder that it is in. */
  readonly version: string;
  readonly program: string;
  /** Prints a result immediately, while the command continues. */
  show(result: Result): Promise<void>;
  /** Starts to show the progress of something that may take long, on a terminal only. */
  progress(title: string): Progress;
}
