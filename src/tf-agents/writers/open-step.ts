/** Collects the parts of a step that is appended in several calls. */
import { CoreStream } from "../../memory/stream.ts";
import { engineOf, type Replay } from "../../replay/replay.ts";
import type { Spec } from "../../schema/spec.ts";
import type { Writer } from "../../tables/writer.ts";
import { alreadySet, type Fields, type Values } from "./fields.ts";

export class OpenStep<S extends Spec> {
  readonly #fields: Fields<S>;
  /** A writer that checks the fields and stores them as a separate step. */
  readonly #draft: Writer<S, string>;
  readonly #stream: CoreStream;
  #values: unknown[] = [];

  constructor(replay: Replay<S, string>, fields: Fields<S>) {
    this.#fields = fields;
    this.#draft = replay.writer({ keep: 1, items: [] }) as Writer<S, string>;
    this.#stream = new CoreStream(engineOf(replay), this.#draft.streams[0] as number);
  }

  /** All fields that were passed so far. */
  get values(): Values {
    return this.#values;
  }

  /**
   * Adds fields to the open step. @throws ReplayError SPEC_MISMATCH if a field already has a value, or if a value has another form. In that case, nothing has
   * changed
   */
  add(values: Values): void {
    const merged = this.#fields.leaves.map((leaf, i) => {
      if (values[i] !== undefined && this.#values[i] !== undefined) throw alreadySet(leaf, values[i]);
      return values[i] ?? this.#values[i];
    });
    this.#draft.append(this.#fields.completeStep(merged));
    // The caller may refill its arrays before the step is complete.
    this.#values = merged.map((value, i) => (values[i] === undefined ? value : copyValue(value)));
  }

  /** Writes the newly passed fields to the newest step of a stream. */
  patch(stream: CoreStream, values: Values): void {
    values.forEach((value, leaf) => {
      if (value !== undefined) stream.patch(leaf, this.#stream);
    });
  }

  reset(): void {
    this.#values = [];
  }

  close(): void {
    this.#draft.close();
  }
}

function copyValue(value: unknown): unknown {
  if (typeof value !== "object") return value;
  return ArrayBuffer.isView(value) ? (value as Uint8Array).slice() : structuredClone(value);
}
