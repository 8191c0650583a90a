/** A step that is made by several appends. */
import { CoreStream } from "../../memory/stream.ts";
import { engineOf, type Replay } from "../../replay/replay.ts";
import type { Spec } from "../../schema/spec.ts";
import type { Writer } from "../../tables/writer.ts";
import { alreadySet, type Fields, type Values } from "./fields.ts";

export class OpenStep<S extends Spec> {
  readonly #fields: Fields<S>;
  /** Checks what is given, and holds it as a step of its own. */
  readonly #draft: Writer<S, string>;
  readonly #stream: CoreStream;
  #values: unknown[] = [];

  constructor(replay: Replay<S, string>, fields: Fields<S>) {
    this.#fields = fields;
    this.#draft = replay.writer({ keep: 1, items: [] }) as Writer<S, string>;
    this.#stream = new CoreStream(engineOf(replay), this.#draft.streams[0] as number);
  }

  /** All that was given for it. */
  get values(): Values {
    return this.#values;
  }

  /** @throws ReplayError SPEC_MISMATCH for a field that it has, or a value of another form; then it is as it was */
  add(values: Values): void {
    const merged = this.#fields.leaves.map((leaf, i) => {
      if (values[i] !== undefined && this.#values[i] !== undefined) throw alreadySet(leaf, values[i]);
      return values[i] ?? this.#values[i];
    });
    this.#draft.append(this.#fields.completeStep(merged));
    // The caller may fill his arrays anew before the step is complete.
    this.#values = merged.map((value, i) => (values[i] === undefined ? value : copyValue(value)));
  }

  /** Gives the newest step of a stream the fields that were just given. */
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
