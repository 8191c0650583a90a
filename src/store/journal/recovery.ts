/** A Replay from its journal: records in the order in which they were written, then what they come to. */
import type { Changes } from "../../core/changes.ts";
import { ReplayError } from "../../error.ts";
import { KEPT } from "../format/kinds.ts";
import { WritersReader } from "../format/writers.ts";
import type { Saved } from "../saved.ts";

export class Recovery {
  readonly #saved: Saved;
  readonly #changes: Changes;
  readonly #name: string;
  readonly #writers = new WritersReader();
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
    else if (!this.#writers.take(kind, id, payload) && !this.#changes.load(kind, id, payload, segment)) throw this.#corrupt(` in segment ${segment}`);
  }

  /** Once all sections were visited. */
  finish(): void {
    if (!this.#changes.loaded) return;
    if (!this.#writers.adopt(this.#saved) || !this.#changes.finish()) throw this.#corrupt();
  }

  #corrupt(where = ""): ReplayError {
    return new ReplayError("CORRUPT", `the journal in ${this.#name} contradicts itself${where}: another version of Reprise wrote it, or Reprise has a bug`);
  }
}
