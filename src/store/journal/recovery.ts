/** A Replay from its journal: records in the order in which they were written, then what they come to. */
import type { Changes } from "../../core/changes.ts";
import { ReplayError } from "../../error.ts";
import { adoptWriters } from "../format/head.ts";
import { KEPT, WRITERS } from "../format/kinds.ts";
import type { Saved } from "../saved.ts";

export class Recovery {
  readonly #saved: Saved;
  readonly #changes: Changes;
  readonly #name: string;
  #writers: Uint8Array | undefined;
  /** The program's own value, as bytes. */
  kept: Uint8Array | undefined;

  constructor(saved: Saved, changes: Changes, name: string) {
    this.#saved = saved;
    this.#changes = changes;
    this.#name = name;
  }

  /** A section of a whole group. */
  visit(kind: number, id: number, payload: Uint8Array, segment: number): void {
    if (kind === KEPT) this.kept = payload.slice();
    else if (kind === WRITERS) this.#writers = payload.slice();
    else if (!this.#changes.load(kind, id, payload, segment)) throw this.#corrupt(` in segment ${segment}`);
  }

  /** Once all sections were visited. */
  finish(): void {
    if (!this.#changes.loaded) return;
    if (this.#writers === undefined) throw this.#corrupt();
    adoptWriters(this.#saved, this.#writers);
    if (!this.#changes.finish()) throw this.#corrupt();
  }

  #corrupt(where = ""): ReplayError {
    return new ReplayError("CORRUPT", `the journal in ${this.#name} contradicts itself${where}: another version of Reprise wrote it, or Reprise has a bug`);
  }
}
