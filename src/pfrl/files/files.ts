/** A buffer's files: saved and loaded, at once or piece by piece. */
import { ReplayError } from "../../error.ts";
import type { Write } from "../store/history.ts";
import { loading, saving, type WholeSink } from "./saving.ts";
import type { SaveTarget } from "./single-file.ts";
import { atOnce, inPieces, type Progress, type WorkOptions } from "./work.ts";

/** What a buffer writes, what reads it, and how often it has changed. */
export interface Content {
  write(write: Write): Generator<Progress, void>;
  sink(): WholeSink;
  readonly changes: number;
}

export class Files {
  readonly #content: Content;
  readonly #module: WebAssembly.Module | undefined;

  /** @param module another build of the core, for hosts that forbid compiling */
  constructor(content: Content, module: WebAssembly.Module | undefined) {
    this.#content = content;
    this.#module = module;
  }

  save(file: SaveTarget): void {
    atOnce(this.#saving(file));
  }

  load(file: SaveTarget): void {
    atOnce(this.#loading(file));
  }

  saveAsync(file: SaveTarget, options: WorkOptions = {}): Promise<void> {
    return inPieces(this.#unchanged(this.#saving(file)), options);
  }

  loadAsync(file: SaveTarget, options: WorkOptions = {}): Promise<void> {
    return inPieces(this.#unchanged(this.#loading(file)), options);
  }

  #saving(file: SaveTarget): Generator<Progress, void> {
    return saving(file, (write) => this.#content.write(write), this.#module);
  }

  #loading(file: SaveTarget): Generator<Progress, void> {
    return loading(file, this.#content.sink(), this.#module);
  }

  /** Between two pieces nothing may come in: it would be lost, or in the file by half. */
  *#unchanged(work: Generator<Progress, void>): Generator<Progress, void> {
    const { changes } = this.#content;
    for (const progress of work) {
      yield progress;
      if (this.#content.changes !== changes)
        throw new ReplayError("OUT_OF_TURN", "the buffer changed while it was being saved or loaded: wait for the end first");
    }
  }
}
