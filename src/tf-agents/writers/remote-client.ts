/** Implements a client of the tables at the other end of a port. The client has only one writer, the remote writer of one environment. */
import { mustBe, ReplayError, show } from "../../base/error.ts";
import type { WaitOptions } from "../../base/wait.ts";
import type { RemoteWriter } from "../../remote/writer.ts";
import type { Spec, StepOf } from "../../schema/spec.ts";
import type { ItemOptions, ItemRule } from "../../tables/rules.ts";
import type { StepWriter } from "../../tables/step-sink.ts";
import { type Signature, signatureOf } from "../signature.ts";
import type { StepClient, StepWriterOptions } from "./step-client.ts";

export class RemoteClient<S extends Spec = Spec> implements StepClient<S> {
  readonly #remote: RemoteWriter<S>;
  #borrowed: RemoteSteps<S> | undefined;

  constructor(remote: RemoteWriter<S>) {
    if (remote.lanes > 1) throw mustBe(RangeError, "lanes of the remote writer", "1, because an observer writes the steps of one environment", remote.lanes);
    this.#remote = remote;
  }

  get spec(): S {
    return this.#remote.spec;
  }

  knows(table: string): boolean {
    return this.#remote.tables.includes(table);
  }

  signature(): Signature {
    return signatureOf(this.spec);
  }

  /**
   * Lends the remote writer to an observer. @throws ReplayError OUT_OF_TURN if another observer has the writer · UNSUPPORTED if `name` is passed · RangeError
   * if the writer keeps too few steps
   */
  writer({ keep, items = [], name }: StepWriterOptions): StepWriter<S> {
    const remote = this.#remote;
    if (name !== undefined)
      throw new ReplayError(
        "UNSUPPORTED",
        `name must be omitted with a remote writer, got ${show(name)}. Pass it to acceptWriter at the other end of the port`,
      );
    if (this.#borrowed !== undefined)
      throw new ReplayError("OUT_OF_TURN", "this remote writer already has an observer. Close that observer first, or create another writer");
    if (keep > remote.keep) throw mustBe(RangeError, "keep of acceptWriter (at the other end of the port)", `at least ${keep} for this observer`, remote.keep);
    this.#borrowed = new RemoteSteps(remote, items, () => {
      this.#borrowed = undefined;
    });
    return this.#borrowed;
  }
}

/** The remote writer while an observer uses it. The observer's rules are applied here, because the other end has no information about the observer. */
class RemoteSteps<S extends Spec> implements StepWriter<S> {
  readonly #remote: RemoteWriter<S>;
  readonly #rules: readonly ItemRule[];
  readonly #release: () => void;

  constructor(remote: RemoteWriter<S>, rules: readonly ItemRule[], release: () => void) {
    this.#remote = remote;
    this.#rules = rules;
    this.#release = release;
  }

  append(step: StepOf<S>): Promise<void> | undefined {
    const remote = this.#remote;
    let pending = remote.append(step);
    const steps = remote.episodeSteps;
    for (let k = 0; k < this.#rules.length; k++) {
      const {
        table,
        length,
        stride = 1,
        priority = 1,
      } = this.#rules[k] as ItemRule & { readonly length: number; readonly stride?: number; readonly priority?: number };
      if (steps >= length && (steps - length) % stride === 0) pending = remote.createItem(table, { length, priority }) ?? pending;
    }
    return pending;
  }

  createItem(table: string, options: Pick<ItemOptions, "length" | "priority">): Promise<void> | undefined {
    return this.#remote.createItem(table, options);
  }

  endEpisode(): void {
    this.#remote.endEpisode();
  }

  flush(options?: WaitOptions): Promise<void> {
    return this.#remote.flush(options);
  }

  /** Leaves the remote writer open, so that an observer can open it again. */
  close(): void {
    this.#release();
    try {
      this.#remote.endEpisode();
    } catch {
      // The remote writer is already closed. Closing it also ended the episode.
    }
  }
}
